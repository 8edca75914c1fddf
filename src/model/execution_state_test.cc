#include "model/execution_state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/path.h"

namespace tiphys {
namespace {

// [utest->swdd~api-workload-states-supported-states~1]
TEST(ExecutionState, HasSixteenPhasesWithTheirTexts) {
  const std::vector<std::pair<Phase, std::string>> expected{
      {Phase::kAgentDisconnected, "AgentDisconnected"},
      {Phase::kPendingInitial, "Pending(Initial)"},
      {Phase::kPendingWaitingToStart, "Pending(WaitingToStart)"},
      {Phase::kPendingStarting, "Pending(Starting)"},
      {Phase::kPendingStartingFailed, "Pending(StartingFailed)"},
      {Phase::kRunningOk, "Running(Ok)"},
      {Phase::kStopping, "Stopping(Stopping)"},
      {Phase::kStoppingWaitingToStop, "Stopping(WaitingToStop)"},
      {Phase::kStoppingRequestedAtRuntime, "Stopping(RequestedAtRuntime)"},
      {Phase::kStoppingDeleteFailed, "Stopping(DeleteFailed)"},
      {Phase::kSucceededOk, "Succeeded(Ok)"},
      {Phase::kFailedExecFailed, "Failed(ExecFailed)"},
      {Phase::kFailedUnknown, "Failed(Unknown)"},
      {Phase::kFailedLost, "Failed(Lost)"},
      {Phase::kNotScheduled, "NotScheduled"},
      {Phase::kRemoved, "Removed"}};
  ASSERT_EQ(expected.size(), kPhases.size());
  for (const auto& [phase, text] : expected) EXPECT_EQ(to_string(ExecutionState(phase)), text);
}

// [utest->swdd~api-workload-state-additional-information~1]
TEST(ExecutionState, CarriesAdditionalInformation) {
  EXPECT_EQ(to_string(ExecutionState(Phase::kPendingStarting, "Triggered at runtime.")),
            "Pending(Starting): 'Triggered at runtime.'");
  EXPECT_EQ(to_string(ExecutionState(Phase::kNotScheduled, "no agent")),
            "NotScheduled: 'no agent'");
  EXPECT_FALSE(ExecutionState(Phase::kRunningOk, "a") == ExecutionState(Phase::kRunningOk, "b"));
}

TEST(ExecutionState, StartsAsPendingInitialWithoutInformation) {
  EXPECT_EQ(ExecutionState(), ExecutionState(Phase::kPendingInitial, ""));
}

TEST(ExecutionState, IsFoundByItsTwoWords) {
  for (const auto& row : kPhases) {
    EXPECT_EQ(phase_of(row.state, row.sub_state), row.phase);
    EXPECT_EQ(&row_of(row.phase), &row);
  }
  for (const auto& [state, sub_state] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"Running", ""}, {"Running", "Initial"}, {"running", "ok"}, {"Removed", ""}})
    EXPECT_EQ(phase_of(state, sub_state), std::nullopt) << state << sub_state;
}

TEST(ExecutionState, IsFoundByItsNumbersOnTheWire) {
  for (const auto& row : kPhases)
    EXPECT_EQ(phase_of_wire(row.wire_field, row.wire_value), row.phase);
  for (const auto& [field, value] : std::vector<std::pair<int, int>>{
           {0, 0}, {1, 0}, {3, 3}, {3, 7}, {4, 1}, {5, 3}, {7, 3}, {9, 1}, {10, 0}, {3, -1}})
    EXPECT_EQ(phase_of_wire(field, value), std::nullopt) << field << ' ' << value;
}

TEST(ExecutionState, BelongsToAFamilyOfPhases) {
  std::multiset<std::string> families;
  for (const auto& row : kPhases) {
    EXPECT_EQ(is_pending(row.phase), row.state == "Pending");
    EXPECT_EQ(is_stopping(row.phase), row.state == "Stopping");
    EXPECT_EQ(is_failed(row.phase), row.state == "Failed");
    families.emplace(row.state);
  }
  EXPECT_EQ(families.count("Pending"), 4U);
  EXPECT_EQ(families.count("Stopping"), 4U);
  EXPECT_EQ(families.count("Failed"), 3U);
}

// [utest->swdd~api-workload-state-additional-information~1]
TEST(ExecutionState, LooksLikeAMapOfThreeTexts) {
  for (const auto& row : kPhases) {
    const ExecutionState state(row.phase, "why");
    const auto map = Tree::Map()
                         .set("state", row.state)
                         .set("subState", row.sub_state)
                         .set("additionalInfo", "why");
    EXPECT_EQ(state.fields(Empties::kOmit), map);
    EXPECT_EQ(state.fields(Empties::kKeep), map);
    map.for_each(
        [&](const std::string& key, const Tree& value) { EXPECT_EQ(state.field(key), value); });
    EXPECT_EQ(state.field("nope"), std::nullopt);
  }
}

// [utest->swdd~api-workload-state-additional-information~1]
TEST(ExecutionState, ShowsEmptyInformation) {
  EXPECT_EQ(ExecutionState(Phase::kRunningOk).field("additionalInfo"), Tree(""));
}

// Only these two hold a workload back from what its container says meanwhile.
const std::set<Phase> kHolding{Phase::kStoppingRequestedAtRuntime, Phase::kStoppingWaitingToStop};
const std::set<Phase> kHeldBack{Phase::kRunningOk, Phase::kSucceededOk, Phase::kFailedExecFailed,
                                Phase::kFailedUnknown, Phase::kFailedLost};

// [utest->swdd~api-workload-state-transitions~1]
TEST(Transition, KeepsAStoppingWorkloadFromFlippingBack) {
  int held = 0;
  for (const auto& from : kPhases)
    for (const auto& to : kPhases) {
      const ExecutionState current(from.phase, "current");
      const ExecutionState incoming(to.phase, "incoming");
      const bool holds = kHolding.contains(from.phase) && kHeldBack.contains(to.phase);
      held += holds ? 1 : 0;
      EXPECT_EQ(transition(current, incoming), holds ? current : incoming)
          << to_string(current) << " -> " << to_string(incoming);
    }
  EXPECT_EQ(held, 10);
}

TEST(WorkloadState, IsAnInstanceAndItsState) {
  const WorkloadState state{{{"w"}, {"1"}, {"a"}}, ExecutionState(Phase::kRunningOk)};
  EXPECT_EQ(state, state);
  EXPECT_FALSE(state == (WorkloadState{{{"w"}, {"1"}, {"b"}}, ExecutionState(Phase::kRunningOk)}));
  EXPECT_FALSE(state == (WorkloadState{{{"w"}, {"1"}, {"a"}}, ExecutionState(Phase::kStopping)}));
}

}  // namespace
}  // namespace tiphys
