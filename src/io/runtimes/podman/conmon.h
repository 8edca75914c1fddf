#pragma once

// conmon keeps podman's containers: see commands/keeper.h and docs/decisions/0010-podman-exits.md.

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "io/runtimes/commands/keeper.h"

namespace tiphys::podman {

// Reads a command line as the kernel shows it, with a zero byte after each argument. Pure. Nothing when it is not that of
// a conmon of a container; the conmon of `podman exec` is none.
std::optional<commands::Keeper> parse_conmon(std::string_view command_line);

std::optional<commands::Keeper> read_conmon(pid_t process);

}  // namespace tiphys::podman
