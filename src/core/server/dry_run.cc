#include "core/server/dry_run.h"

#include <map>
#include <utility>

#include "base/strings.h"
#include "model/path.h"

namespace tiphys::server {
namespace {

std::string sentence(const Change& change) {
  const std::string path = to_string(change.path);
  if (!change.before) return concat(path, " is added");
  if (!change.after) return concat(path, " is removed");
  const std::string* before = change.before->string();
  const std::string* after = change.after->string();
  const bool is_short =
      before != nullptr && after != nullptr && change.path != Path{{"runtimeConfig"}};
  return is_short ? concat(path, " changes from '", *before, "' to '", *after, "'")
                  : concat(path, " changes");
}

// Which of the config items that a workload names are not what they were.
std::vector<std::string> changed_items(const State& before, const State& after,
                                       const Workload& workload) {
  std::vector<std::string> sentences;
  for (const auto& [alias, key] : workload.configs) {
    const Tree* old_item = before.configs.find(key);
    const Tree* new_item = after.configs.find(key);
    if (old_item != nullptr && new_item != nullptr && !(*old_item == *new_item))
      sentences.push_back(concat("config item '", key, "' changes"));
  }
  return sentences;
}

}  // namespace

Result<DryRun> dry_run(const CompleteState& current, const ConfigUsers& users,
                       const UpdateStateRequest& request) {
  TIPHYS_TRY(const UpdatePlan plan, plan_update(current, users, request));
  if (const auto status = check_dependencies(plan); !status)
    return fail(status.error().code, update_rejected(status.error().message));

  std::map<std::string, PlannedWorkload> workloads;
  if (const auto named = get(request.new_state, Path{{"desiredState", "workloads"}}))
    named->entries().for_each([&](const std::string& name, const Tree&) {
      const Tree* spec = plan.effective_workloads.find(name);
      if (spec == nullptr) return;
      const InstanceName& instance = spec->object<WorkloadSpec>()->instance();
      workloads[name] = {name, Fate::kUnchanged, instance, instance, {}};
    });
  std::map<std::string, WorkloadSpecPtr> deleted;
  for (const auto& spec : plan.deleted) {
    const std::string& name = spec->instance().workload.value;
    workloads[name] = {name, Fate::kDeleted, spec->instance(), std::nullopt, {}};
    deleted[name] = spec;
  }
  for (const auto& spec : plan.added) {
    const std::string& name = spec->instance().workload.value;
    const auto old_spec = deleted.find(name);
    if (old_spec == deleted.end()) {
      workloads[name] = {name, Fate::kCreated, std::nullopt, spec->instance(), {}};
      continue;
    }
    const InstanceName& before = old_spec->second->instance();
    auto reasons = changed_items(current.desired, plan.desired, *plan.desired.workload(name));
    for (const auto& change : difference(Tree(old_spec->second), Tree(spec)))
      reasons.push_back(sentence(change));
    const Fate fate = before == spec->instance() ? Fate::kUpdated : Fate::kReplaced;
    workloads[name] = {name, fate, before, spec->instance(), std::move(reasons)};
  }
  DryRun run{{}, plan.warnings, {}};
  for (auto& [name, workload] : workloads) run.workloads.push_back(std::move(workload));
  return run;
}

}  // namespace tiphys::server
