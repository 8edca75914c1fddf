#pragma once

// The scripted servers that the recorded cases describe in prose, by the first words of a case's name.

#include <optional>
#include <string>

#include "cli/test_server.h"

namespace tiphys::cli {

// None for a case that nobody has written a script for.
std::optional<Script> script_of(const std::string& case_name);

// A server that was started with that manifest and only answers questions. It knows what the templates of the recorded
// manifests stand for, which our server's machine cannot work out yet.
Script reading(const std::string& manifest);

}  // namespace tiphys::cli
