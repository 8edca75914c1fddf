#pragma once

// What the `get` commands show of a complete state: workloads, agents and configs as tables.

#include <optional>
#include <string>
#include <vector>

#include "cli/table.h"
#include "model/execution_state.h"
#include "model/names.h"
#include "model/tree.h"

namespace tiphys::cli {

struct WorkloadRow {
  InstanceName instance;
  std::string runtime;  // empty when the wanted state has no such workload on that agent
  ExecutionState state;
};

// The order of rows: by workload, then agent, then id.
struct RowOrder {
  bool operator()(const InstanceName& a, const InstanceName& b) const;
};

// All workload states of a complete state, in order. A state that nobody knows is left out.
std::vector<WorkloadRow> workload_rows(const Tree& complete_state);
std::optional<ExecutionState> state_of(const Tree& complete_state, const InstanceName& instance);
// The runtime that the wanted state gives that workload on that agent; empty without one.
std::string runtime_of(const Tree& complete_state, const InstanceName& instance);
// The names of the connected agents, in order.
std::vector<std::string> agent_names(const Tree& complete_state);

// All that is set has to agree.
struct WorkloadFilter {
  std::optional<std::string> agent;
  std::optional<std::string> state;  // as the table shows it, in any case
  std::vector<std::string> names;    // none: all

  [[nodiscard]] bool accepts(const WorkloadRow& row) const;
};

// "Running(Ok)", without the additional information.
std::string state_text(const ExecutionState& state);
// The additional information on one line, without anything that would move a terminal's cursor.
std::string info_text(const ExecutionState& state);

Table workload_table(const std::vector<WorkloadRow>& rows);
Table agent_table(const Tree& complete_state);
Table config_table(const Tree& complete_state);

}  // namespace tiphys::cli
