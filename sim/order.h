#pragma once

// Whether an agent keeps the order that dependencies ask for: nothing starts before what it needs is there, and nothing
// stops before those that need it have stopped. Looks at what the agent is told and at what it says. What was decided may
// be carried out later, when a call to the engine has ended, so what counts is whether the time had come since it was
// asked for.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/messages.h"
#include "model/workload_states.h"
#include "sim/world.h"

namespace tiphys::sim {

class OrderChecker {
 public:
  OrderChecker(World& world, std::string agent) : world_(world), agent_(std::move(agent)) {}

  // The agent has died; its next life begins from nothing.
  void forget();
  void received(const FromServer& message);
  // After every step: what the agent knows of all workloads now.
  void look_at(const WorkloadStates& known);
  void reported(const WorkloadState& state, const WorkloadStates& known);

  // Has the agent ever spoken of more than waiting? If not, a listing that failed may have kept a container from it.
  [[nodiscard]] bool has_had(const InstanceName& instance) const { return had_.contains(instance); }
  // Is what there is of that workload to be deleted as soon as others let it go? It may be another instance.
  [[nodiscard]] bool is_held(const InstanceName& instance, const WorkloadStates& known) const;

 private:
  struct Wanted {
    std::vector<WorkloadSpecPtr> specs;  // all that was ever asked for under that name
    bool could_start = false;            // at some time since it was asked for last
    bool was_deleted = false;            // since then
  };

  struct Deletion {
    DeletedWorkload deleted;
    bool could_stop = false;  // at some time since it was asked for
  };

  [[nodiscard]] bool may_start_already(const WorkloadSpec& spec) const;
  void want(const WorkloadSpecPtr& spec);
  void consider(const WorkloadStates& states);
  void consider_heard(const WorkloadStates& known);
  void check_start(const InstanceName& instance, const WorkloadStates& known);
  void check_stop(const InstanceName& instance, const WorkloadStates& known);

  World& world_;
  const std::string agent_;
  std::map<InstanceName, Wanted> wanted_;
  std::map<std::string, Deletion> deletions_;    // the newest, by workload
  std::map<InstanceName, ExecutionState> last_;  // what was said of each
  std::set<InstanceName> had_;                   // those that did more than wait
  WorkloadStates now_;
};

}  // namespace tiphys::sim
