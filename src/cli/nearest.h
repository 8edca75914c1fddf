#pragma once

// What somebody who mistyped a word probably meant.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys::cli {

// The first of the candidates that the fewest changes of letters lead to; none if that is a different word altogether.
std::optional<std::size_t> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace tiphys::cli
