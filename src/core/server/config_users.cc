#include "core/server/config_users.h"

#include "model/workload.h"

namespace tiphys::server {

void ConfigUsers::follow(const Tree::Map& before, const Tree::Map& after) {
  Tree::Map::difference(
      before, after,
      [&](const std::string& name, const Tree* old_workload, const Tree* new_workload) {
        if (old_workload != nullptr)
          for (const auto& [alias, config] : old_workload->object<Workload>()->configs) {
            const auto entry = users_.find(config);
            if (entry == users_.end()) continue;  // named by two aliases
            entry->second.erase(name);
            if (entry->second.empty()) users_.erase(entry);
          }
        if (new_workload != nullptr)
          for (const auto& [alias, config] : new_workload->object<Workload>()->configs)
            users_[config].insert(name);
      });
}

const std::set<std::string>& ConfigUsers::of(const std::string& config) const {
  static const std::set<std::string> kNobody;
  const auto entry = users_.find(config);
  return entry == users_.end() ? kNobody : entry->second;
}

}  // namespace tiphys::server
