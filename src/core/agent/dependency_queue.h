#pragma once

// Holds operations back until the workloads that they depend on are in the right state. Pure.
//
//   operation   may create   may delete   answer
//   Create      yes          -            ready
//   Create      no           -            waits; the new instance is Pending(WaitingToStart)
//   Update      -            no           waits; the old instance is Stopping(WaitingToStop)
//   Update      no           yes          ready to delete only; the creation waits, Pending(WaitingToStart)
//   Update      yes          yes          ready; with dependents as the row above, its creation ready right after
//   Delete      -            yes          ready
//   Delete      -            no           waits; Stopping(WaitingToStop)
//
// One operation of a name waits at most: whatever arrives for that name takes the place of what waited. Waiting costs
// nothing: an operation is looked at again only when a workload that it waits for has a new state.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/workload/control_loop.h"
#include "model/workload.h"
#include "model/workload_states.h"

namespace tiphys::agent {

// With `reuse`, by starting that ended container again.
struct CreateWorkload {
  WorkloadSpecPtr spec;
  std::optional<workload::ContainerId> reuse;
};
struct ChangeWorkload {
  WorkloadSpecPtr spec;
  DeletedWorkload old;
};
// The first half of a change whose second half waits.
struct ClearWorkload {
  InstanceName old;
};
struct DeleteWorkload {
  DeletedWorkload old;
};
using Operation = std::variant<CreateWorkload, ChangeWorkload, ClearWorkload, DeleteWorkload>;

const std::string& workload_of(const Operation& operation);
// What is to be created, if anything is.
WorkloadSpecPtr spec_of(const Operation& operation);

// [impl->swdd~workload-ready-to-create-on-fulfilled-dependencies~1]
bool may_create(const WorkloadSpec& spec, const WorkloadStates& states);
// [impl->swdd~workload-ready-to-delete-on-fulfilled-dependencies~1]
bool may_delete(const DeletedWorkload& old, const WorkloadStates& states);

class DependencyQueue {
 public:
  struct Answer {
    std::vector<WorkloadState> waiting;  // to be reported
    std::vector<Operation> ready;        // to be executed, in this order, after the reports
  };

  // What waited under that name must have been dropped.
  void arrive(Operation operation, const WorkloadStates& states, Answer& answer);
  // After a new state of that workload.
  void reconsider(const std::string& workload, const WorkloadStates& states, Answer& answer);

  // Takes away what waits under that name, if anything does.
  std::optional<Operation> drop(const std::string& workload);

  [[nodiscard]] bool waits(const std::string& workload) const {
    return entries_.contains(workload);
  }
  // The spec that waits to be created, if one does.
  [[nodiscard]] WorkloadSpecPtr waiting_spec(const std::string& workload) const;
  // The instance that the operation which waits is about: the new one, or the one to be deleted.
  [[nodiscard]] const InstanceName& waiting_instance(const std::string& workload) const;
  // Is that ended container to be started again by an operation that waits?
  [[nodiscard]] bool keeps(const std::string& runtime, const InstanceName& instance,
                           const workload::ContainerId& container) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  // A ClearWorkload never waits. A change whose old instance went already has `cleared` set.
  struct Entry {
    Operation operation;
    bool cleared = false;
  };

  void decide(Operation operation, const WorkloadStates& states, bool is_new, Answer& answer);
  void wait(Operation operation, bool cleared);

  std::map<std::string, Entry> entries_;                      // by workload
  std::map<std::string, std::set<std::string>> waiting_for_;  // workload -> who waits for it
};

}  // namespace tiphys::agent
