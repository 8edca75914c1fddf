#pragma once

// The order in which stock writes the keys of a state and of an event; names that users give come after these, ascending.

#include <array>
#include <string_view>

namespace tiphys::cli {

inline constexpr std::array<std::string_view, 26> kStateKeys{
    "desiredState",   "workloadStates", "agents",
    "effectiveState", "apiVersion",     "workloads",
    "status",         "type",           "operation",
    "filterMasks",    "workloadNames",  "mountPoint",
    "data",           "binaryData",     "agent",
    "restartPolicy",  "dependencies",   "tags",
    "runtime",        "runtimeConfig",  "controlInterfaceAccess",
    "configs",        "files",          "allowRules",
    "denyRules",      "additionalInfo"};

}  // namespace tiphys::cli
