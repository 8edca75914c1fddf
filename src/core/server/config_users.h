#pragma once

// Which workloads use which config item, so that a changed item leads to its workloads without a look at all others.

#include <map>
#include <set>
#include <string>

#include "model/tree.h"

namespace tiphys::server {

class ConfigUsers {
 public:
  // Follows the workloads of the wanted state from one snapshot to the next.
  void follow(const Tree::Map& before, const Tree::Map& after);

  // The names of the workloads that map the item to an alias.
  [[nodiscard]] const std::set<std::string>& of(const std::string& config) const;

 private:
  std::map<std::string, std::set<std::string>> users_;
};

}  // namespace tiphys::server
