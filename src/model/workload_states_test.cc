#include "model/workload_states.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tiphys {
namespace {

InstanceName instance(std::string workload, std::string id, std::string agent) {
  return {{std::move(workload)}, {std::move(id)}, {std::move(agent)}};
}

const InstanceName kWeb = instance("web", "1", "agent_A");
const InstanceName kWebUpdated = instance("web", "2", "agent_A");
const InstanceName kWebMoved = instance("web", "1", "agent_B");
const InstanceName kDatabase = instance("db", "3", "agent_A");
const InstanceName kIdle = instance("idle", "4", "");

WorkloadState running(const InstanceName& name) {
  return {name, ExecutionState(Phase::kRunningOk, to_string(name))};
}

WorkloadStates all_running() {
  WorkloadStates states;
  for (const auto& name : {kWeb, kWebUpdated, kWebMoved, kDatabase, kIdle})
    states.update(running(name));
  return states;
}

ExecutionState state_of(const WorkloadStates& states, const InstanceName& name) {
  const ExecutionState* state = states.find(name);
  return state == nullptr ? ExecutionState(Phase::kRemoved) : *state;
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, FindsTheStateOfOneInstance) {
  const auto states = all_running();
  EXPECT_EQ(state_of(states, kWeb), running(kWeb).state);
  EXPECT_EQ(state_of(states, kIdle), running(kIdle).state);
  for (const auto& missing :
       {instance("web", "9", "agent_A"), instance("nope", "1", "agent_A"),
        instance("web", "1", "agent_C"), instance("web", "1", ""), instance("", "", "")})
    EXPECT_EQ(states.find(missing), nullptr) << to_string(missing);
}

TEST(WorkloadStates, RemembersSinceWhenAPhaseLasts) {
  const auto at = [](int second) { return Instant{std::chrono::seconds(second)}; };
  WorkloadStates states;
  states.add_initial({kWeb, kIdle}, at(1));
  states.add_initial({kWeb, kDatabase}, at(2));
  states.update(running(kDatabase), at(3));
  const WorkloadStates before = states;
  states.update({kDatabase, ExecutionState(Phase::kRunningOk, "still")}, at(4));
  states.update(running(kDatabase), at(5));
  EXPECT_EQ(states, before) << "the time alone makes no difference";
  EXPECT_EQ(states.since({}),
            (std::vector<StateSince>{{kIdle, at(1)}, {kDatabase, at(3)}, {kWeb, at(1)}}));
  states.mark_disconnected({"agent_A"}, at(6));
  states.mark_disconnected({"agent_A"}, at(7));
  EXPECT_EQ(states.since({"db", "web", "nope"}),
            (std::vector<StateSince>{{kDatabase, at(6)}, {kWeb, at(6)}}));
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, ListsTheStatesOfAnAgent) {
  const auto states = all_running();
  EXPECT_EQ(states.of_agent({"agent_A"}),
            (std::vector{running(kDatabase), running(kWeb), running(kWebUpdated)}));
  EXPECT_EQ(states.of_agent({""}), std::vector{running(kIdle)});
  EXPECT_TRUE(states.of_agent({"agent_C"}).empty());
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, ListsTheStatesOfAllButOneAgent) {
  const auto states = all_running();
  EXPECT_EQ(states.of_all_but({"agent_A"}), (std::vector{running(kIdle), running(kWebMoved)}));
  EXPECT_EQ(states.of_all_but({"agent_C"}).size(), 5U);
  EXPECT_TRUE(WorkloadStates().of_all_but({"agent_A"}).empty());
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, ListsTheStatesOfAWorkloadOnAllAgents) {
  const auto states = all_running();
  EXPECT_EQ(states.of_workload({"web"}),
            (std::vector{running(kWeb), running(kWebUpdated), running(kWebMoved)}));
  EXPECT_TRUE(states.of_workload({"nope"}).empty());
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, MarksAllStatesOfAnAgentAsDisconnected) {
  auto states = all_running();
  states.mark_disconnected({"agent_A"});
  for (const auto& name : {kWeb, kWebUpdated, kDatabase})
    EXPECT_EQ(state_of(states, name), ExecutionState(Phase::kAgentDisconnected, ""));
  for (const auto& name : {kWebMoved, kIdle})
    EXPECT_EQ(state_of(states, name), running(name).state);
  states.mark_disconnected({"agent_C"});
  EXPECT_EQ(states.of_all_but({"agent_C"}).size(), 5U);
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, GivesAddedWorkloadsAnInitialState) {
  WorkloadStates states;
  states.add_initial({kWeb, kIdle});
  EXPECT_EQ(state_of(states, kWeb), ExecutionState(Phase::kPendingInitial, ""));
  EXPECT_EQ(state_of(states, kIdle), ExecutionState(Phase::kNotScheduled, ""));
}

TEST(WorkloadStates, LeavesAnInstanceItsStateWhenItIsAddedAgain) {
  auto states = all_running();
  states.add_initial({kWeb});
  EXPECT_EQ(state_of(states, kWeb), running(kWeb).state);
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, StoresWhatIsReportedWithoutJudgingIt) {
  for (const auto& from : kPhases)
    for (const auto& to : kPhases) {
      WorkloadStates states;
      states.update({kWeb, ExecutionState(from.phase)});
      states.update({kWeb, ExecutionState(to.phase, "info")});
      if (to.phase == Phase::kRemoved)
        EXPECT_EQ(states.find(kWeb), nullptr);
      else
        EXPECT_EQ(state_of(states, kWeb), ExecutionState(to.phase, "info"));
    }
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, DeletesTheEntryOfARemovedWorkloadAndItsEmptyParents) {
  auto states = all_running();
  const auto remove = [&](const InstanceName& name) {
    states.update({name, ExecutionState(Phase::kRemoved)});
  };
  const auto ids_of_web = [&] { return states.tree().find("agent_A")->child("web"); };

  remove(kWeb);
  EXPECT_EQ(ids_of_web()->entries().size(), 1U);
  remove(kWebUpdated);
  EXPECT_EQ(ids_of_web(), std::nullopt);
  remove(kDatabase);
  EXPECT_EQ(states.tree().find("agent_A"), nullptr);
  remove(kWebMoved);
  remove(kIdle);
  EXPECT_TRUE(states.tree().empty());
}

// [utest->swdd~api-state-map-for-workload-execution-states~1]
TEST(WorkloadStates, RemovesOneInstance) {
  auto states = all_running();
  states.remove(kWeb);
  EXPECT_EQ(states.find(kWeb), nullptr);
  EXPECT_EQ(states.of_all_but({"agent_C"}).size(), 4U);
  for (const auto& missing : {kWeb, instance("nope", "1", "agent_A"), instance("web", "1", "x")})
    states.remove(missing);
  EXPECT_EQ(states.of_all_but({"agent_C"}).size(), 4U);
}

TEST(WorkloadStates, ACopyIsASnapshot) {
  auto states = all_running();
  const WorkloadStates snapshot = states;
  EXPECT_TRUE(snapshot.tree().same_as(states.tree()));
  states.remove(kWeb);
  EXPECT_EQ(state_of(snapshot, kWeb), running(kWeb).state);
}

TEST(WorkloadStates, StandInTheTreeByAgentWorkloadAndId) {
  const auto states = all_running();
  const Tree tree = states.tree();
  EXPECT_EQ(tree.child("agent_A")->child("web")->child("1")->child("state"), Tree("Running"));
  EXPECT_EQ(tree.child("")->child("idle")->child("4")->child("subState"), Tree("Ok"));
}

TEST(WorkloadStates, BehaveLikeAPlainMap) {
  EXPECT_TRUE(rc::check([](const std::vector<std::tuple<std::uint8_t, std::uint8_t>>& changes) {
    WorkloadStates states;
    std::map<std::tuple<std::string, std::string, std::string>, ExecutionState> plain;
    for (const auto& [which, what] : changes) {
      const InstanceName name =
          instance("w" + std::to_string(which % 3), std::to_string(which / 3 % 2),
                   which % 4 == 0 ? "" : "a" + std::to_string(which % 4));
      const ExecutionState state(kPhases[what % kPhases.size()].phase);
      states.update({name, state});
      const auto key = std::tuple(name.agent.value, name.workload.value, name.id.value);
      plain.insert_or_assign(key, state);
      if (state.phase == Phase::kRemoved) plain.erase(key);
    }
    std::vector<WorkloadState> expected;
    expected.reserve(plain.size());
    for (const auto& [key, state] : plain)
      expected.push_back({instance(std::get<1>(key), std::get<2>(key), std::get<0>(key)), state});
    RC_ASSERT((states.of_all_but({"nobody"}) == expected));
    RC_ASSERT(states.tree().empty() == plain.empty());
  }));
}

}  // namespace
}  // namespace tiphys
