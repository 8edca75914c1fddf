#pragma once

// What the runtime config of a workload says that is one container. Pure.
//
//   image: docker.io/library/nginx      mandatory
//   generalOptions: [--log-level=warn]  before the engine's command
//   commandOptions: [-p, "8080:80"]     of `run`
//   commandArgs: [nginx, -g, daemon]    for the image
//
// Read as leniently as every Ankaios reads it: any scalar counts as the text that was written, a list without a value is
// empty, other keys are ignored.

#include <string_view>

#include "model/workload.h"
#include "shell/engine.h"
#include "shell/runtime.h"

namespace tiphys::commands {

// A failure names the line, and will not go away by itself.
shell::CreateResult<shell::ContainerSpec> read_container_config(const WorkloadSpec& spec);

}  // namespace tiphys::commands
