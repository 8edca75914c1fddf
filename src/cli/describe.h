#pragma once

// What `describe` says of a workload or an agent. Pure: all comes out of a complete state, but for
// the words on since when a state lasts.

#include <cstddef>
#include <map>
#include <string>

#include "base/result.h"
#include "model/names.h"
#include "model/tree.h"

namespace tiphys::cli {

// Instances that are not in it say nothing of that.
using SinceWhen = std::map<InstanceName, std::string>;

// Lines, none wider than `width` as long as a character fits. Fails for a name that nobody knows.
Result<std::string> describe_workload(const Tree& complete_state, const SinceWhen& since,
                                      const std::string& name, std::size_t width);
Result<std::string> describe_agent(const Tree& complete_state, const std::string& name,
                                   std::size_t width);

}  // namespace tiphys::cli
