// For how long workloads have been in their states, as the machine tells it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"
#include "core/server/server_machine.h"

namespace tiphys::server {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

constexpr ConnectionNumber kAgent = 1;
constexpr ConnectionNumber kCommander = 2;

Tree workload(const std::string& agent) {
  auto made = std::make_shared<Workload>();
  made->agent = agent;
  made->runtime = "podman";
  made->runtime_config = "c";
  return WorkloadPtr(made);
}

InstanceName instance(const std::string& name, const std::string& agent) {
  return {WorkloadName{name}, workload_id_of("c"), AgentName{agent}};
}

// A machine that has started at second 10 with web and db on A and idle nowhere, and has an agent.
class StateAges : public testing::Test {
 protected:
  StateAges() {
    State stored;
    stored.workloads =
        Tree::Map().set("db", workload("A")).set("idle", workload("")).set("web", workload("A"));
    const auto effects = machine.step(Start{}, Instant{9s});
    (void)machine.step(Loaded{std::get<Load>(effects.at(0)).token, {stored, 1}}, Instant{10s});
    connect(Instant{11s});
  }

  void connect(Instant now) {
    (void)machine.step(Opened{kAgent, AgentPeer{AgentName{"A"}, {}}}, now);
  }
  void report(const std::string& name, ExecutionState state, Instant now) {
    const UpdateWorkloadState message{{{instance(name, "A"), std::move(state)}}};
    (void)machine.step(Received{kAgent, message}, now);
  }
  // "web 2000", ...; all workloads when none is named.
  Strings ages(Instant now, Strings names = {}) {
    const auto effects = machine.step(StateAgesAsked{7, {std::move(names)}}, now);
    EXPECT_EQ(effects.size(), 1U);
    const auto& answer = std::get<AnswerStateAges>(effects.at(0));
    EXPECT_EQ(answer.call, 7U);
    Strings lines;
    for (const auto& [of, age] : answer.response.ages) {
      EXPECT_EQ(of, instance(of.workload.value, of.agent.value));
      lines.push_back(concat(of.workload.value, " ", std::to_string(age.count())));
    }
    return lines;
  }

  ServerMachine machine;
};

TEST_F(StateAges, CountFromTheLastChangeOfStateOrSubState) {
  const struct {
    const char* what;
    ExecutionState reported;
    std::chrono::milliseconds at;
    std::chrono::milliseconds since;
  } reports[] = {
      {"another sub-state", ExecutionState(Phase::kPendingStarting), 20'000ms, 20'000ms},
      {"the same again", ExecutionState(Phase::kPendingStarting), 21'000ms, 20'000ms},
      {"other information", ExecutionState(Phase::kPendingStarting, "Retry 1"), 22'000ms, 20'000ms},
      {"another state", ExecutionState(Phase::kRunningOk), 30'500ms, 30'500ms},
      {"the same again", ExecutionState(Phase::kRunningOk), 31'000ms, 30'500ms},
      {"another state", ExecutionState(Phase::kFailedExecFailed), 40'000ms, 40'000ms},
      {"the first one", ExecutionState(Phase::kPendingStarting), 41'001ms, 41'001ms},
  };
  for (const auto& [what, reported, at, since] : reports) {
    report("web", reported, Instant{at});
    const auto age = std::chrono::milliseconds(50s - since).count();
    EXPECT_EQ(ages(Instant{50s}, {"web"}), Strings{concat("web ", std::to_string(age))})
        << what << " at " << at.count();
  }
}

TEST_F(StateAges, AreThoseOfTheWorkloadsThatAreNamed) {
  report("db", ExecutionState(Phase::kRunningOk), Instant{12s});
  const struct {
    Strings names;
    Strings expected;
  } questions[] = {
      {{}, {"idle 10000", "db 8000", "web 10000"}},
      {{"web"}, {"web 10000"}},
      {{"web", "db", "web"}, {"db 8000", "web 10000"}},
      {{"idle", "nobody"}, {"idle 10000"}},
      {{"nobody"}, {}},
  };
  for (const auto& [names, expected] : questions)
    EXPECT_EQ(ages(Instant{20s}, names), expected) << join(names, " ");
}

TEST_F(StateAges, FollowTheAgentAwayAndBack) {
  report("web", ExecutionState(Phase::kRunningOk), Instant{12s});
  (void)machine.step(Closed{kAgent}, Instant{20s});
  EXPECT_EQ(ages(Instant{23s}, {"web"}), Strings{"web 3000"});
  connect(Instant{24s});
  EXPECT_EQ(ages(Instant{24s}, {"web"}), Strings{"web 4000"}) << "it has said nothing yet";
  report("web", ExecutionState(Phase::kRunningOk), Instant{25s});
  EXPECT_EQ(ages(Instant{27s}, {"web"}), Strings{"web 2000"});
}

TEST_F(StateAges, EndWithTheInstance) {
  report("web", ExecutionState(Phase::kRemoved), Instant{12s});
  EXPECT_EQ(ages(Instant{13s}, {"web"}), Strings{});
  report("web", ExecutionState(Phase::kRunningOk), Instant{14s});
  EXPECT_EQ(ages(Instant{15s}, {"web"}), Strings{"web 1000"});
}

TEST_F(StateAges, AreNoneBeforeTheStateIsKnown) {
  machine = ServerMachine();
  EXPECT_EQ(ages(Instant{1s}), Strings{});
}

TEST_F(StateAges, OfAnAddedWorkloadCountFromItsCommit) {
  (void)machine.step(Opened{kCommander, CommanderPeer{}}, Instant{12s});
  const Tree state = Tree::Map().set(
      "desiredState",
      Tree::Map().set("apiVersion", "v1").set("workloads", Tree::Map().set("new", workload("A"))));
  const auto effects = machine.step(
      Received{kCommander, Request{"r", UpdateStateRequest{state, {"desiredState.workloads.new"}}}},
      Instant{13s});
  const auto& commit = std::get<Commit>(effects.at(0));
  (void)machine.step(Committed{commit.token, 2}, Instant{14s});
  EXPECT_EQ(ages(Instant{20s}, {"new", "web"}), (Strings{"new 6000", "web 10000"}));
}

}  // namespace
}  // namespace tiphys::server
