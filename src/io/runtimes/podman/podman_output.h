#pragma once

// What podman prints, as values. Pure. Fields that a version adds or leaves out do not matter, and one odd container
// spoils nothing but itself.

#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/runtimes/commands/engine_output.h"
#include "shell/engine.h"

namespace tiphys::podman {

// The additional information of a workload whose state podman did not tell.
inline constexpr const char* kListingFailed = "Error getting state from Podman.";

using commands::ListedContainer;

// The answer of `podman ps --all --format=json`. An entry without an id is left out: nobody could ask for it. One whose
// exit code is no exit code is there, in a state that nobody knows.
Result<std::vector<ListedContainer>> parse_ps(std::string_view output);

// What a state word of podman means, whatever its case.
shell::ContainerStatus status_of(std::string_view word, int exit_code);

}  // namespace tiphys::podman
