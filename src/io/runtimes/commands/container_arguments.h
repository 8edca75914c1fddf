#pragma once

// The command lines that podman and nerdctl have in common, without the program's name. Pure. The order of arguments is the
// one that every Ankaios uses: a later option of the user wins over ours, and the labels win over the user's.

#include <string>
#include <string_view>
#include <vector>

#include "shell/engine.h"

namespace tiphys::commands {

using Arguments = std::vector<std::string>;

Arguments run_arguments(const shell::Owner& owner, const shell::ContainerSpec& spec);
// As run, but not started.
Arguments create_arguments(const shell::Owner& owner, const shell::ContainerSpec& spec);
Arguments start_arguments(const std::vector<std::string>& general_options,
                          const shell::ContainerId& container);
Arguments kill_arguments(const shell::ContainerId& container, int signal);

// podman "run" "--detach" …: how error messages show a command, every argument as it is.
std::string shown(std::string_view program, const Arguments& arguments);

}  // namespace tiphys::commands
