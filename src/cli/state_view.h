#pragma once

// What commands look for in a complete state, which comes from a server and may lack anything.

#include <string>
#include <string_view>
#include <vector>

#include "model/names.h"
#include "model/path.h"
#include "model/tree.h"
#include "model/workload.h"

namespace tiphys::cli {

// Empty where there is no string.
std::string string_at(const Tree& tree, std::string_view key);
// Empty where there is no map.
Tree::Map entries_at(const Tree& tree, const Path& path);
std::vector<std::string> keys_at(const Tree& tree, const Path& path);

// The workload as it is sent to its agent, or as it is wanted where a server does not say that;
// none where nobody wants it.
WorkloadPtr wanted_workload(const Tree& complete_state, std::string_view name);
// The same, if that instance's agent shall run it.
WorkloadPtr wanted_workload(const Tree& complete_state, const InstanceName& instance);

// All workloads that are wanted or have a state, in order.
std::vector<std::string> workload_names(const Tree& complete_state);

// "owner=me,tier=front"
std::string tags_text(const Tags& tags);
// "running", "succeeded" or "failed"
std::string_view condition_text(AddCondition condition);

// On one line, without anything that would move a terminal's cursor.
std::string on_one_safe_line(std::string_view text);

}  // namespace tiphys::cli
