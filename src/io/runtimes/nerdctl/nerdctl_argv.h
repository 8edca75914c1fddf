#pragma once

// The command lines of nerdctl that podman has not alike, without the program's name. Pure.

#include <span>

#include "io/runtimes/commands/container_arguments.h"

namespace tiphys::nerdctl {

using commands::Arguments;

// Both fail for a container that is not there, and say kNoSuchContainer (nerdctl_output.h).
Arguments stop_arguments(const shell::ContainerId& container);
Arguments rm_arguments(const shell::ContainerId& container);

// All containers of this namespace, whoever made them, with their whole ids.
Arguments ps_arguments();
// Fails as a whole when one of them is not there.
Arguments inspect_arguments(std::span<const shell::ContainerId> containers);

}  // namespace tiphys::nerdctl
