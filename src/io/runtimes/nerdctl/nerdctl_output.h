#pragma once

// What nerdctl prints, as values. Pure. Fields that a version adds or leaves out do not matter, and one odd container spoils
// nothing but itself.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/runtimes/commands/engine_output.h"
#include "shell/owner_labels.h"

namespace tiphys::nerdctl {

using commands::ListedContainer;

// The additional information of a workload whose state nerdctl did not tell.
inline constexpr const char* kListingFailed = "Error getting state from Nerdctl.";

inline constexpr const char* kNoSuchContainer = "no such container";

struct PsEntry {
  shell::ContainerId id;
  std::string name;
  shell::Labels
      labels;  // what looks like one: nerdctl joins them by commas, which values may hold too
  bool is_created = false;

  friend bool operator==(const PsEntry&, const PsEntry&) = default;
};

// The answer of `nerdctl ps --all --no-trunc --format=json`: one object in each line, and nothing at all when there are no
// containers. Those that no agent can have made are left out, for nobody asks for them, and so are those without an id.
Result<std::vector<PsEntry>> parse_ps(std::string_view output);

// The answer of `nerdctl inspect` about some of the entries; what it does not tell of is gone. A container whose exit code is
// no exit code is there, in a state that nobody knows.
Result<std::vector<ListedContainer>> parse_inspect(std::string_view output,
                                                   const std::vector<PsEntry>& entries);

// Of a `nerdctl ps` or `inspect` that failed: because a container is not there, or goes just then? And is it this one?
bool says_not_there(std::string_view error);
bool says_not_there(std::string_view error, const shell::ContainerId& container);

// What a state word of nerdctl means, whatever its case.
shell::ContainerStatus status_of(std::string_view word, int exit_code);

}  // namespace tiphys::nerdctl
