#pragma once

// The environment's variables, as something that a test can hand in.

#include <functional>
#include <optional>
#include <string>

namespace tiphys::host {

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Of this process.
Environment process_environment();

}  // namespace tiphys::host
