#pragma once

// The execution states of all workloads, by agent, workload and id. A snapshot is a copy of one
// pointer.

#include <vector>

#include "model/execution_state.h"
#include "model/names.h"
#include "model/tree.h"

namespace tiphys {

class WorkloadStates {
 public:
  [[nodiscard]] const ExecutionState* find(const InstanceName& instance) const;
  [[nodiscard]] std::vector<WorkloadState> of_agent(const AgentName& agent) const;
  [[nodiscard]] std::vector<WorkloadState> of_all_but(const AgentName& agent) const;
  [[nodiscard]] bool has_others_than(const AgentName& agent) const;
  // All states of that workload, whatever the agent and the id.
  [[nodiscard]] std::vector<WorkloadState> of_workload(const WorkloadName& workload) const;

  // Pending(Initial), or NotScheduled without an agent; an instance that has a state keeps it.
  void add_initial(const std::vector<InstanceName>& instances);
  // Stores what was reported; Removed takes the entry away.
  void update(const WorkloadState& state);
  void remove(const InstanceName& instance);
  void mark_disconnected(const AgentName& agent);

  [[nodiscard]] const Tree::Map& tree() const { return by_agent_; }

  friend bool operator==(const WorkloadStates&, const WorkloadStates&) = default;

 private:
  void put(const InstanceName& instance, const ExecutionState& state);

  Tree::Map by_agent_;  // agent -> workload -> id -> ExecutionState
};

}  // namespace tiphys
