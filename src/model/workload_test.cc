#include "model/workload.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tiphys {
namespace {

const Path kHere = parse_path("workloads.w");

Tree::Map needed() {
  return Tree::Map()
      .set("agent", "agent_A")
      .set("runtime", "podman")
      .set("runtimeConfig", "image: a");
}

Workload smallest() {
  Workload workload;
  workload.agent = "agent_A";
  workload.runtime = "podman";
  workload.runtime_config = "image: a";
  return workload;
}

Workload fullest() {
  Workload workload = smallest();
  workload.restart_policy = RestartPolicy::kAlways;
  workload.dependencies.edit() = {{"db", AddCondition::kRunning},
                                  {"init", AddCondition::kSucceeded}};
  workload.tags.edit() = {{"", "empty"}, {"a.b", "dot"}, {"owner", "ops"}};
  workload.configs.edit() = {{"c", "netcfg"}};
  workload.files.edit() = {{"/a", File::Encoding::kText, "x"},
                           {"/b", File::Encoding::kBase64, "QUJD"}};
  workload.access.edit() = {{StateRule{Operation::kReadWrite, {"a.*"}}, LogRule{{"db"}}},
                            {StateRule{Operation::kWrite, {"a.b"}}}};
  return workload;
}

WorkloadPtr shared(Workload workload) {
  return std::make_shared<const Workload>(std::move(workload));
}

std::string error_of(const Tree& tree) {
  const auto workload = read_workload(tree, kHere);
  return workload ? "no error" : to_string(workload.error());
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

TEST(RestartPolicy, IsReadAsItWasWritten) {
  for (const auto& [policy, text] :
       std::vector<std::pair<RestartPolicy, std::string>>{{RestartPolicy::kNever, "NEVER"},
                                                          {RestartPolicy::kOnFailure, "ON_FAILURE"},
                                                          {RestartPolicy::kAlways, "ALWAYS"}}) {
    EXPECT_EQ(to_string(policy), text);
    EXPECT_EQ(parse_restart_policy(text), policy);
  }
  EXPECT_EQ(message_of(parse_restart_policy("never")),
            "unknown value 'never', expected one of NEVER, ON_FAILURE, ALWAYS");
}

TEST(RestartPolicy, IsNeverUnlessSaidOtherwise) {
  EXPECT_EQ(Workload().restart_policy, RestartPolicy::kNever);
  EXPECT_EQ((*read_workload(needed(), kHere))->restart_policy, RestartPolicy::kNever);
}

// [utest->swdd~api-add-conditions-for-dependencies~1]
TEST(AddCondition, IsReadAsItWasWritten) {
  for (const auto& [condition, text] : std::vector<std::pair<AddCondition, std::string>>{
           {AddCondition::kRunning, "ADD_COND_RUNNING"},
           {AddCondition::kSucceeded, "ADD_COND_SUCCEEDED"},
           {AddCondition::kFailed, "ADD_COND_FAILED"}}) {
    EXPECT_EQ(to_string(condition), text);
    EXPECT_EQ(parse_add_condition(text), condition);
  }
  EXPECT_EQ(message_of(parse_add_condition("")),
            "unknown value '', expected one of ADD_COND_RUNNING, ADD_COND_SUCCEEDED, "
            "ADD_COND_FAILED");
}

template <class Condition>
std::set<Phase> phases_that_fulfil(Condition condition) {
  std::set<Phase> phases;
  for (const auto& row : kPhases)
    if (is_fulfilled(condition, row.phase)) phases.insert(row.phase);
  return phases;
}

// [utest->swdd~api-add-conditions-for-dependencies~1]
TEST(AddCondition, IsFulfilledByOnePhaseEach) {
  EXPECT_EQ(phases_that_fulfil(AddCondition::kRunning), std::set{Phase::kRunningOk});
  EXPECT_EQ(phases_that_fulfil(AddCondition::kSucceeded), std::set{Phase::kSucceededOk});
  EXPECT_EQ(phases_that_fulfil(AddCondition::kFailed), std::set{Phase::kFailedExecFailed});
}

// [utest->swdd~api-delete-conditions-for-dependencies~1]
TEST(DeleteCondition, HasItsText) {
  EXPECT_EQ(to_string(DeleteCondition::kRunning), "DEL_COND_RUNNING");
  EXPECT_EQ(to_string(DeleteCondition::kNotPendingNorRunning), "DEL_COND_NOT_PENDING_NOR_RUNNING");
}

// [utest->swdd~api-delete-conditions-for-dependencies~1]
TEST(DeleteCondition, IsAlwaysFulfilledByAWorkloadThatWaitsForItsStart) {
  EXPECT_EQ(phases_that_fulfil(DeleteCondition::kRunning),
            (std::set{Phase::kRunningOk, Phase::kPendingWaitingToStart}));
  EXPECT_EQ(
      phases_that_fulfil(DeleteCondition::kNotPendingNorRunning),
      (std::set{Phase::kAgentDisconnected, Phase::kPendingWaitingToStart, Phase::kStopping,
                Phase::kStoppingWaitingToStop, Phase::kStoppingRequestedAtRuntime,
                Phase::kStoppingDeleteFailed, Phase::kSucceededOk, Phase::kFailedExecFailed,
                Phase::kFailedUnknown, Phase::kFailedLost, Phase::kNotScheduled, Phase::kRemoved}));
}

TEST(Workload, ShowsOnlyWhatIsNotEmpty) {
  EXPECT_EQ(smallest().fields(Empties::kOmit), needed().set("restartPolicy", "NEVER"));
}

TEST(Workload, ShowsEmptyCollectionsOnDemand) {
  EXPECT_EQ(smallest().fields(Empties::kKeep),
            needed()
                .set("restartPolicy", "NEVER")
                .set("dependencies", Tree::Map())
                .set("tags", Tree::Map())
                .set("configs", Tree::Map())
                .set("files", Tree::List{})
                .set("controlInterfaceAccess",
                     Tree::Map().set("allowRules", Tree::List{}).set("denyRules", Tree::List{})));
}

TEST(Workload, ShowsEveryField) {
  const auto mapped = [](const char* key, const char* value) {
    return Tree::Map().set(key, value);
  };
  EXPECT_EQ(
      fullest().fields(Empties::kOmit),
      needed()
          .set("restartPolicy", "ALWAYS")
          .set("dependencies", mapped("db", "ADD_COND_RUNNING").set("init", "ADD_COND_SUCCEEDED"))
          .set("tags", mapped("", "empty").set("a.b", "dot").set("owner", "ops"))
          .set("configs", mapped("c", "netcfg"))
          .set("files", Tree::List{mapped("mountPoint", "/a").set("data", "x"),
                                   mapped("mountPoint", "/b").set("binaryData", "QUJD")})
          .set("controlInterfaceAccess",
               Tree::Map()
                   .set("allowRules", Tree::List{to_tree(StateRule{Operation::kReadWrite, {"a.*"}}),
                                                 to_tree(LogRule{{"db"}})})
                   .set("denyRules", Tree::List{to_tree(StateRule{Operation::kWrite, {"a.b"}})})));
}

TEST(Workload, ShowsASingleFieldAsAmongAll) {
  for (const Workload& workload : {smallest(), fullest()})
    for (const auto* key :
         {"agent", "restartPolicy", "dependencies", "tags", "runtime", "runtimeConfig",
          "controlInterfaceAccess", "configs", "files", "nope"}) {
      const auto all = workload.fields(Empties::kOmit);
      const Tree* value = all.find(key);
      EXPECT_EQ(workload.field(key), value == nullptr ? std::nullopt : std::optional(*value))
          << key;
    }
}

TEST(Workload, IsReadAsItWasWritten) {
  for (const Workload& workload : {smallest(), fullest()})
    for (const auto empties : {Empties::kOmit, Empties::kKeep}) {
      const auto read = read_workload(workload.fields(empties), kHere);
      ASSERT_TRUE(read.has_value());
      EXPECT_EQ(**read, workload);
    }
}

TEST(Workload, IsHandedOutAsTheObjectItIs) {
  const WorkloadPtr workload = shared(fullest());
  EXPECT_EQ(*read_workload(Tree(workload), kHere), workload);
}

TEST(Workload, DiffersInEachField) {
  std::vector<Workload> others(9, fullest());
  others[0].agent = "x";
  others[1].runtime = "x";
  others[2].runtime_config = "x";
  others[3].restart_policy = RestartPolicy::kOnFailure;
  others[4].dependencies = {};
  others[5].tags = {};
  others[6].configs = {};
  others[7].files = {};
  others[8].access.edit().deny_rules.clear();
  for (const auto& other : others) EXPECT_FALSE(other == fullest());
  EXPECT_EQ(fullest(), fullest());
}

TEST(Workload, LosesTheWhiteSpaceAroundItsRuntimeConfig) {
  for (const char* text : {"image: a", " image: a", "image: a\n\n", "\u00a0\timage: a\u3000\r\n"})
    EXPECT_EQ((*read_workload(needed().set("runtimeConfig", text), kHere))->runtime_config,
              "image: a");
  EXPECT_EQ((*read_workload(needed().set("runtimeConfig", " a\n b "), kHere))->runtime_config,
            "a\n b");
}

TEST(Workload, IgnoresUnknownFields) {
  EXPECT_EQ(error_of(needed().set("unknown", 1U)), "no error");
}

TEST(Workload, TakesAnEmptyValueForTagsAndAccessOnly) {
  EXPECT_EQ(error_of(needed().set("tags", Tree()).set("controlInterfaceAccess", Tree())),
            "no error");
  for (const std::string field : {"dependencies", "configs"})
    EXPECT_EQ(error_of(needed().set(field, Tree())),
              "workloads.w." + field + ": expected a map, found null");
  EXPECT_EQ(error_of(needed().set("files", Tree())),
            "workloads.w.files: expected a list, found null");
}

TEST(Workload, NamesTheFirstFieldThatIsMissing) {
  EXPECT_EQ(error_of(Tree::Map()), "workloads.w: missing field `agent`");
  EXPECT_EQ(error_of(Tree::Map().set("agent", "a")), "workloads.w: missing field `runtime`");
  for (const std::string field : {"agent", "runtime", "runtimeConfig"})
    EXPECT_EQ(error_of(needed().erase(field)), "workloads.w: missing field `" + field + "`");
}

TEST(Workload, NamesTheFieldOfTheWrongType) {
  const auto one = [](const char* key, Tree value) {
    return Tree::Map().set(key, std::move(value));
  };
  const auto file = one("mountPoint", "/a");
  const auto access = [&](const char* key, Tree value) {
    return needed().set("controlInterfaceAccess", one(key, std::move(value)));
  };
  for (const auto& [tree, error] : std::vector<std::pair<Tree, std::string>>{
           {"text", ": expected a map, found a string"},
           {Tree::List{}, ": expected a map, found a list"},
           {needed().set("agent", 5U), ".agent: expected a string, found a number"},
           {needed().set("runtime", Tree()), ".runtime: expected a string, found null"},
           {needed().set("runtimeConfig", Tree::Map()),
            ".runtimeConfig: expected a string, found a map"},
           {needed().set("restartPolicy", 77U), ".restartPolicy: unknown enumeration value 77"},
           {needed().set("restartPolicy", false),
            ".restartPolicy: expected a string, found a boolean"},
           {needed().set("restartPolicy", "SOMETIMES"),
            ".restartPolicy: unknown value 'SOMETIMES', expected one of NEVER, ON_FAILURE, ALWAYS"},
           {needed().set("dependencies", "db"), ".dependencies: expected a map, found a string"},
           {needed().set("dependencies", one("a", 77U).set("b", 78U)),
            ".dependencies.a: unknown enumeration value 77"},
           {needed().set("tags", Tree::List{}), ".tags: expected a map, found a list"},
           {needed().set("tags", one("a", 1U).set("b", true)),
            ".tags.a: expected a string, found a number"},
           {needed().set("configs", one("c", Tree::Map())),
            ".configs.c: expected a string, found a map"},
           {needed().set("files", Tree::Map()), ".files: expected a list, found a map"},
           {needed().set("files", Tree::List{file.set("data", "x"), "no"}),
            ".files.1: expected a map, found a string"},
           {needed().set("files", Tree::List{one("data", "x")}),
            ".files.0: missing field `mountPoint`"},
           {needed().set("files", Tree::List{file}),
            ".files.0: data did not match any variant of untagged enum FileContentSpec"},
           {needed().set("files", Tree::List{file.set("data", "x").set("binaryData", "QQ==")}),
            ".files.0: both `data` and `binaryData` are given, expected one of them"},
           {needed().set("files", Tree::List{file.set("data", 1U)}),
            ".files.0.data: expected a string, found a number"},
           {needed().set("files", Tree::List{file.set("binaryData", Tree())}),
            ".files.0.binaryData: expected a string, found null"},
           {needed().set("controlInterfaceAccess", "all"),
            ".controlInterfaceAccess: expected a map, found a string"},
           {access("allowRules", "all"),
            ".controlInterfaceAccess.allowRules: expected a list, found a string"},
           {access("allowRules", Tree::List{Tree::Map()}),
            ".controlInterfaceAccess.allowRules.0: missing field `type`"},
           {access("denyRules", Tree::List{one("type", "LogRule")}),
            ".controlInterfaceAccess.denyRules.0: missing field `workloadNames`"}})
    EXPECT_EQ(error_of(tree), "workloads.w" + error);
}

// [utest->swdd~api-workload-needs-control-interface~1]
TEST(Workload, NeedsAControlInterfaceWhenSomethingIsAllowed) {
  Workload workload = smallest();
  EXPECT_FALSE(needs_control_interface(workload));
  workload.access.edit().deny_rules = {StateRule{Operation::kRead, {"*"}}};
  EXPECT_FALSE(needs_control_interface(workload));
  workload.access.edit().allow_rules = {LogRule{{"*"}}};
  EXPECT_TRUE(needs_control_interface(workload));
}

// [utest->swdd~api-workload-execution-instance-naming~1]
TEST(WorkloadSpec, HasAnInstanceNameMadeOfItsRuntimeConfig) {
  const auto spec = WorkloadSpec::make("web", shared(fullest()));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(to_string((*spec)->instance()),
            "web.2413bd72564c39454e7bef5e440780ffddf36b521e44cce64fc66c7e67d47ff5.agent_A");
}

TEST(WorkloadSpec, MayHaveNoAgent) {
  Workload workload = smallest();
  workload.agent = "";
  EXPECT_EQ(to_string(WorkloadSpec::make("w", shared(workload)).value()->instance()),
            "w.2413bd72564c39454e7bef5e440780ffddf36b521e44cce64fc66c7e67d47ff5.");
}

TEST(WorkloadSpec, LooksLikeItsWorkload) {
  const WorkloadPtr workload = shared(fullest());
  const auto spec = WorkloadSpec::make("web", workload).value();
  EXPECT_EQ(spec->shared_workload(), workload);
  EXPECT_EQ(&spec->workload(), workload.get());
  EXPECT_EQ(Tree(spec), Tree(workload));
  EXPECT_EQ(spec->field("agent"), Tree("agent_A"));
  EXPECT_EQ(**read_workload(Tree(spec), kHere), *workload);
}

TEST(WorkloadSpec, CannotBeMadeWithABadNameOrRule) {
  Workload bad_agent = smallest();
  bad_agent.agent = "{{a}}";
  bad_agent.access.edit().allow_rules = {StateRule{Operation::kRead, {""}}};
  Workload bad_rule = smallest();
  bad_rule.access.edit().deny_rules = {StateRule{Operation::kRead, {""}}};
  EXPECT_EQ(message_of(WorkloadSpec::make("w w", shared(bad_agent))),
            "Unsupported workload name 'w w'. Expected to have characters in [a-zA-Z0-9_-].");
  EXPECT_EQ(message_of(WorkloadSpec::make("w", shared(bad_agent))),
            "Unsupported agent name '{{a}}'. Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen "
            "(-) allowed. Maximum length is 63 characters.");
  EXPECT_EQ(message_of(WorkloadSpec::make("w", shared(bad_rule))),
            "Empty filter masks are not allowed in Control Interface access rules");
}

TEST(WorkloadSpec, KeepsTheInstanceNameThatAServerGaveIt) {
  const InstanceName instance{{"w"}, {"some-id"}, {"agent_A"}};
  const auto spec = WorkloadSpec::received(instance, shared(fullest()));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ((*spec)->instance(), instance);
}

TEST(WorkloadSpec, CannotBeReceivedWithABadNameOrRule) {
  Workload bad_rule = smallest();
  bad_rule.access.edit().allow_rules = {LogRule{{"**"}}};
  for (const InstanceName& instance :
       {InstanceName{{""}, {"1"}, {"a"}}, InstanceName{{"w.x"}, {"1"}, {"a"}},
        InstanceName{{"w"}, {""}, {"a"}}, InstanceName{{"w"}, {"1"}, {"a b"}}})
    EXPECT_FALSE(WorkloadSpec::received(instance, shared(smallest())).has_value())
        << to_string(instance);
  EXPECT_EQ(message_of(WorkloadSpec::received({{"w"}, {"1"}, {"a"}}, shared(bad_rule))),
            "Expected at most one '*' symbol.");
}

TEST(WorkloadSpec, EqualsOneOfTheSameInstanceAndContent) {
  const auto spec = WorkloadSpec::make("w", shared(smallest())).value();
  Workload tagged = smallest();
  tagged.tags.edit() = {{"a", "b"}};
  EXPECT_EQ(*spec, *WorkloadSpec::make("w", shared(smallest())).value());
  EXPECT_FALSE(*spec == *WorkloadSpec::make("v", shared(smallest())).value());
  EXPECT_FALSE(*spec == *WorkloadSpec::make("w", shared(tagged)).value());
}

TEST(DeletedWorkload, IsAnInstanceAndWhatItWaitsFor) {
  const DeletedWorkload deleted{{{"w"}, {"1"}, {"a"}}, {{"x", DeleteCondition::kRunning}}};
  EXPECT_EQ(deleted, deleted);
  EXPECT_FALSE(deleted == (DeletedWorkload{{{"w"}, {"1"}, {"a"}}, {}}));
}

}  // namespace
}  // namespace tiphys
