#pragma once

// Plays one recorded scenario against a server of ours and says where it answers otherwise.

#include <cstddef>
#include <map>
#include <string>

#include "json_messages.h"

namespace tiphys::vectors {

// Number of an expect step -> what came instead: {"messages": […], "closed": {"code", "message"}?}, with placeholders
// as in the files.
using Differences = std::map<std::size_t, Json>;

Differences replay(const Json& scenario);

// Messages in one form, so that equal ones are equal: lists without a meaning of their order are sorted.
Json normal(Json message);

// A stock server tells the states of all workloads to every agent again whenever one agent says hello; ours tells them
// to that agent alone. Takes these messages out of what the scenario expects; false when there are none.
bool forget_repeated_states(Json& scenario);

}  // namespace tiphys::vectors
