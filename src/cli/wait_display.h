#pragma once

// What `ank` shows while the workloads of an update come to rest. Pure: it is told states and ticks,
// and answers with text and whether all have arrived.
//
//   state          is final for what was added               is final for what was deleted
//   Running, Succeeded, Failed, NotScheduled,
//   Pending(StartingFailed)              yes                 no
//   AgentDisconnected, Removed           yes                 yes
//   any, on an agent that is not connected  yes              yes

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/table.h"
#include "cli/workload_table.h"
#include "model/messages.h"
#include "model/tree.h"

namespace tiphys::cli {

// What an update changed.
struct ChangedWorkloads {
  std::vector<InstanceName> added;
  std::vector<InstanceName> deleted;

  [[nodiscard]] bool empty() const { return added.empty() && deleted.empty(); }
};

// The names come from a server. Only their form is checked: they are shown and compared.
Result<ChangedWorkloads> read_changed_workloads(const UpdateStateSuccess& success);

class WaitDisplay {
 public:
  // `before` and `after` are the complete states around the update.
  WaitDisplay(const ChangedWorkloads& changed, const Tree& before, const Tree& after,
              bool on_terminal);

  // What is told of other workloads is ignored. True when something was of interest.
  bool update(const UpdateWorkloadState& update);
  // To be called at the beginning and then ten times a second.
  void tick() { ++ticks_; }
  [[nodiscard]] bool done() const;
  // The table as it stands, with all that a terminal needs to show it in the place of the last one.
  std::string print(std::size_t width);

 private:
  enum class Change : std::uint8_t { kAdded, kDeleted };
  struct Entry {
    Change change = Change::kAdded;
    bool is_agent_connected = false;
    std::string runtime;
    ExecutionState state;
  };

  static bool is_final(const Entry& entry);
  void watch(const InstanceName& instance, Change change, const Tree& before, const Tree& after);

  Reprinter reprinter_;
  std::map<InstanceName, Entry, RowOrder> entries_;
  std::size_t ticks_ = 0;
};

}  // namespace tiphys::cli
