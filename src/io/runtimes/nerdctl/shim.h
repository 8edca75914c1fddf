#pragma once

// containerd's shim keeps its containers: see commands/keeper.h and docs/decisions/0010-podman-exits.md.

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "io/runtimes/commands/keeper.h"

namespace tiphys::nerdctl {

// From its command line as the kernel shows it, with a zero byte after each argument, and the folder that it works in. Pure.
// Nothing when it is no shim. A shim leaves no exit code where it could be read.
std::optional<commands::Keeper> parse_shim(std::string_view command_line, std::string_view folder);

std::optional<commands::Keeper> read_shim(pid_t process);

}  // namespace tiphys::nerdctl
