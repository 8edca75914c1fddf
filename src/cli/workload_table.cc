#include "cli/workload_table.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "cli/state_view.h"
#include "model/path.h"

namespace tiphys::cli {
namespace {

std::optional<ExecutionState> read_execution_state(const Tree& tree) {
  if (const auto whole = tree.object<ExecutionState>()) return *whole;
  const auto phase = phase_of(string_at(tree, "state"), string_at(tree, "subState"));
  if (!phase) return std::nullopt;
  return ExecutionState(*phase, string_at(tree, "additionalInfo"));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string number_at(const Tree& tree, const Path& path, std::string_view unit) {
  const auto found = get(tree, path);
  const auto* number = found ? found->number() : nullptr;
  return number == nullptr ? std::string() : concat(std::to_string(*number), unit);
}

}  // namespace

bool RowOrder::operator()(const InstanceName& a, const InstanceName& b) const {
  return std::tie(a.workload, a.agent, a.id) < std::tie(b.workload, b.agent, b.id);
}

std::vector<WorkloadRow> workload_rows(const Tree& complete_state) {
  std::vector<WorkloadRow> rows;
  const Tree::Map wanted = entries_at(complete_state, {{"desiredState", "workloads"}});
  const auto visit = [&](const std::string& agent, const std::string& workload,
                         const std::string& id, const Tree& tree) {
    auto state = read_execution_state(tree);
    if (!state) return;
    InstanceName instance{WorkloadName{workload}, WorkloadId{id}, AgentName{agent}};
    const Tree* spec = wanted.find(workload);
    std::string runtime =
        spec != nullptr && string_at(*spec, "agent") == agent ? string_at(*spec, "runtime") : "";
    rows.push_back({std::move(instance), std::move(runtime), *std::move(state)});
  };
  entries_at(complete_state, {{"workloadStates"}})
      .for_each([&](const std::string& agent, const Tree& workloads) {
        workloads.entries().for_each([&](const std::string& workload, const Tree& ids) {
          ids.entries().for_each(
              [&](const std::string& id, const Tree& state) { visit(agent, workload, id, state); });
        });
      });
  std::sort(rows.begin(), rows.end(), [](const WorkloadRow& a, const WorkloadRow& b) {
    return RowOrder()(a.instance, b.instance);
  });
  return rows;
}

std::optional<ExecutionState> state_of(const Tree& complete_state, const InstanceName& instance) {
  const auto found =
      get(complete_state,
          {{"workloadStates", instance.agent.value, instance.workload.value, instance.id.value}});
  return found ? read_execution_state(*found) : std::nullopt;
}

std::string runtime_of(const Tree& complete_state, const InstanceName& instance) {
  const auto wanted = get(complete_state, {{"desiredState", "workloads", instance.workload.value}});
  if (!wanted || string_at(*wanted, "agent") != instance.agent.value) return {};
  return string_at(*wanted, "runtime");
}

std::vector<std::string> agent_names(const Tree& complete_state) {
  std::vector<std::string> names;
  entries_at(complete_state, {{"agents"}}).for_each([&](const std::string& name, const Tree&) {
    names.push_back(name);
  });
  return names;
}

bool WorkloadFilter::accepts(const WorkloadRow& row) const {
  if (agent && *agent != row.instance.agent.value) return false;
  if (state && !equal_ignoring_case(*state, state_text(row.state))) return false;
  return names.empty() ||
         std::find(names.begin(), names.end(), row.instance.workload.value) != names.end();
}

std::string state_text(const ExecutionState& state) {
  return to_string(ExecutionState(state.phase));
}

std::string info_text(const ExecutionState& state) {
  return on_one_safe_line(state.additional_info);
}

Table workload_table(const std::vector<WorkloadRow>& rows) {
  Table table{{"WORKLOAD NAME", "AGENT", "RUNTIME", "EXECUTION STATE", "ADDITIONAL INFO"}, {}};
  for (const auto& row : rows)
    table.rows.push_back({row.instance.workload.value, row.instance.agent.value, row.runtime,
                          state_text(row.state), info_text(row.state)});
  return table;
}

Table agent_table(const Tree& complete_state) {
  Table table{{"NAME", "WORKLOADS", "CPU USAGE", "FREE MEMORY"}, {}};
  for (const auto& name : agent_names(complete_state)) {
    std::size_t workloads = 0;
    entries_at(complete_state, {{"workloadStates", name}})
        .for_each([&](const std::string&, const Tree& ids) { workloads += ids.entries().size(); });
    table.rows.push_back(
        {name, std::to_string(workloads),
         number_at(complete_state, {{"agents", name, "status", "cpuUsage"}}, "%"),
         number_at(complete_state, {{"agents", name, "status", "freeMemory"}}, "B")});
  }
  return table;
}

Table config_table(const Tree& complete_state) {
  Table table{{"CONFIG"}, {}};
  entries_at(complete_state, {{"desiredState", "configs"}})
      .for_each([&](const std::string& name, const Tree&) { table.rows.push_back({name}); });
  return table;
}

}  // namespace tiphys::cli
