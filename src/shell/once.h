#pragma once

// An answer that is told twice must not be acted upon twice.

#include <memory>
#include <optional>
#include <utility>

namespace tiphys::shell {

// Calls through the first time and does nothing after that.
template <class Function>
auto once(Function function) {
  return [function =
              std::make_shared<std::optional<Function>>(std::move(function))](auto&&... arguments) {
    if (const auto first = std::exchange(*function, std::nullopt))
      (*first)(std::forward<decltype(arguments)>(arguments)...);
  };
}

}  // namespace tiphys::shell
