#include "core/server/hooks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::server {
namespace {

const InstanceName& instance_of(const WorkloadSpecPtr& spec) { return spec->instance(); }
const InstanceName& instance_of(const DeletedWorkload& deleted) { return deleted.instance; }

template <class Items>
std::set<std::string> names_of(const Items& items) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(instance_of(item).workload.value);
  return names;
}

template <class Item>
void sort_by_instance(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return instance_of(a) < instance_of(b); });
}

WorkloadSpecPtr running(const Tree::Map& effective, const std::string& name) {
  const Tree* entry = effective.find(name);
  return entry == nullptr ? nullptr : entry->object<WorkloadSpec>();
}

// Only its instance is looked at.
WorkloadSpecPtr deleted_spec(const Tree::Map& effective, const InstanceName& instance) {
  auto spec = running(effective, instance.workload.value);
  if (spec != nullptr && spec->instance() == instance) return spec;
  return WorkloadSpec::unchecked(instance, std::make_shared<Workload>());
}

}  // namespace

std::vector<Hook> in_order(std::vector<Hook> hooks) {
  std::stable_sort(hooks.begin(), hooks.end(),
                   [](const Hook& a, const Hook& b) { return a.priority < b.priority; });
  return hooks;
}

std::string program_of(const Hook& hook) {
  const bool ends_the_folder = hook.folder.empty() || hook.folder.back() == '/';
  return concat(hook.folder, ends_the_folder ? "" : "/", hook.name);
}

std::optional<std::string> refusal_of(const Hook& hook, const HookAnswer& answer, Refused what) {
  const auto rejected = [&](const std::string& reason) {
    return std::optional(what == Refused::kUpdate ? update_rejected(reason) : reason);
  };
  return match(
      answer, [](const HookUnchanged&) { return std::optional<std::string>(); },
      [](const HookChanged&) { return std::optional<std::string>(); },
      [&](const HookVeto& veto) {
        const std::string text =
            concat("'Hook '", hook.name, "' rejected the change: ", veto.words, "'");
        return std::optional(
            what == Refused::kUpdate
                ? concat("Update rejected by mutating hook '", hook.name, "': ", text)
                : concat("Mutating hook '", hook.name, "' vetoed the state change: ", text));
      },
      [&](const HookFailed& failed) {
        return rejected(
            concat("Mutating hook '", hook.name, "' execution failed: '", failed.reason, "'"));
      },
      [&](const HookUnreadable& unreadable) {
        return rejected(concat("Resulting State is invalid, reason: '", unreadable.offence, "'"));
      });
}

UpdateWorkload lists_for_hooks(const UpdatePlan& plan, const Tree::Map& effective) {
  UpdateWorkload lists{plan.added, {}};
  for (const auto& spec : plan.deleted) {
    const auto runs = running(effective, spec->instance().workload.value);
    lists.deleted.push_back({runs == nullptr ? spec->instance() : runs->instance(), {}});
  }
  // Nobody wants it, but a hook kept or made it: it gives way to the one that is wanted now.
  const auto deleted = names_of(plan.deleted);
  for (const auto& spec : plan.added) {
    const std::string& name = spec->instance().workload.value;
    if (const auto runs = running(effective, name); runs != nullptr && !deleted.contains(name))
      lists.deleted.push_back({runs->instance(), {}});
  }
  sort_by_instance(lists.deleted);
  return lists;
}

void follow_hooks(UpdatePlan& plan, const UpdateWorkload& lists, const Tree::Map& effective) {
  const UpdateWorkload given = lists_for_hooks(plan, effective);
  const auto added = names_of(lists.added);
  const auto deleted = names_of(lists.deleted);
  const auto given_deleted = names_of(given.deleted);

  Tree::Map result = effective;
  std::set<std::string> planned = names_of(given.added);
  planned.insert(given_deleted.begin(), given_deleted.end());
  for (const auto& name : planned) {
    const bool is_kept = given_deleted.contains(name) && !deleted.contains(name);
    if (!added.contains(name) && !is_kept) result = result.erase(name);
  }
  // What a hook deletes of its own accord.
  for (const auto& each : lists.deleted) {
    const std::string& name = each.instance.workload.value;
    const auto runs = running(effective, name);
    if (!given_deleted.contains(name) && runs != nullptr && runs->instance() == each.instance)
      result = result.erase(name);
  }
  std::map<std::string, Tree> last_of_each_name;
  for (const auto& spec : lists.added)
    last_of_each_name.insert_or_assign(spec->instance().workload.value, spec);
  plan.effective_workloads = result.set_all({last_of_each_name.begin(), last_of_each_name.end()});

  plan.added = lists.added;
  sort_by_instance(plan.added);
  plan.deleted.clear();
  for (const auto& each : lists.deleted)
    plan.deleted.push_back(deleted_spec(effective, each.instance));
  sort_by_instance(plan.deleted);
}

}  // namespace tiphys::server
