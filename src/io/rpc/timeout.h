#pragma once

// The grpc-timeout field: at most eight digits and a unit of H M S m u n.

#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"

namespace tiphys::rpc {

// Rounded up to the finest unit that fits; a time that has passed is the shortest there is.
std::string format_timeout(Duration timeout);
// Longer times than a Duration can hold become the longest; nothing when it is malformed.
std::optional<Duration> parse_timeout(std::string_view text);

}  // namespace tiphys::rpc
