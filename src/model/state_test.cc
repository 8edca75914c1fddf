#include "model/state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tiphys {
namespace {

const Path kHere = parse_path("desiredState");

Workload workload_of(std::string agent) {
  Workload workload;
  workload.agent = std::move(agent);
  workload.runtime = "podman";
  workload.runtime_config = "image: a";
  return workload;
}

// Without an empty field: as a map it looks like the object it was.
Workload full_workload() {
  Workload workload = workload_of("agent_A");
  workload.dependencies.edit() = {{"db", AddCondition::kRunning}};
  workload.tags.edit() = {{"owner", "me"}};
  workload.configs.edit() = {{"alias", "key"}};
  workload.files.edit() = {{"/a", File::Encoding::kText, "x"}};
  workload.access.edit() = {{LogRule{{"*"}}}, {LogRule{{"w"}}}};
  return workload;
}

Tree tree_of(const Workload& workload) { return std::make_shared<const Workload>(workload); }

State state_of(std::initializer_list<std::pair<const char*, Workload>> workloads,
               Tree::Map configs = {}) {
  State state;
  for (const auto& [name, workload] : workloads)
    state.workloads = state.workloads.set(name, tree_of(workload));
  state.configs = std::move(configs);
  return state;
}

State sample() {
  return state_of({{"v", workload_of("agent_B")}, {"w", full_workload()}},
                  Tree::Map()
                      .set("text", "t")
                      .set("list", Tree::List{"a", Tree::Map().set("k", "v")})
                      .set("map", Tree::Map().set("a", Tree::Map().set("b", "c")))
                      .set("empty", Tree::Map()));
}

std::string error_of(const Tree& tree) {
  const auto state = read_state(tree, kHere);
  return state ? "no error" : to_string(state.error());
}

std::string message_of(const Status& status) {
  return status ? "no error" : status.error().message;
}

// Lists or maps inside each other, with a string in the innermost.
Tree nested_lists(std::size_t depth) {
  Tree tree = "leaf";
  for (std::size_t i = 0; i < depth; ++i) tree = Tree::List{tree};
  return tree;
}
Tree nested_maps(std::size_t depth) {
  Tree tree = "leaf";
  for (std::size_t i = 0; i < depth; ++i) tree = Tree::Map().set("k", tree);
  return tree;
}

TEST(State, IsEmptyAndOfTheCurrentVersionAtFirst) {
  EXPECT_EQ(State().to_tree(),
            Tree(Tree::Map().set("apiVersion", "v1").set("workloads", Tree::Map())));
  EXPECT_EQ(State().to_tree(Empties::kKeep), Tree(Tree::Map()
                                                      .set("apiVersion", "v1")
                                                      .set("workloads", Tree::Map())
                                                      .set("configs", Tree::Map())));
}

TEST(State, FindsAWorkloadByItsName) {
  EXPECT_EQ(*sample().workload("w"), full_workload());
  EXPECT_EQ(sample().workload("nope"), nullptr);
}

TEST(State, IsReadAsItWasWritten) {
  for (const State& state : {State(), sample()})
    for (const auto empties : {Empties::kOmit, Empties::kKeep})
      EXPECT_EQ(read_state(state.to_tree(empties), kHere), state);
}

TEST(State, TurnsWorkloadsIntoObjects) {
  const Tree plain =
      Tree::Map()
          .set("apiVersion", "v1")
          .set("workloads", Tree::Map().set("w", full_workload().fields(Empties::kOmit)));
  const auto state = read_state(plain, kHere);
  ASSERT_TRUE(state.has_value());
  ASSERT_NE(state->workload("w"), nullptr);
  EXPECT_EQ(*state->workload("w"), full_workload());
}

TEST(State, KeepsAnyVersionForOthersToJudge) {
  EXPECT_EQ(read_state(Tree::Map().set("apiVersion", "v9"), kHere)->api_version, "v9");
}

TEST(State, MayDoWithoutWorkloadsAndConfigs) {
  const auto version = Tree::Map().set("apiVersion", "v1");
  for (const Tree::Map& tree :
       {version, version.set("workloads", Tree()), version.set("configs", Tree())})
    EXPECT_EQ(read_state(tree, kHere), State());
}

TEST(State, NamesThePlaceAndTheOffence) {
  const auto version = Tree::Map().set("apiVersion", "v1");
  const auto configs = [&](Tree item) {
    return version.set("configs", Tree::Map().set("c", std::move(item)));
  };
  for (const auto& [tree, error] : std::vector<std::pair<Tree, std::string>>{
           {"text", "desiredState: expected a map, found a string"},
           {Tree::Map(), "desiredState: missing field `apiVersion`"},
           {Tree::Map().set("apiVersion", 1U),
            "desiredState.apiVersion: expected a string, found a number"},
           {version.set("workloads", Tree::List{}),
            "desiredState.workloads: expected a map, found a list"},
           {version.set("workloads", Tree::Map().set("w", Tree::Map()).set("x", 1U)),
            "desiredState.workloads.w: missing field `agent`"},
           {version.set("configs", "c"), "desiredState.configs: expected a map, found a string"},
           {configs(1U),
            "desiredState.configs.c: expected a string, a list or a map, found a number"},
           {configs(true),
            "desiredState.configs.c: expected a string, a list or a map, found a boolean"},
           {configs(Tree()),
            "desiredState.configs.c: expected a string, a list or a map, found null"},
           {configs(Tree::List{"x", Tree::List{1U, 2U}}),
            "desiredState.configs.c.1.0: expected a string, a list or a map, found a number"},
           {configs(Tree::Map().set("k", Tree()).set("l", 1U)),
            "desiredState.configs.c.k: expected a string, a list or a map, found null"}})
    EXPECT_EQ(error_of(tree), error);
}

TEST(State, RefusesConfigItemsThatAreNestedTooDeep) {
  const auto with = [](Tree item) {
    return Tree::Map()
        .set("apiVersion", "v1")
        .set("configs", Tree::Map().set("c", std::move(item)));
  };
  const std::string offence = "nested more than 128 levels deep";
  for (const auto nested : {nested_lists, nested_maps}) {
    EXPECT_EQ(error_of(with(nested(kMaxTreeDepth))), "no error");
    EXPECT_TRUE(error_of(with(nested(kMaxTreeDepth + 1))).ends_with(offence));
    EXPECT_TRUE(error_of(with(nested(1'000))).ends_with(offence));
  }
}

TEST(State, MadeFromAnotherSharesWhatDidNotChange) {
  const State base = sample();
  const auto tree =
      set(base.to_tree(Empties::kKeep), parse_path("workloads.v.agent"), "agent_C", Empties::kKeep);
  const auto state = read_state(*tree, kHere, base);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->workload("v")->agent, "agent_C");
  EXPECT_EQ(state->workload("w"), base.workload("w"));
}

TEST(State, KeepsAWorkloadThatWasSetToWhatItIs) {
  const State base = sample();
  for (const char* path : {"workloads.w.agent", "workloads.v.agent"})
    for (const auto empties : {Empties::kOmit, Empties::kKeep}) {
      SCOPED_TRACE(path);
      const Tree before = base.to_tree(Empties::kKeep);
      const auto same = get(before, parse_path(path));
      const auto state = read_state(*set(before, parse_path(path), *same, empties), kHere, base);
      ASSERT_TRUE(state.has_value());
      EXPECT_EQ(state->workload("w"), base.workload("w"));
      EXPECT_EQ(state->workload("v"), base.workload("v"));
    }
}

TEST(State, KeepsTheWorkloadsItKnowsWhenTheyAreSentAgain) {
  const State base = sample();
  const auto state = read_state(sample().to_tree(), kHere, base);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->workload("w"), base.workload("w"));
}

TEST(State, MadeFromAnotherLosesWhatWasRemoved) {
  const State base = sample();
  const auto tree = remove(base.to_tree(Empties::kKeep), parse_path("workloads.w"));
  const auto state = read_state(*tree, kHere, base);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->workload("w"), nullptr);
  EXPECT_EQ(state->workloads.size(), 1U);
}

TEST(ConfigNames, OfItemsAreCheckedInMapsAndInListsOfMaps) {
  const auto bad = Tree::Map().set("a b", "x");
  const std::string error =
      "Unsupported config item key 'a b'. Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) "
      "allowed. Maximum length is 63 characters.";
  for (const auto& [item, message] :
       std::vector<std::pair<Tree, std::string>>{{"a b", "no error"},
                                                 {Tree::List{"a b"}, "no error"},
                                                 {Tree::Map().set("ok", "x"), "no error"},
                                                 {bad, error},
                                                 {Tree::Map().set("ok", bad), error},
                                                 {Tree::List{"x", bad}, error},
                                                 {Tree::List{Tree::Map().set("ok", bad)}, error},
                                                 {Tree::Map().set("ok", Tree::List{bad}), error},
                                                 {Tree::List{Tree::List{bad}}, "no error"}})
    EXPECT_EQ(message_of(check_config_names(state_of({}, Tree::Map().set("c", item)))), message);
  EXPECT_EQ(message_of(check_config_names(state_of({}, bad))), error);
}

TEST(ConfigNames, AreCheckedKeysFirstThenAliasesThenReferences) {
  const auto mapping = [](const char* alias, const char* reference) {
    Workload workload = workload_of("a");
    workload.configs.edit() = {{alias, reference}};
    return workload;
  };
  const auto bad_key = Tree::Map().set("a b", "x");
  const auto rest = [](const std::string& start) {
    return start +
           ". Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) allowed. Maximum length is "
           "63 characters.";
  };
  EXPECT_EQ(message_of(check_config_names(state_of({{"w", mapping("ok", "ok")}}))), "no error");
  EXPECT_EQ(message_of(check_config_names(state_of({{"w", mapping("x y", "r s")}}, bad_key))),
            rest("Unsupported config item key 'a b'"));
  EXPECT_EQ(message_of(check_config_names(
                state_of({{"v", mapping("ok", "r s")}, {"w", mapping("x y", "ok")}}))),
            rest("Unsupported config alias 'x y'"));
  EXPECT_EQ(message_of(check_config_names(state_of({{"w", mapping("ok", "r s")}}))),
            rest("Unsupported config reference key 'r s'"));
}

TEST(ConfigNames, AreNotCheckedAgainInWhatDidNotChange) {
  const State base = state_of({}, Tree::Map().set("a b", "x"));
  State state = base;
  state.configs = state.configs.set("ok", "y");
  EXPECT_EQ(message_of(check_config_names(state, base)), "no error");
  state.configs = state.configs.erase("a b");
  EXPECT_EQ(message_of(check_config_names(state, base)), "no error");
  EXPECT_EQ(message_of(check_config_names(State(), sample())), "no error");
}

TEST(ConfigNames, StopTheProcessForWhatIsNoWorkload) {
  State state;
  state.workloads = Tree::Map().set("w", "text");
  EXPECT_DEATH(static_cast<void>(check_config_names(state)), "a state holds only workloads");
}

TEST(AgentAttributes, ShowStatusAndTagsWhenThereAreAny) {
  AgentAttributes agent;
  EXPECT_EQ(agent.fields(Empties::kOmit), Tree::Map());
  EXPECT_EQ(agent.fields(Empties::kKeep), Tree::Map().set("tags", Tree::Map()));
  EXPECT_EQ(agent.field("tags"), std::nullopt);

  agent.status = AgentStatus{42, 1024};
  agent.tags = {{"zone", "z1"}};
  const auto map = Tree::Map()
                       .set("status", Tree::Map().set("cpuUsage", 42U).set("freeMemory", 1024U))
                       .set("tags", Tree::Map().set("zone", "z1"));
  EXPECT_EQ(agent.fields(Empties::kOmit), map);
  EXPECT_EQ(agent.fields(Empties::kKeep), map);
  EXPECT_EQ(agent.field("status"), *map.find("status"));
  EXPECT_EQ(agent.field("nope"), std::nullopt);
}

TEST(AgentAttributes, DifferInStatusAndTags) {
  AgentAttributes agent;
  AgentAttributes other;
  EXPECT_EQ(agent, other);
  other.status = AgentStatus{};
  EXPECT_FALSE(agent == other);
  agent.status = AgentStatus{1, 0};
  EXPECT_FALSE(agent == other);
  agent.status = AgentStatus{};
  agent.tags = {{"a", "b"}};
  EXPECT_FALSE(agent == other);
}

TEST(CompleteState, AlwaysShowsItsFourParts) {
  const Tree empty = Tree::Map().set("apiVersion", "v1").set("workloads", Tree::Map());
  EXPECT_EQ(CompleteState().to_tree(), Tree(Tree::Map()
                                                .set("desiredState", empty)
                                                .set("workloadStates", Tree::Map())
                                                .set("agents", Tree::Map())
                                                .set("effectiveState", empty)));
}

// [utest->swdd~api-object-serialization~1]
TEST(CompleteState, ShowsItsKeysInAscendingOrder) {
  CompleteState state;
  state.desired = sample();
  state.desired.api_version = "v0.1";
  const auto attributes = std::make_shared<const AgentAttributes>();
  state.agents = Tree::Map().set("b", attributes).set("a", attributes).set("A", attributes);
  state.effective_workloads =
      Tree::Map().set("w", WorkloadSpec::make("w", sample().workload("w")).value());
  std::vector<std::string> shown;
  for (const char* mask : {"*", "agents.*", "desiredState.workloads.w.*", "effectiveState.*"})
    for (const auto& path : expand(state.to_tree(), parse_path(mask)))
      shown.push_back(to_string(path));
  EXPECT_EQ(shown, (std::vector<std::string>{
                       "agents", "desiredState", "effectiveState", "workloadStates", "agents.A",
                       "agents.a", "agents.b", "desiredState.workloads.w.agent",
                       "desiredState.workloads.w.configs",
                       "desiredState.workloads.w.controlInterfaceAccess",
                       "desiredState.workloads.w.dependencies", "desiredState.workloads.w.files",
                       "desiredState.workloads.w.restartPolicy", "desiredState.workloads.w.runtime",
                       "desiredState.workloads.w.runtimeConfig", "desiredState.workloads.w.tags",
                       "effectiveState.apiVersion", "effectiveState.workloads"}));
  EXPECT_EQ(get(state.to_tree(), parse_path("effectiveState.apiVersion")), Tree("v0.1"));
}

}  // namespace
}  // namespace tiphys
