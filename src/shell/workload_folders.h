#pragma once

// The folders port: each workload of an agent has a folder `<workload>.<id>` in the agent's run folder, for its files and
// for the pipes of its control interface. Every answer comes on the strand, exactly once; what is asked for one instance
// happens in the order in which it was asked.

#include <functional>
#include <vector>

#include "base/result.h"
#include "model/workload.h"
#include "shell/equipment.h"

namespace tiphys::shell {

class WorkloadFolders {
 public:
  virtual ~WorkloadFolders() = default;

  // Writes the files of the workload over what is there, and tells how they are to be mounted. The error is what its
  // state says; nothing of the files is left then.
  virtual void write_files(WorkloadSpecPtr spec,
                           std::function<void(Result<std::vector<Mount>>)> sink) = 0;
  // A folder that is missing counts as removed.
  virtual void remove_files(const InstanceName& instance, std::function<void(Status)> sink) = 0;
  virtual void remove(const InstanceName& instance, std::function<void(Status)> sink) = 0;
};

}  // namespace tiphys::shell
