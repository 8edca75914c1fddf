#pragma once

// Whether workloads have got where `wait` waits for them. Pure: it is told states.
//
//   goal        a workload is there when                           and cannot get there any more when
//   running     all its instances but those that stop are Running  Succeeded (unless ALWAYS), Failed (with NEVER)
//   succeeded   … Succeeded; once is enough                        Failed (with NEVER)
//   failed      … Failed; once is enough                           Succeeded (unless ALWAYS)
//   removed     nobody wants it and no instance is left            never
//
// The first three cannot come any more either when the workload is deleted, has no agent, or was tried to be started too
// often. Failed(Unknown) rules nothing out: it says that the runtime could not tell.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/workload_table.h"
#include "model/messages.h"
#include "model/tree.h"
#include "model/workload.h"

namespace tiphys::cli {

class GoalWatch {
 public:
  // The first complete state. Fails for a name that nobody knows, unless it shall be removed.
  static Result<GoalWatch> make(const WaitFor& what, const Tree& complete_state);

  // A later complete state, which takes the place of all that was known.
  void refresh(const Tree& complete_state);
  // False when only a complete state can tell how things stand now.
  [[nodiscard]] bool update(const UpdateWorkloadState& update);

  // All are there.
  [[nodiscard]] bool has_arrived() const;
  // One of them cannot get there any more, so that all cannot.
  [[nodiscard]] bool is_hopeless() const;

  // Of what is waited for, in order.
  [[nodiscard]] std::vector<WorkloadRow> rows() const;
  // "web is running", of those that are there.
  [[nodiscard]] std::vector<std::string> arrived() const;
  // "db: Pending(Initial) on agent_A", of those that are not, with all that is known of them.
  [[nodiscard]] std::vector<std::string> missing() const;
  // One of those that are not there, of which there must be one: the first that cannot get there any more, else the first.
  [[nodiscard]] const std::string& most_telling() const;

 private:
  struct Entry {
    WorkloadPtr wanted;
    std::map<InstanceName, ExecutionState, RowOrder> instances;
    bool is_agent_connected = false;
    bool has_been_there = false;  // for goals that pass

    // Those that may get there: of the agent that shall run it, and not about to stop.
    [[nodiscard]] std::vector<const ExecutionState*> candidates() const;
  };

  explicit GoalWatch(WaitFor::Goal goal) : goal_(goal) {}
  [[nodiscard]] bool is_goal(Phase phase) const;
  [[nodiscard]] bool is_there_now(const Entry& entry) const;
  [[nodiscard]] bool is_there(const Entry& entry) const;
  // Why it cannot get there any more.
  [[nodiscard]] std::optional<std::string> obstacle(const Entry& entry) const;
  void remember();

  WaitFor::Goal goal_;
  std::vector<std::string> names_;  // as they were given, none twice
  std::map<std::string, Entry> entries_;
};

// "running", "succeeded", "failed", "removed"
std::string_view to_string(WaitFor::Goal goal);

}  // namespace tiphys::cli
