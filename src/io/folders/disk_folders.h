#pragma once

// The folders of an agent's workloads on the disk: <agent folder>/<workload>.<id>, with `files` in it. Nothing outside the
// folder of a workload is touched, whatever names, links or pipes somebody put there.
//
// The disk is waited for by workers. What is asked for one workload is done in order, what is asked for different ones at
// the same time.

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shell/workers.h"
#include "shell/workload_folders.h"

namespace tiphys::folders {

class DiskFolders final : public shell::WorkloadFolders {
 public:
  // The folder has to be there, but may get lost: it is made anew then. It stands in mounts, so its path begins at the root.
  DiskFolders(shell::Workers& workers, std::string agent_folder);

  void write_files(WorkloadSpecPtr spec,
                   std::function<void(Result<std::vector<shell::Mount>>)> sink) override;
  void remove_files(const InstanceName& instance, std::function<void(Status)> sink) override;
  void remove(const InstanceName& instance, std::function<void(Status)> sink) override;

 private:
  struct Job {
    std::function<void()> work;
    std::function<void()> done;
  };

  // The answer of `work` goes to the sink once what was asked before for the same folder is done.
  template <class Answer>
  void run(const std::string& folder, std::function<Answer()> work,
           std::function<void(Answer)> sink);
  void begin(const std::string& folder);

  shell::Workers& workers_;
  const std::string agent_folder_;
  std::map<std::string, std::deque<Job>> jobs_;  // by folder; the first of each is under way
};

}  // namespace tiphys::folders
