#include "core/server/hooks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/strings.h"

namespace tiphys::server {
namespace {

using Names = std::vector<std::string>;

// "web@A:nginx", as rendered; "web@A:nginx=other" keeps the id and has another config, as a hook would make it.
WorkloadSpecPtr spec(const std::string& text) {
  const auto at = text.find('@');
  const auto colon = text.find(':');
  const auto equals = std::min(text.find('='), text.size());
  const std::string config = text.substr(colon + 1, equals - colon - 1);
  auto workload = std::make_shared<Workload>();
  workload->agent = text.substr(at + 1, colon - at - 1);
  workload->runtime = "podman";
  workload->runtime_config = equals < text.size() ? text.substr(equals + 1) : config;
  return WorkloadSpec::unchecked({{text.substr(0, at)}, {config}, {workload->agent}}, workload);
}

std::string text_of(const WorkloadSpec& each) {
  const auto& [workload, id, agent] = each.instance();
  const std::string& config = each.workload().runtime_config;
  return concat(workload.value, "@", agent.value, ":", id.value, config == id.value ? "" : "=",
                config == id.value ? "" : config);
}

std::vector<WorkloadSpecPtr> specs(const Names& texts) {
  std::vector<WorkloadSpecPtr> made;
  for (const auto& text : texts) made.push_back(spec(text));
  return made;
}

std::vector<DeletedWorkload> deletes(const Names& texts) {
  std::vector<DeletedWorkload> made;
  for (const auto& text : texts) made.push_back({spec(text)->instance(), {}});
  return made;
}

Tree::Map map_of(const Names& texts) {
  Tree::Map map;
  for (const auto& each : specs(texts)) map = map.set(each->instance().workload.value, each);
  return map;
}

Names texts_of(const Tree::Map& map) {
  Names texts;
  map.for_each([&](const std::string&, const Tree& value) {
    texts.push_back(text_of(*value.object<WorkloadSpec>()));
  });
  return texts;
}

Names texts_of(const std::vector<WorkloadSpecPtr>& list) {
  Names texts;
  for (const auto& each : list) texts.push_back(text_of(*each));
  return texts;
}

Names instances_of(const std::vector<WorkloadSpecPtr>& list) {
  Names texts;
  for (const auto& each : list) texts.push_back(to_string(each->instance()));
  return texts;
}

UpdatePlan plan_of(const Names& added, const Names& deleted) {
  UpdatePlan plan;
  plan.added = specs(added);
  plan.deleted = specs(deleted);
  return plan;
}

TEST(Hooks, RunByAscendingPriorityAndElseAsListed) {
  const std::vector<Hook> given{{"c", "f", 255}, {"b", "f", 1}, {"a", "f", 1}, {"d", "f", 0}};
  EXPECT_EQ(in_order(given),
            (std::vector<Hook>{{"d", "f", 0}, {"b", "f", 1}, {"a", "f", 1}, {"c", "f", 255}}));
  EXPECT_EQ(Hook{"x"}.priority, 0);
}

TEST(Hooks, AreProgramsInTheirFolder) {
  EXPECT_EQ(program_of({"x"}), "/usr/libexec/ankaios/hooks/x");
  EXPECT_EQ(program_of({"x", "/a/"}), "/a/x");
  EXPECT_EQ(program_of({"x", "."}), "./x");
}

TEST(Hooks, RefuseInTheWordsThatPeersKnow) {
  const Hook hook{"h"};
  for (const auto& [answer, for_requester, at_start] :
       std::vector<std::tuple<HookAnswer, std::string, std::string>>{
           {HookVeto{"not allowed"},
            "Update rejected by mutating hook 'h': 'Hook 'h' rejected the change: not allowed'",
            "Mutating hook 'h' vetoed the state change: 'Hook 'h' rejected the change: not "
            "allowed'"},
           {HookVeto{""}, "Update rejected by mutating hook 'h': 'Hook 'h' rejected the change: '",
            "Mutating hook 'h' vetoed the state change: 'Hook 'h' rejected the change: '"},
           {HookFailed{"Failed to execute hook '/h': Permission denied (os error 13)"},
            "Update rejected: 'Mutating hook 'h' execution failed: 'Failed to execute hook '/h': "
            "Permission denied (os error 13)''",
            "Mutating hook 'h' execution failed: 'Failed to execute hook '/h': Permission denied "
            "(os error 13)'"},
           {HookUnreadable{"Failed to convert output from hook 'h': No workload"},
            "Update rejected: 'Resulting State is invalid, reason: 'Failed to convert output from "
            "hook 'h': No workload''",
            "Resulting State is invalid, reason: 'Failed to convert output from hook 'h': No "
            "workload'"}}) {
    EXPECT_EQ(refusal_of(hook, answer, Refused::kUpdate), for_requester);
    EXPECT_EQ(refusal_of(hook, answer, Refused::kStart), at_start);
  }
  EXPECT_EQ(refusal_of(hook, HookUnchanged{}, Refused::kUpdate), std::nullopt);
  EXPECT_EQ(refusal_of(hook, HookChanged{}, Refused::kStart), std::nullopt);
}

TEST(Hooks, AreToldWhatRunsToBeDeleted) {
  struct Row {
    const char* what;
    UpdatePlan plan;
    Names effective;
    Names added;
    Names deleted;
  };
  for (const auto& row : std::vector<Row>{
           {"as the plan says",
            plan_of({"b@A:2"}, {"a@A:1", "b@A:1"}),
            {"a@A:1", "b@A:1"},
            {"b@A:2"},
            {"a.1.A", "b.1.A"}},
           {"a hook had moved it", plan_of({}, {"a@A:1"}), {"a@B:1"}, {}, {"a.1.B"}},
           {"a hook had dropped it", plan_of({}, {"a@A:1"}), {}, {}, {"a.1.A"}},
           {"a hook had kept it", plan_of({"a@B:2"}, {}), {"a@A:1"}, {"a@B:2"}, {"a.1.A"}}}) {
    SCOPED_TRACE(row.what);
    const auto lists = lists_for_hooks(row.plan, map_of(row.effective));
    EXPECT_EQ(texts_of(lists.added), row.added);
    Names deleted;
    for (const auto& each : lists.deleted) deleted.push_back(to_string(each.instance));
    EXPECT_EQ(deleted, row.deleted);
  }
}

TEST(Hooks, DecideWhatIsEffective) {
  struct Row {
    const char* what;
    UpdatePlan plan;
    Names before;  // effective
    Names added;   // by the hooks
    Names deleted;
    Names after;  // effective
  };
  for (auto& row : std::vector<Row>{
           {"nothing is changed by them",
            plan_of({"b@A:2", "c@A:3"}, {"a@A:1", "b@A:1"}),
            {"a@A:1", "b@A:1"},
            {"b@A:2", "c@A:3"},
            {"a@A:1", "b@A:1"},
            {"b@A:2", "c@A:3"}},
           {"added otherwise", plan_of({"a@A:1"}, {}), {}, {"a@A:1=other"}, {}, {"a@A:1=other"}},
           {"added elsewhere", plan_of({"a@A:1"}, {}), {}, {"a@B:1"}, {}, {"a@B:1"}},
           {"added under another name", plan_of({"a@A:1"}, {}), {}, {"b b@A:1"}, {}, {"b b@A:1"}},
           {"added besides",
            plan_of({"a@A:1"}, {}),
            {},
            {"a@A:1", "z@B:9"},
            {},
            {"a@A:1", "z@B:9"}},
           {"dropped from the added",
            plan_of({"a@A:1", "b@A:1"}, {}),
            {},
            {"b@A:1"},
            {},
            {"b@A:1"}},
           {"dropped from the deleted",
            plan_of({}, {"a@A:1"}),
            {"a@A:1=other"},
            {},
            {},
            {"a@A:1=other"}},
           {"a change: dropped from the added",
            plan_of({"a@A:2"}, {"a@A:1"}),
            {"a@A:1"},
            {},
            {"a@A:1"},
            {}},
           {"a change: dropped from the deleted",
            plan_of({"a@A:2"}, {"a@A:1"}),
            {"a@A:1"},
            {"a@A:2"},
            {},
            {"a@A:2"}},
           {"a change: dropped from both",
            plan_of({"a@A:2"}, {"a@A:1"}),
            {"a@A:1=other"},
            {},
            {},
            {"a@A:1=other"}},
           {"what is not touched stays as hooks left it",
            plan_of({"b@A:1"}, {}),
            {"a@A:1=other", "kept@A:1"},
            {"b@A:1"},
            {},
            {"a@A:1=other", "b@A:1", "kept@A:1"}},
           {"what they had dropped is deleted", plan_of({}, {"a@A:1"}), {}, {}, {"a@A:1"}, {}},
           {"deleted besides",
            plan_of({"b@A:1"}, {}),
            {"a@A:1", "c@A:1"},
            {"b@A:1"},
            {"a@A:1"},
            {"b@A:1", "c@A:1"}},
           {"deleted besides, but another one",
            plan_of({"b@A:1"}, {}),
            {"a@A:1"},
            {"b@A:1"},
            {"a@A:0"},
            {"a@A:1", "b@A:1"}},
           {"named twice, the last one counts",
            plan_of({"a@A:1"}, {}),
            {},
            {"a@B:1", "a@A:1"},
            {},
            {"a@A:1"}}}) {
    SCOPED_TRACE(row.what);
    follow_hooks(row.plan, {specs(row.added), deletes(row.deleted)}, map_of(row.before));
    EXPECT_EQ(texts_of(row.plan.effective_workloads), row.after);
    Names added = texts_of(row.plan.added);
    std::sort(added.begin(), added.end());
    std::sort(row.added.begin(), row.added.end());
    EXPECT_EQ(added, row.added);
    EXPECT_EQ(instances_of(row.plan.deleted), instances_of(specs(row.deleted)));
  }
}

TEST(Hooks, LeaveTheListsOfThePlanInOrder) {
  UpdatePlan plan = plan_of({"a@A:1", "b@A:1"}, {"a@A:0", "b@A:0"});
  follow_hooks(plan, {specs({"b@A:1", "a@A:1"}), deletes({"b@A:0", "a@A:0"})},
               map_of({"a@A:0", "b@A:0"}));
  EXPECT_EQ(instances_of(plan.added), (Names{"a.1.A", "b.1.A"}));
  EXPECT_EQ(instances_of(plan.deleted), (Names{"a.0.A", "b.0.A"}));
}

}  // namespace
}  // namespace tiphys::server
