#pragma once

#include <string_view>

namespace tiphys {

// Of all programs. The number of Ankaios whose dialect they speak, then our own; the build reads it from this line.
inline constexpr std::string_view kVersion = "1.1.0+tiphys.0.1.0";

}  // namespace tiphys
