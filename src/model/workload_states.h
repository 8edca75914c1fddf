#pragma once

// The execution states of all workloads, by agent, workload and id. A snapshot is a copy of one
// pointer.
//
// Every entry remembers when it came into its phase. Whoever wants to know that says what time it
// is with each change; for the others it is always the same time. States that differ in nothing
// else are equal.

#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "model/execution_state.h"
#include "model/names.h"
#include "model/tree.h"

namespace tiphys {

struct StateSince {
  InstanceName instance;
  Instant since;

  friend bool operator==(const StateSince&, const StateSince&) = default;
};

class WorkloadStates {
 public:
  [[nodiscard]] const ExecutionState* find(const InstanceName& instance) const;
  [[nodiscard]] std::vector<WorkloadState> of_agent(const AgentName& agent) const;
  [[nodiscard]] std::vector<WorkloadState> of_all_but(const AgentName& agent) const;
  [[nodiscard]] bool has_others_than(const AgentName& agent) const;
  // All states of that workload, whatever the agent and the id.
  [[nodiscard]] std::vector<WorkloadState> of_workload(const WorkloadName& workload) const;

  // Since when the instances of these workloads are in their phases; of all workloads when none is
  // named.
  [[nodiscard]] std::vector<StateSince> since(const std::set<std::string>& workloads) const;

  // Pending(Initial), or NotScheduled without an agent; an instance that has a state keeps it.
  void add_initial(const std::vector<InstanceName>& instances, Instant now = {});
  // Stores what was reported; Removed takes the entry away. The same phase once more, be it with
  // other information, is still the phase of before.
  void update(const WorkloadState& state, Instant now = {});
  void remove(const InstanceName& instance);
  void mark_disconnected(const AgentName& agent, Instant now = {});

  [[nodiscard]] const Tree::Map& tree() const { return by_agent_; }

  friend bool operator==(const WorkloadStates&, const WorkloadStates&) = default;

 private:
  void put(const InstanceName& instance, const ExecutionState& state, Instant now);

  Tree::Map by_agent_;  // agent -> workload -> id -> ExecutionState
};

}  // namespace tiphys
