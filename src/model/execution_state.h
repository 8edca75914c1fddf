#pragma once

// What a workload is doing, as the agent that runs it sees it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/names.h"
#include "model/tree.h"

namespace tiphys {

enum class Phase : std::uint8_t {
  kAgentDisconnected,
  kPendingInitial,
  kPendingWaitingToStart,
  kPendingStarting,
  kPendingStartingFailed,
  kRunningOk,
  kStopping,
  kStoppingWaitingToStop,
  kStoppingRequestedAtRuntime,
  kStoppingDeleteFailed,
  kSucceededOk,
  kFailedExecFailed,
  kFailedUnknown,
  kFailedLost,
  kNotScheduled,
  kRemoved,
};

// One line per phase: the two words people read, and the field and value that stand for it on the
// wire.
struct PhaseRow {
  Phase phase;
  std::string_view state;
  std::string_view sub_state;
  std::uint8_t wire_field;
  std::uint8_t wire_value;
};

// [impl->swdd~api-workload-states-supported-states~1]
// [impl->swdd~allowed-workload-states~2]
inline constexpr std::array<PhaseRow, 16> kPhases{{
    {Phase::kAgentDisconnected, "AgentDisconnected", "AgentDisconnected", 2, 0},
    {Phase::kPendingInitial, "Pending", "Initial", 3, 0},
    {Phase::kPendingWaitingToStart, "Pending", "WaitingToStart", 3, 1},
    {Phase::kPendingStarting, "Pending", "Starting", 3, 2},
    {Phase::kPendingStartingFailed, "Pending", "StartingFailed", 3, 8},
    {Phase::kRunningOk, "Running", "Ok", 4, 0},
    {Phase::kStopping, "Stopping", "Stopping", 5, 0},
    {Phase::kStoppingWaitingToStop, "Stopping", "WaitingToStop", 5, 1},
    {Phase::kStoppingRequestedAtRuntime, "Stopping", "RequestedAtRuntime", 5, 2},
    {Phase::kStoppingDeleteFailed, "Stopping", "DeleteFailed", 5, 8},
    {Phase::kSucceededOk, "Succeeded", "Ok", 6, 0},
    {Phase::kFailedExecFailed, "Failed", "ExecFailed", 7, 0},
    {Phase::kFailedUnknown, "Failed", "Unknown", 7, 1},
    {Phase::kFailedLost, "Failed", "Lost", 7, 2},
    {Phase::kNotScheduled, "NotScheduled", "NotScheduled", 8, 0},
    {Phase::kRemoved, "Removed", "Removed", 9, 0},
}};

constexpr const PhaseRow& row_of(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::optional<Phase> phase_of(std::string_view state, std::string_view sub_state);
std::optional<Phase> phase_of_wire(int field, int value);

// True for every sub-state of Pending, Stopping or Failed respectively.
constexpr bool is_pending(Phase phase) { return row_of(phase).wire_field == 3; }
constexpr bool is_stopping(Phase phase) { return row_of(phase).wire_field == 5; }
constexpr bool is_failed(Phase phase) { return row_of(phase).wire_field == 7; }

// [impl->swdd~api-workload-state-additional-information~1]
struct ExecutionState : Tree::Object {
  Phase phase = Phase::kPendingInitial;
  std::string additional_info;

  ExecutionState() = default;
  explicit ExecutionState(Phase the_phase, std::string info = {})
      : phase(the_phase), additional_info(std::move(info)) {}

  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override;
  [[nodiscard]] Tree::Map fields(Empties empties) const override;

  friend bool operator==(const ExecutionState& a, const ExecutionState& b) {
    return a.phase == b.phase && a.additional_info == b.additional_info;
  }
};

// Pending(Starting): 'Triggered at runtime.'
std::string to_string(const ExecutionState& state);

// What holds after `incoming` was seen while `current` held. A workload that was told to stop still
// runs for a while; what its container does meanwhile must not make the state flip back.
const ExecutionState& transition(const ExecutionState& current, const ExecutionState& incoming);

// [impl->swdd~api-workload-state-identification~1]
struct WorkloadState {
  InstanceName instance;
  ExecutionState state;

  friend bool operator==(const WorkloadState&, const WorkloadState&) = default;
};

}  // namespace tiphys
