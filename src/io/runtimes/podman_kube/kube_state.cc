#include "io/runtimes/podman_kube/kube_state.h"

#include <algorithm>
#include <iterator>

namespace tiphys::kube {
namespace {

using workload::ContainerPhase;
using workload::ContainerStatus;

enum class Kind : std::uint8_t { kFailed, kStarting, kUnknown, kRunning, kStopping, kSucceeded };

Kind kind_of(const ContainerStatus& status) {
  switch (status.phase) {
    case ContainerPhase::kStarting:
      return Kind::kStarting;
    case ContainerPhase::kRunning:
      return Kind::kRunning;
    case ContainerPhase::kExited:
      return status.exit_code == 0 ? Kind::kSucceeded : Kind::kFailed;
    case ContainerPhase::kDead:
      return Kind::kFailed;
    case ContainerPhase::kStopping:
      return Kind::kStopping;
    case ContainerPhase::kUnknown:
    case ContainerPhase::kGone:
      return Kind::kUnknown;
  }
  return Kind::kUnknown;
}

// [impl->swdd~podman-kube-state-getter-maps-state~2]
// [impl->swdd~podman-kube-state-getter-combines-states~2]
ExecutionState state_of(Kind kind, const ContainerStatus& status) {
  switch (kind) {
    case Kind::kFailed:
      return execution_state_of(status);
    case Kind::kStarting:
      return ExecutionState(Phase::kPendingStarting, "starting container");
    case Kind::kUnknown:
      return ExecutionState(Phase::kFailedUnknown, "unknown container state");
    case Kind::kRunning:
      return ExecutionState(Phase::kRunningOk);
    case Kind::kStopping:
      return ExecutionState(Phase::kStopping, kStoppingInfo);
    case Kind::kSucceeded:
      return ExecutionState(Phase::kSucceededOk);
  }
  return ExecutionState(Phase::kFailedUnknown);
}

}  // namespace

// [impl->swdd~podman-kube-state-getter-uses-container-states~1]
// [impl->swdd~podman-kube-state-getter-removed-if-no-container~1]
// [impl->swdd~podman-kube-state-getter-treats-missing-pods-as-unknown~1]
ExecutionState kube_state(const std::vector<std::string>& pods, const ContainersByPod& containers) {
  std::vector<ContainerStatus> found;
  bool is_pod_missing = false;
  for (const auto& pod : pods) {
    const auto own = containers.find(pod);
    if (own != containers.end())
      found.insert(found.end(), own->second.begin(), own->second.end());
    else
      is_pod_missing = true;
  }
  if (found.empty()) return ExecutionState(Phase::kRemoved);
  if (is_pod_missing) found.push_back({ContainerPhase::kUnknown, {}, 0, false});
  const auto first = std::min_element(found.begin(), found.end(),
                                      [](const ContainerStatus& one, const ContainerStatus& other) {
                                        return kind_of(one) < kind_of(other);
                                      });
  return state_of(kind_of(*first), *first);
}

}  // namespace tiphys::kube
