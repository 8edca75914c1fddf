#pragma once

// What an engine says of a container, in words that all engines share, and what that means for a workload.

#include <cstdint>
#include <string>

#include "model/execution_state.h"

namespace tiphys::workload {

enum class ContainerPhase : std::uint8_t {
  kStarting,  // made, not running yet
  kRunning,
  kExited,
  kDead,  // ended badly, whatever its exit code says
  kStopping,
  kUnknown,  // paused, or a word that we do not know
  kGone,     // the engine does not know it any more
};

struct ContainerStatus {
  ContainerPhase phase = ContainerPhase::kUnknown;
  std::string word;  // the engine's own
  int exit_code = 0;
  bool out_of_memory = false;

  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

ExecutionState execution_state_of(const ContainerStatus& status);

}  // namespace tiphys::workload
