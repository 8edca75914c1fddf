#pragma once

// What workloads wait for: no cycle is accepted into the wanted state, and a workload that others run on is not taken
// away under them.

#include <map>
#include <string>
#include <vector>

#include "model/state.h"
#include "model/workload.h"

namespace tiphys::server {

// A cycle among the dependencies of the workloads that can be reached from the given ones, which are in ascending
// order: the names along it, or nothing. What the workloads wait for is taken from `wanted`; names that it does not
// hold wait for nobody. The first name is the one that peers expect to be told.
std::vector<std::string> find_cycle(const State& wanted, const std::vector<std::string>& starts);

// For every workload: who waits for it to run, and so has to stop before it is deleted.
class DeleteGraph {
 public:
  void added(const WorkloadSpec& spec);
  // An instance of the workload is gone. Of its dependents only those stay that still wait for it in what is effective.
  void removed(const std::string& workload, const Tree::Map& effective_workloads);

  [[nodiscard]] std::map<std::string, DeleteCondition> conditions_of(
      const std::string& workload) const;

 private:
  std::map<std::string, std::map<std::string, DeleteCondition>> dependents_;
};

}  // namespace tiphys::server
