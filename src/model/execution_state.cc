#include "model/execution_state.h"

#include "base/strings.h"

namespace tiphys {

std::optional<Phase> phase_of(std::string_view state, std::string_view sub_state) {
  for (const auto& row : kPhases)
    if (row.state == state && row.sub_state == sub_state) return row.phase;
  return std::nullopt;
}

std::optional<Phase> phase_of_wire(int field, int value) {
  for (const auto& row : kPhases)
    if (row.wire_field == field && row.wire_value == value) return row.phase;
  return std::nullopt;
}

std::optional<Tree> ExecutionState::field(std::string_view key) const {
  if (key == "state") return Tree(row_of(phase).state);
  if (key == "subState") return Tree(row_of(phase).sub_state);
  if (key == "additionalInfo") return Tree(additional_info);
  return std::nullopt;
}

Tree::Map ExecutionState::fields(Empties) const {
  return Tree::Map()
      .set("state", row_of(phase).state)
      .set("subState", row_of(phase).sub_state)
      .set("additionalInfo", additional_info);
}

std::string to_string(const ExecutionState& state) {
  const PhaseRow& row = row_of(state.phase);
  std::string text(row.state);
  if (row.sub_state != row.state || state.phase == Phase::kStopping)
    text += concat("(", row.sub_state, ")");
  if (!state.additional_info.empty()) text += concat(": '", state.additional_info, "'");
  return text;
}

// [impl->swdd~api-workload-state-transitions~1]
const ExecutionState& transition(const ExecutionState& current, const ExecutionState& incoming) {
  const bool told_to_stop = current.phase == Phase::kStoppingRequestedAtRuntime ||
                            current.phase == Phase::kStoppingWaitingToStop;
  const bool seen_in_container = incoming.phase == Phase::kRunningOk ||
                                 incoming.phase == Phase::kSucceededOk || is_failed(incoming.phase);
  return told_to_stop && seen_in_container ? current : incoming;
}

}  // namespace tiphys
