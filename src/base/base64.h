#pragma once

// Bytes as text in the standard alphabet of base64.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tiphys {

// Whether the last group of four is filled up with `=`.
enum class Base64Padding : std::uint8_t { kYes, kNo };

std::string base64_encode(std::string_view bytes, Base64Padding padding);

// The only text that base64_encode() makes of these bytes with the same padding; anything else is refused. The messages
// are the words that every Ankaios uses: "Invalid symbol 42, offset 1." names a byte by its number.
Result<std::string> base64_decode(std::string_view text, Base64Padding padding);

}  // namespace tiphys
