#pragma once

// The folders of the workloads of one node, on a disk that outlives the agent. While faults are on it is slow, and full
// now and then: files cannot be written then, and what is to be removed stays.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shell/workload_folders.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::sim {

class FakeFolders final : public shell::WorkloadFolders {
 public:
  FakeFolders(World& world, std::string node) : world_(world), node_(std::move(node)) {}

  // The process that asks and is answered; what it asked for and has not got goes with it.
  void attach(Process* process);

  // By name: <workload>.<id>
  [[nodiscard]] const std::set<std::string>& folders() const { return folders_; }
  [[nodiscard]] bool has_files(const InstanceName& instance) const;
  [[nodiscard]] bool ever_failed(const InstanceName& instance) const;

  void write_files(WorkloadSpecPtr spec,
                   std::function<void(Result<std::vector<shell::Mount>>)> sink) override;
  void remove_files(const InstanceName& instance, std::function<void(Status)> sink) override;
  void remove(const InstanceName& instance, std::function<void(Status)> sink) override;

 private:
  // After a while, and after what was asked before for the same folder.
  void later(const std::string& folder, std::function<void()> task);

  World& world_;
  const std::string node_;
  Process* process_ = nullptr;
  std::map<std::string, Instant> busy_until_;  // by folder
  std::set<std::string> folders_;
  std::set<std::string> with_files_;
  std::set<std::string> failed_;
};

}  // namespace tiphys::sim
