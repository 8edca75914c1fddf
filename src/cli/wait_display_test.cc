#include "cli/wait_display.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

namespace tiphys::cli {
namespace {

constexpr std::size_t kWidth = 200;

InstanceName instance(const char* workload, const char* agent = "a") {
  return {WorkloadName{workload}, WorkloadId{"1"}, AgentName{agent}};
}

Tree state_with(const char* workload, Phase phase, const char* connected = "a") {
  const Tree state(std::make_shared<const ExecutionState>(phase));
  return Tree::Map()
      .set("agents", Tree::Map().set(connected, Tree::Map()))
      .set("desiredState",
           Tree::Map().set(
               "workloads",
               Tree::Map().set(workload, Tree::Map().set("agent", "a").set("runtime", "podman"))))
      .set("workloadStates",
           Tree::Map().set("a", Tree::Map().set(workload, Tree::Map().set("1", state))));
}

WaitDisplay waiting_for_added(const Tree& after) {
  return {{{instance("w")}, {}}, Tree(), after, false};
}
WaitDisplay waiting_for_deleted(const Tree& after) {
  return {{{}, {instance("w")}}, Tree(), after, false};
}

UpdateWorkloadState told(const char* workload, Phase phase, std::string info = {}) {
  return {{{instance(workload), ExecutionState(phase, std::move(info))}}};
}

TEST(WaitDisplay, KnowsWhichStatesAreFinal) {
  for (const auto& [phase, for_added, for_deleted] : std::vector<std::tuple<Phase, bool, bool>>{
           {Phase::kAgentDisconnected, true, true},
           {Phase::kPendingInitial, false, false},
           {Phase::kPendingWaitingToStart, false, false},
           {Phase::kPendingStarting, false, false},
           {Phase::kPendingStartingFailed, true, false},
           {Phase::kRunningOk, true, false},
           {Phase::kStopping, false, false},
           {Phase::kStoppingWaitingToStop, false, false},
           {Phase::kStoppingRequestedAtRuntime, false, false},
           {Phase::kStoppingDeleteFailed, false, false},
           {Phase::kSucceededOk, true, false},
           {Phase::kFailedExecFailed, true, false},
           {Phase::kFailedUnknown, true, false},
           {Phase::kFailedLost, true, false},
           {Phase::kNotScheduled, true, false},
           {Phase::kRemoved, true, true}}) {
    SCOPED_TRACE(to_string(ExecutionState(phase)));
    const Tree after = state_with("w", phase);
    EXPECT_EQ(waiting_for_added(after).done(), for_added);
    EXPECT_EQ(waiting_for_deleted(after).done(), for_deleted);
    // Told later is as good as seen at first.
    auto added = waiting_for_added(state_with("w", Phase::kPendingInitial));
    EXPECT_TRUE(added.update(told("w", phase)));
    EXPECT_EQ(added.done(), for_added);
  }
}

TEST(WaitDisplay, DoesNotWaitForAnAgentThatIsNotConnected) {
  EXPECT_TRUE(waiting_for_added(state_with("w", Phase::kPendingInitial, "other")).done());
  EXPECT_TRUE(waiting_for_deleted(state_with("w", Phase::kStopping, "other")).done());
}

TEST(WaitDisplay, TurnsItsSpinnerWithEveryTick) {
  auto display = waiting_for_added(state_with("w", Phase::kPendingStarting));
  const std::string header =
      "WORKLOAD NAME   AGENT   RUNTIME     EXECUTION STATE     ADDITIONAL INFO\n";
  const auto row = [](char symbol) {
    return std::string("w               a       podman    ") + symbol +
           " Pending(Starting)                  \n\n";
  };
  for (const char symbol : {'|', '/', '-', '\\', '|'}) {
    display.tick();
    EXPECT_EQ(display.print(kWidth), header + row(symbol));
  }
  EXPECT_EQ(display.print(kWidth), header + row('|'));  // a state turns nothing
}

TEST(WaitDisplay, ShowsABlankOnceAWorkloadIsThere) {
  auto display = waiting_for_added(state_with("w", Phase::kPendingStarting));
  display.tick();
  display.update(told("w", Phase::kRunningOk));
  EXPECT_EQ(display.print(kWidth),
            "WORKLOAD NAME   AGENT   RUNTIME     EXECUTION STATE   ADDITIONAL INFO\n"
            "w               a       podman      Running(Ok)                      \n\n");
}

TEST(WaitDisplay, IgnoresOtherWorkloads) {
  auto display = waiting_for_added(state_with("w", Phase::kPendingStarting));
  EXPECT_FALSE(display.update(told("other", Phase::kRunningOk)));
  EXPECT_FALSE(display.done());
}

TEST(WaitDisplay, TakesADeletedWorkloadThatIsGoneForRemoved) {
  WaitDisplay display({{}, {instance("w")}}, state_with("w", Phase::kRunningOk),
                      Tree::Map().set("agents", Tree::Map().set("a", Tree::Map())), false);
  EXPECT_TRUE(display.done());
  EXPECT_EQ(display.print(kWidth),
            "WORKLOAD NAME   AGENT   RUNTIME     EXECUTION STATE   ADDITIONAL INFO\n"
            "w               a       podman      Removed                          \n\n");
}

TEST(WaitDisplay, EndsWithAReasonWhenAnAddedWorkloadHasVanished) {
  auto display = waiting_for_added(Tree::Map().set("agents", Tree::Map().set("a", Tree::Map())));
  EXPECT_TRUE(display.done());
  EXPECT_NE(display.print(kWidth).find("The server does not know this workload any more."),
            std::string::npos);
}

TEST(WaitDisplay, ShowsAnInstanceThatIsKeptOnce) {
  WaitDisplay display({{instance("w")}, {instance("w")}}, Tree(),
                      state_with("w", Phase::kRunningOk), false);
  EXPECT_TRUE(display.done());
}

TEST(WaitDisplay, TruncatesInfoToTheTerminal) {
  WaitDisplay display({{instance("w")}, {}}, Tree(), state_with("w", Phase::kRunningOk), true);
  display.update(told("w", Phase::kRunningOk, "a reason that is a little too long"));
  EXPECT_EQ(display.print(75),
            "\x1b[1GWORKLOAD NAME   AGENT   RUNTIME     EXECUTION STATE   ADDITIONAL INFO      "
            "\x1b[K\nw               a       podman      Running(Ok)       a reason that is a..."
            "\x1b[K\n");
}

TEST(ChangedWorkloads, AreInstanceNamesOfThreeParts) {
  const auto changed = read_changed_workloads({{"w.1.a"}, {"v.2."}});
  ASSERT_TRUE(changed);
  EXPECT_EQ(to_string(changed->added[0]), "w.1.a");
  EXPECT_EQ(to_string(changed->deleted[0]), "v.2.");
  const auto refused = read_changed_workloads({{"w.1"}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Could not parse UpdateStateSuccess message: Could not convert 'w.1' to a "
            "WorkloadInstanceNameSpec, as it consist of 2 instead of 3.");
}

}  // namespace
}  // namespace tiphys::cli
