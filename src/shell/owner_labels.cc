#include "shell/owner_labels.h"

#include <algorithm>

namespace tiphys::shell {

Labels owner_labels(const Owner& owner) {
  if (owner.part == kAnkaiosPart) return {{kAnkaiosAgentLabel, owner.agent.value}};
  return {{kOwnerLabel, owner.part}, {kAgentLabel, owner.agent.value}};
}

bool belongs_to(const Labels& labels, const Owner& owner) {
  // Somebody may label a container of another part with an agent's name.
  if (owner.part == kAnkaiosPart && labels.contains(kOwnerLabel)) return false;
  const Labels owned = owner_labels(owner);
  return std::all_of(owned.begin(), owned.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

}  // namespace tiphys::shell
