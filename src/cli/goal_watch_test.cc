#include "cli/goal_watch.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "model/workload_states.h"

namespace tiphys::cli {
namespace {

using Goal = WaitFor::Goal;
using Words = std::vector<std::string>;

InstanceName w(const char* id, const char* agent = "a") {
  return {WorkloadName{"w"}, WorkloadId{id}, AgentName{agent}};
}

// w as agent a shall run it, if anybody wants it, and its instances.
Tree state(const std::vector<WorkloadState>& instances,
           std::optional<RestartPolicy> policy = RestartPolicy::kNever, bool is_connected = true) {
  WorkloadStates states;
  for (const auto& each : instances) states.update(each);
  auto tree = Tree::Map().set("workloadStates", states.tree());
  if (is_connected) tree = tree.set("agents", Tree::Map().set("a", Tree::Map()));
  if (!policy) return tree;
  const auto workload = Tree::Map()
                            .set("agent", "a")
                            .set("runtime", "r")
                            .set("runtimeConfig", "c")
                            .set("restartPolicy", to_string(*policy));
  return tree.set("desiredState",
                  Tree::Map().set("workloads", Tree::Map().set("w", Tree(workload))));
}

GoalWatch watch_of(Goal goal, const Tree& complete_state) {
  return GoalWatch::make({.names = {"w"}, .goal = goal}, complete_state).value();
}

enum class Stand { kThere, kMayCome, kHopeless };

std::ostream& operator<<(std::ostream& out, Stand stand) {
  return out << std::array{"there", "may come", "hopeless"}[static_cast<std::size_t>(stand)];
}

Stand stand_of(const GoalWatch& watch) {
  if (watch.has_arrived()) return Stand::kThere;
  return watch.is_hopeless() ? Stand::kHopeless : Stand::kMayCome;
}

TEST(GoalWatch, KnowsWhatIsThereAndWhatCannotComeAnyMore) {
  struct Row {
    Phase phase;
    Stand running, succeeded, failed;
    RestartPolicy policy = RestartPolicy::kNever;
  };
  constexpr auto kYes = Stand::kThere;
  constexpr auto kMay = Stand::kMayCome;
  constexpr auto kNo = Stand::kHopeless;
  for (const Row& row : std::vector<Row>{
           {Phase::kPendingInitial, kMay, kMay, kMay},
           {Phase::kPendingWaitingToStart, kMay, kMay, kMay},
           {Phase::kPendingStartingFailed, kNo, kNo, kNo},
           {Phase::kPendingStartingFailed, kNo, kNo, kNo, RestartPolicy::kAlways},
           {Phase::kRunningOk, kYes, kMay, kMay},
           {Phase::kSucceededOk, kNo, kYes, kNo},
           {Phase::kSucceededOk, kNo, kYes, kNo, RestartPolicy::kOnFailure},
           {Phase::kSucceededOk, kMay, kYes, kMay, RestartPolicy::kAlways},
           {Phase::kFailedExecFailed, kNo, kNo, kYes},
           {Phase::kFailedExecFailed, kMay, kMay, kYes, RestartPolicy::kOnFailure},
           {Phase::kFailedExecFailed, kMay, kMay, kYes, RestartPolicy::kAlways},
           {Phase::kFailedLost, kNo, kNo, kYes},
           {Phase::kFailedUnknown, kMay, kMay, kYes},
           {Phase::kAgentDisconnected, kMay, kMay, kMay},
           {Phase::kStopping, kMay, kMay, kMay},
       }) {
    SCOPED_TRACE(concat(state_text(ExecutionState(row.phase)), " ", to_string(row.policy)));
    const Tree now = state({{w("1"), ExecutionState(row.phase)}}, row.policy);
    EXPECT_EQ(stand_of(watch_of(Goal::kRunning, now)), row.running);
    EXPECT_EQ(stand_of(watch_of(Goal::kSucceeded, now)), row.succeeded);
    EXPECT_EQ(stand_of(watch_of(Goal::kFailed, now)), row.failed);
    EXPECT_EQ(stand_of(watch_of(Goal::kRemoved, now)), Stand::kMayCome);
  }
}

TEST(GoalWatch, LooksAtTheInstanceThatIsWanted) {
  const ExecutionState running(Phase::kRunningOk);
  const ExecutionState pending(Phase::kPendingInitial);
  const ExecutionState stopping(Phase::kStopping);
  const ExecutionState gone(Phase::kAgentDisconnected);
  EXPECT_EQ(stand_of(watch_of(Goal::kRunning, state({{w("1"), running}, {w("2"), pending}}))),
            Stand::kMayCome);
  EXPECT_EQ(stand_of(watch_of(Goal::kRunning, state({{w("1"), stopping}, {w("2"), running}}))),
            Stand::kThere);
  EXPECT_EQ(stand_of(watch_of(Goal::kRunning, state({{w("1", "b"), gone}, {w("2"), running}}))),
            Stand::kThere);
}

TEST(GoalWatch, GivesUpWhatIsDeleted) {
  const Tree going = state({{w("1"), ExecutionState(Phase::kStopping)}}, std::nullopt);
  GoalWatch watch = watch_of(Goal::kRunning, going);
  EXPECT_TRUE(watch.is_hopeless());
  EXPECT_EQ(watch.missing(), Words{"w: Stopping(Stopping) on a (it is being deleted)"});
  watch.refresh(state({}, std::nullopt));
  EXPECT_EQ(watch.missing(), Words{"w: no state yet (it has been deleted)"});
}

TEST(GoalWatch, RemovedIsWhatNobodyWantsAndNobodyRuns) {
  GoalWatch watch = watch_of(Goal::kRemoved, state({{w("1"), ExecutionState(Phase::kRunningOk)}}));
  EXPECT_EQ(watch.missing(), Words{"w: Running(Ok) on a (it is still wanted)"});
  watch.refresh(state({{w("1"), ExecutionState(Phase::kStopping)}}, std::nullopt));
  EXPECT_FALSE(watch.has_arrived());
  EXPECT_EQ(watch.most_telling(), "w");
  EXPECT_FALSE(watch.update({{{w("1"), ExecutionState(Phase::kRemoved)}}}));
  watch.refresh(state({}, std::nullopt));
  EXPECT_EQ(watch.arrived(), Words{"w is removed"});
}

TEST(GoalWatch, RemembersWhatPasses) {
  GoalWatch watch = watch_of(
      Goal::kFailed, state({{w("1"), ExecutionState(Phase::kRunningOk)}}, RestartPolicy::kAlways));
  EXPECT_TRUE(watch.update({{{w("1"), ExecutionState(Phase::kFailedExecFailed)},
                             {w("1"), ExecutionState(Phase::kPendingStarting)}}}));
  EXPECT_TRUE(watch.has_arrived());
  EXPECT_EQ(watch.arrived(), Words{"w has failed"});

  GoalWatch running = watch_of(
      Goal::kRunning, state({{w("1"), ExecutionState(Phase::kRunningOk)}}, RestartPolicy::kAlways));
  EXPECT_TRUE(running.update({{{w("1"), ExecutionState(Phase::kFailedExecFailed)}}}));
  EXPECT_FALSE(running.has_arrived()) << "it does not run";
}

TEST(GoalWatch, AsksAgainWhenInstancesComeAndGo) {
  GoalWatch watch =
      watch_of(Goal::kRunning, state({{w("1"), ExecutionState(Phase::kPendingInitial)}}));
  const InstanceName other{WorkloadName{"v"}, WorkloadId{"1"}, AgentName{"a"}};
  EXPECT_TRUE(watch.update({{{other, ExecutionState(Phase::kRemoved)}}})) << "is of no interest";
  EXPECT_TRUE(watch.update({{{w("1"), ExecutionState(Phase::kPendingStarting)}}}));
  EXPECT_FALSE(watch.update({{{w("2"), ExecutionState(Phase::kPendingStarting)}}}));
  EXPECT_FALSE(watch.update({{{w("1"), ExecutionState(Phase::kStopping)}}}));
  EXPECT_FALSE(watch.update({{{w("1"), ExecutionState(Phase::kRemoved)}}}));
}

TEST(GoalWatch, SaysWhatIsKnownOfTheMissing) {
  const GoalWatch away =
      watch_of(Goal::kRunning, state({{w("1"), ExecutionState(Phase::kPendingInitial, "a\nb")}},
                                     RestartPolicy::kNever, false));
  EXPECT_EQ(away.missing(), Words{"w: Pending(Initial) on a: a, b (its agent is not connected)"});
  const GoalWatch over =
      watch_of(Goal::kRunning, state({{w("1"), ExecutionState(Phase::kSucceededOk)}}));
  EXPECT_EQ(over.missing(), Words{"w: Succeeded(Ok) on a (its restart policy is NEVER)"});
}

TEST(GoalWatch, KnowsOnlyWhatExists) {
  const Tree now = state({{w("1"), ExecutionState(Phase::kRunningOk)}});
  const auto unknown = GoalWatch::make({.names = {"w", "x"}, .goal = Goal::kRunning}, now);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message, "no workload named 'x' exists; existing workloads: w");
  const auto twice = GoalWatch::make({.names = {"w", "w"}, .goal = Goal::kRunning}, now);
  EXPECT_EQ(twice.value().arrived(), Words{"w is running"});
}

}  // namespace
}  // namespace tiphys::cli
