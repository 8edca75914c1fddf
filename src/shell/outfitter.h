#pragma once

// Puts beside a workload what its container is to see, before the container is made, and takes it away again. On the
// strand.

#include <functional>

#include "shell/equipment.h"
#include "shell/log.h"
#include "shell/workload_folders.h"

namespace tiphys::shell {

class Outfitter {
 public:
  Outfitter(WorkloadFolders& folders, Log& log) : folders_(folders), log_(log) {}

  // The error is what the state of the workload says.
  void prepare(const WorkloadSpecPtr& spec, std::function<void(Result<Equipment>)> sink);

  // What cannot be taken away is warned about and counts as gone: it stands in nobody's way.
  void clear_files(const InstanceName& instance, std::function<void()> done);
  void clear_all(const InstanceName& instance, std::function<void()> done);

 private:
  std::function<void(Status)> warned(const InstanceName& instance, std::function<void()> done);

  WorkloadFolders& folders_;
  Log& log_;
};

}  // namespace tiphys::shell
