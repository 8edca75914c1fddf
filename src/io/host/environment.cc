#include "io/host/environment.h"

#include <cstdlib>

namespace tiphys::host {

Environment process_environment() {
  return [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::optional<std::string>() : std::string(value);
  };
}

}  // namespace tiphys::host
