#include "core/workload/container_status.h"

#include "base/strings.h"

namespace tiphys::workload {

ExecutionState execution_state_of(const ContainerStatus& status) {
  switch (status.phase) {
    case ContainerPhase::kStarting:
      return ExecutionState(Phase::kPendingStarting, status.word);
    case ContainerPhase::kRunning:
      return ExecutionState(Phase::kRunningOk);
    case ContainerPhase::kExited:
      if (status.exit_code == 0) return ExecutionState(Phase::kSucceededOk);
      [[fallthrough]];
    case ContainerPhase::kDead:
      return ExecutionState(Phase::kFailedExecFailed,
                            concat("Exit code: '", std::to_string(status.exit_code), "'"));
    case ContainerPhase::kStopping:
      return ExecutionState(Phase::kStopping, status.word);
    case ContainerPhase::kUnknown:
      return ExecutionState(Phase::kFailedUnknown, status.word);
    case ContainerPhase::kGone:
      return ExecutionState(Phase::kFailedLost);
  }
  return ExecutionState(Phase::kFailedUnknown, status.word);
}

}  // namespace tiphys::workload
