#include "core/server/dependencies.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tiphys::server {

// Depth first, without recursion: a chain may be as long as the state. Each workload is entered once.
// [impl->swdd~cycle-detection-stops-on-the-first-cycle~1]
// [impl->swdd~cycle-detection-ignores-non-existing-workloads~1]
std::vector<std::string> find_cycle(const State& wanted, const std::vector<std::string>& starts) {
  enum class Mark : std::uint8_t { kOnPath, kDone };
  std::map<std::string, Mark> marks;
  std::vector<std::string> path;
  std::vector<std::string> stack;
  for (const auto& start : starts) {
    stack.assign(1, start);
    while (!stack.empty()) {
      const std::string name = stack.back();
      const WorkloadPtr workload = wanted.workload(name);
      if (workload == nullptr) {
        stack.pop_back();
        continue;
      }
      const auto [mark, is_new] = marks.emplace(name, Mark::kOnPath);
      if (!is_new) {
        stack.pop_back();
        if (mark->second == Mark::kOnPath) {
          mark->second = Mark::kDone;
          path.pop_back();
        }
        continue;
      }
      path.push_back(name);
      for (const auto& [dependency, condition] : workload->dependencies)
        if (const auto known = marks.find(dependency);
            known != marks.end() && known->second == Mark::kOnPath)
          return {std::find(path.begin(), path.end(), dependency), path.end()};
      for (const auto& [dependency, condition] : workload->dependencies)
        if (!marks.contains(dependency)) stack.push_back(dependency);
    }
  }
  return {};
}

// [impl->swdd~server-state-stores-delete-condition~1]
void DeleteGraph::added(const WorkloadSpec& spec) {
  for (const auto& [dependency, condition] : spec.workload().dependencies)
    if (condition == AddCondition::kRunning)
      dependents_[dependency][spec.instance().workload.value] =
          DeleteCondition::kNotPendingNorRunning;
}

// [impl->swdd~server-removes-obsolete-delete-graph-entires~1]
void DeleteGraph::removed(const std::string& workload, const Tree::Map& effective_workloads) {
  const auto entry = dependents_.find(workload);
  if (entry == dependents_.end()) return;
  std::erase_if(entry->second, [&](const auto& dependent) {
    const Tree* found = effective_workloads.find(dependent.first);
    if (found == nullptr) return true;
    const auto& dependencies = found->object<WorkloadSpec>()->workload().dependencies;
    const auto condition = dependencies->find(workload);
    return condition == dependencies.end() || condition->second != AddCondition::kRunning;
  });
  if (entry->second.empty()) dependents_.erase(entry);
}

std::map<std::string, DeleteCondition> DeleteGraph::conditions_of(
    const std::string& workload) const {
  const auto entry = dependents_.find(workload);
  return entry == dependents_.end() ? std::map<std::string, DeleteCondition>() : entry->second;
}

}  // namespace tiphys::server
