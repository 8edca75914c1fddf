#pragma once

// What podman prints, as values. Pure. Fields that a version adds or leaves out do not matter, and one odd container
// spoils nothing but itself.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shell/engine.h"

namespace tiphys::podman {

// The additional information of a workload whose state podman did not tell.
inline constexpr const char* kListingFailed = "Error getting state from Podman.";

struct ListedContainer {
  shell::Container container;
  pid_t pid = 0;  // of its first process; 0 when it does not run
};

// The answer of `podman ps --all --format=json`. An entry without an id is left out: nobody could ask for it. One whose
// exit code is no exit code is there, in a state that nobody knows.
Result<std::vector<ListedContainer>> parse_ps(std::string_view output);

// What a state word of podman means, whatever its case.
shell::ContainerStatus status_of(std::string_view word, int exit_code);

// The answer of `podman run` and `podman create`: one id.
Result<shell::ContainerId> parse_id(std::string_view output);

}  // namespace tiphys::podman
