#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tiphys {

inline constexpr std::string_view kCurrentApiVersion = "v1";

enum class ApiVersion : std::uint8_t { kV01, kV1 };

std::string_view to_string(ApiVersion version);
Result<ApiVersion> parse_api_version(std::string_view text);

// The warning that goes with a version that is still accepted but old.
std::string deprecation_warning(ApiVersion version);

}  // namespace tiphys
