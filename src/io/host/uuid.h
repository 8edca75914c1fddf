#pragma once

#include <string>

namespace tiphys::host {

// A random UUID, version 4, in lower case. Safe from any thread.
std::string new_uuid();

}  // namespace tiphys::host
