#pragma once

// What a plain (unquoted) YAML scalar means. Words such as yes and on, dates and version numbers
// are strings, and so are digits after a leading zero: only null, booleans and numbers are not.

#include <cstdint>
#include <optional>
#include <string_view>

namespace tiphys {

enum class YamlType : std::uint8_t { kNull, kBoolean, kNumber, kString };

YamlType type_of_plain(std::string_view text);

// "null", "a boolean", …: how an error message calls it.
std::string_view kind(YamlType type);

// The value of a plain number without sign and fraction that fits, in base 2, 8, 10 or 16.
std::optional<std::uint64_t> unsigned_value(std::string_view text);

// Digits after a leading zero: a string, but one that other readers may take for a number.
bool is_zero_led(std::string_view text);

}  // namespace tiphys
