#include "cli/goal_watch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "cli/nearest.h"
#include "cli/state_view.h"
#include "model/path.h"

namespace tiphys::cli {
namespace {

using Goal = WaitFor::Goal;

std::string instance_text(const InstanceName& instance, const ExecutionState& state) {
  std::string text = state_text(state);
  if (!instance.agent.value.empty()) text += concat(" on ", instance.agent.value);
  const std::string info = info_text(state);
  return info.empty() ? text : concat(text, ": ", info);
}

}  // namespace

std::string_view to_string(Goal goal) {
  constexpr std::array<std::string_view, 4> kWords{"running", "succeeded", "failed", "removed"};
  return kWords[static_cast<std::size_t>(goal)];
}

Result<GoalWatch> GoalWatch::make(const WaitFor& what, const Tree& complete_state) {
  GoalWatch watch(what.goal);
  const auto known = workload_names(complete_state);
  for (const auto& name : what.names) {
    if (what.goal != Goal::kRemoved && std::find(known.begin(), known.end(), name) == known.end())
      return fail(Code::kNotFound, unknown_name(concat("no workload named '", name, "' exists"),
                                                name, "existing workloads", known));
    if (watch.entries_.try_emplace(name).second) watch.names_.push_back(name);
  }
  watch.refresh(complete_state);
  return watch;
}

void GoalWatch::refresh(const Tree& complete_state) {
  for (auto& [name, entry] : entries_) {
    entry.wanted = wanted_workload(complete_state, name);
    entry.is_agent_connected =
        entry.wanted && get(complete_state, {{"agents", entry.wanted->agent}}).has_value();
    entry.instances.clear();
  }
  for (const auto& row : workload_rows(complete_state))
    if (const auto entry = entries_.find(row.instance.workload.value); entry != entries_.end())
      entry->second.instances.emplace(row.instance, row.state);
  remember();
}

bool GoalWatch::update(const UpdateWorkloadState& update) {
  bool is_known = true;
  for (const auto& [instance, state] : update.states) {
    const auto entry = entries_.find(instance.workload.value);
    if (entry == entries_.end()) continue;
    auto& instances = entry->second.instances;
    const auto found = instances.find(instance);
    // With an instance that comes or goes, what is wanted may have changed as well.
    if (found == instances.end() || state.phase == Phase::kRemoved || is_stopping(state.phase))
      is_known = false;
    if (state.phase == Phase::kRemoved)
      instances.erase(instance);
    else
      instances.insert_or_assign(instance, state);
    remember();
  }
  return is_known;
}

std::vector<const ExecutionState*> GoalWatch::Entry::candidates() const {
  std::vector<const ExecutionState*> found;
  for (const auto& [instance, state] : instances)
    if (!is_stopping(state.phase) && (wanted == nullptr || wanted->agent == instance.agent.value))
      found.push_back(&state);
  return found;
}

bool GoalWatch::is_goal(Phase phase) const {
  switch (goal_) {
    case Goal::kRunning:
      return phase == Phase::kRunningOk;
    case Goal::kSucceeded:
      return phase == Phase::kSucceededOk;
    case Goal::kFailed:
      return is_failed(phase);
    case Goal::kRemoved:
      break;
  }
  return false;
}

bool GoalWatch::is_there_now(const Entry& entry) const {
  if (goal_ == Goal::kRemoved) return entry.wanted == nullptr && entry.instances.empty();
  const auto candidates = entry.candidates();
  return !candidates.empty() &&
         std::all_of(candidates.begin(), candidates.end(),
                     [&](const ExecutionState* state) { return is_goal(state->phase); });
}

bool GoalWatch::is_there(const Entry& entry) const {
  return entry.has_been_there || is_there_now(entry);
}

// A workload that is restarted passes through these states.
void GoalWatch::remember() {
  if (goal_ != Goal::kSucceeded && goal_ != Goal::kFailed) return;
  for (auto& [name, entry] : entries_)
    if (is_there_now(entry)) entry.has_been_there = true;
}

std::optional<std::string> GoalWatch::obstacle(const Entry& entry) const {
  if (goal_ == Goal::kRemoved) return std::nullopt;
  if (entry.wanted == nullptr)
    return entry.instances.empty() ? "it has been deleted" : "it is being deleted";
  const RestartPolicy policy = entry.wanted->restart_policy;
  const auto rules_out = [&](const ExecutionState* state) -> std::optional<std::string> {
    const Phase phase = state->phase;
    if (is_goal(phase)) return std::nullopt;
    if (phase == Phase::kNotScheduled) return "it has no agent";
    if (phase == Phase::kPendingStartingFailed) return "its start is not tried again";
    const bool has_ended_well = phase == Phase::kSucceededOk;
    const bool has_ended_badly = phase == Phase::kFailedExecFailed || phase == Phase::kFailedLost;
    if ((has_ended_well && policy != RestartPolicy::kAlways) ||
        (has_ended_badly && policy == RestartPolicy::kNever))
      return concat("its restart policy is ", to_string(policy));
    return std::nullopt;
  };
  std::optional<std::string> why;
  for (const auto* state : entry.candidates()) {
    auto reason = rules_out(state);
    if (!reason) return std::nullopt;
    why = std::move(reason);
  }
  return why;
}

bool GoalWatch::has_arrived() const {
  return std::all_of(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return is_there(entry.second); });
}

bool GoalWatch::is_hopeless() const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return !is_there(entry.second) && obstacle(entry.second).has_value();
  });
}

std::vector<WorkloadRow> GoalWatch::rows() const {
  std::vector<WorkloadRow> rows;
  for (const auto& [name, entry] : entries_)
    for (const auto& [instance, state] : entry.instances)
      rows.push_back({instance, entry.wanted ? entry.wanted->runtime : "", state});
  return rows;
}

std::vector<std::string> GoalWatch::arrived() const {
  const bool has_ended = goal_ == Goal::kSucceeded || goal_ == Goal::kFailed;
  std::vector<std::string> lines;
  for (const auto& name : names_)
    if (is_there(entries_.at(name)))
      lines.push_back(concat(name, has_ended ? " has " : " is ", to_string(goal_)));
  return lines;
}

std::vector<std::string> GoalWatch::missing() const {
  std::vector<std::string> lines;
  for (const auto& name : names_) {
    const Entry& entry = entries_.at(name);
    if (is_there(entry)) continue;
    std::vector<std::string> texts;
    texts.reserve(entry.instances.size());
    for (const auto& [instance, state] : entry.instances)
      texts.push_back(instance_text(instance, state));
    std::string line = concat(name, ": ", texts.empty() ? "no state yet" : join(texts, "; "));
    const auto why = obstacle(entry);
    if (why)
      line += concat(" (", *why, ")");
    else if (goal_ == Goal::kRemoved && entry.wanted != nullptr)
      line += " (it is still wanted)";
    else if (!entry.is_agent_connected)
      line += " (its agent is not connected)";
    lines.push_back(std::move(line));
  }
  return lines;
}

const std::string& GoalWatch::most_telling() const {
  const std::string* first = nullptr;
  for (const auto& name : names_) {
    const Entry& entry = entries_.at(name);
    if (is_there(entry)) continue;
    if (obstacle(entry)) return name;
    if (first == nullptr) first = &name;
  }
  TIPHYS_CHECK(first != nullptr, "somebody is missing");
  return *first;
}

}  // namespace tiphys::cli
