#pragma once

// What the containers of a workload's pods mean for the workload. Pure.

#include <string>
#include <vector>

#include "io/runtimes/commands/command_engine.h"
#include "model/execution_state.h"

namespace tiphys::kube {

using commands::ContainersByPod;

inline constexpr const char* kStoppingInfo = "stopping container";

// The containers' state that comes first in the table, infra containers included. A pod that is not there counts as a
// container in a state that nobody knows, unless all are gone: then so is the workload.
ExecutionState kube_state(const std::vector<std::string>& pods, const ContainersByPod& containers);

}  // namespace tiphys::kube
