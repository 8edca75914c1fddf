#include "cli/wait_display.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "model/path.h"

namespace tiphys::cli {
namespace {

constexpr std::string_view kSpinner = R"(|/-\)";

Result<std::vector<InstanceName>> read_instance_names(const std::vector<std::string>& texts) {
  std::vector<InstanceName> names;
  for (const auto& text : texts) {
    const auto parts = split(text, '.');
    if (parts.size() != 3)
      return fail(Code::kInvalidArgument,
                  concat("Could not parse UpdateStateSuccess message: Could not convert '", text,
                         "' to a WorkloadInstanceNameSpec, as it consist of ",
                         std::to_string(parts.size()), " instead of 3."));
    names.push_back({WorkloadName{std::string(parts[0])}, WorkloadId{std::string(parts[1])},
                     AgentName{std::string(parts[2])}});
  }
  return names;
}

bool is_resting(Phase phase) {
  return phase == Phase::kRunningOk || phase == Phase::kSucceededOk || is_failed(phase) ||
         phase == Phase::kNotScheduled || phase == Phase::kPendingStartingFailed;
}

bool is_over(Phase phase) { return phase == Phase::kRemoved || phase == Phase::kAgentDisconnected; }

bool is_connected(const Tree& complete_state, const AgentName& agent) {
  return get(complete_state, {{"agents", agent.value}}).has_value();
}

}  // namespace

Result<ChangedWorkloads> read_changed_workloads(const UpdateStateSuccess& success) {
  TIPHYS_TRY(auto added, read_instance_names(success.added_workloads));
  TIPHYS_TRY(auto deleted, read_instance_names(success.deleted_workloads));
  return ChangedWorkloads{std::move(added), std::move(deleted)};
}

WaitDisplay::WaitDisplay(const ChangedWorkloads& changed, const Tree& before, const Tree& after,
                         bool on_terminal)
    : reprinter_(on_terminal) {
  for (const auto& instance : changed.added) watch(instance, Change::kAdded, before, after);
  for (const auto& instance : changed.deleted) watch(instance, Change::kDeleted, before, after);
}

void WaitDisplay::watch(const InstanceName& instance, Change change, const Tree& before,
                        const Tree& after) {
  Entry entry{change, is_connected(after, instance.agent), runtime_of(after, instance), {}};
  if (auto state = state_of(after, instance)) {
    entry.state = *std::move(state);
  } else if (change == Change::kAdded) {
    entry.state =
        ExecutionState(Phase::kRemoved, "The server does not know this workload any more.");
  } else {
    entry.state = ExecutionState(Phase::kRemoved);
    entry.runtime = runtime_of(before, instance);
  }
  // An update that keeps the instance names it in both lists; what counts is that it was added.
  entries_.emplace(instance, std::move(entry));
}

bool WaitDisplay::update(const UpdateWorkloadState& update) {
  bool changed = false;
  for (const auto& told : update.states) {
    const auto entry = entries_.find(told.instance);
    if (entry == entries_.end()) continue;
    entry->second.state = told.state;
    changed = true;
  }
  return changed;
}

bool WaitDisplay::is_final(const Entry& entry) {
  const Phase phase = entry.state.phase;
  if (!entry.is_agent_connected || is_over(phase)) return true;
  return entry.change == Change::kAdded && is_resting(phase);
}

bool WaitDisplay::done() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return is_final(entry.second); });
}

std::string WaitDisplay::print(std::size_t width) {
  std::vector<WorkloadRow> rows;
  rows.reserve(entries_.size());
  for (const auto& [instance, entry] : entries_)
    rows.push_back({instance, entry.runtime, entry.state});
  Table table = workload_table(rows);

  constexpr std::size_t kState = 3;
  table.header[kState].insert(0, "  ");
  const char turning = kSpinner[(ticks_ + kSpinner.size() - 1) % kSpinner.size()];
  auto row = table.rows.begin();
  for (const auto& [instance, entry] : entries_)
    (row++)->at(kState).insert(0, std::string{is_final(entry) ? ' ' : turning, ' '});
  return reprinter_.print(lines_of(table, LastColumn::kTruncate, width), width);
}

}  // namespace tiphys::cli
