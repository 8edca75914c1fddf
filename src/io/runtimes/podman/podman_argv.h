#pragma once

// The command lines of podman that nerdctl has not alike, without the program's name. Pure.

#include "io/runtimes/commands/container_arguments.h"

namespace tiphys::podman {

using commands::Arguments;

// A container that is not there is no failure of either.
Arguments stop_arguments(const shell::ContainerId& container);
Arguments rm_arguments(const shell::ContainerId& container);
// All containers of this user, whoever made them.
Arguments ps_arguments();

}  // namespace tiphys::podman
