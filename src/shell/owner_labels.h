#pragma once

// The labels by which containers are found again.
//
// Workloads of Ankaios carry the labels that every Ankaios gives them, and no others, so that one agent adopts what
// another version left: `name` (the instance) and `agent`. All other parts of Tiphys use labels of their own:
// `tiphys.owner` (the part) and `tiphys.agent`.

#include <map>
#include <string>

#include "shell/engine.h"

namespace tiphys::shell {

inline constexpr const char* kAnkaiosPart = "ankaios";
inline constexpr const char* kInstanceLabel = "name";
inline constexpr const char* kAnkaiosAgentLabel = "agent";
inline constexpr const char* kOwnerLabel = "tiphys.owner";
inline constexpr const char* kAgentLabel = "tiphys.agent";

using Labels = std::map<std::string, std::string>;

// What an engine adds to the labels of a container.
Labels owner_labels(const Owner& owner);

bool belongs_to(const Labels& labels, const Owner& owner);

}  // namespace tiphys::shell
