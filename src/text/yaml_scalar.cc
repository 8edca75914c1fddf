#include "text/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace tiphys {
namespace {

constexpr std::array<std::string_view, 4> kNulls{"~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 6> kBooleans{"true",  "True",  "TRUE",
                                                    "false", "False", "FALSE"};
constexpr std::array<std::string_view, 12> kSpecialNumbers{".inf",  ".Inf",  ".INF",  "+.inf",
                                                           "+.Inf", "+.INF", "-.inf", "-.Inf",
                                                           "-.INF", ".nan",  ".NaN",  ".NAN"};
constexpr std::array<std::pair<std::string_view, int>, 3> kBases{
    {{"0x", 16}, {"0o", 8}, {"0b", 2}}};

template <class Words>
bool contains(const Words& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_digit(char c, int base) {
  if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return true;
  return c >= '0' && c < '0' + std::min(base, 10);
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text;
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), [](char c) { return is_digit(c); });
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

bool is_number_with_base(std::string_view text) {
  for (const auto& [prefix, base] : kBases) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view digits = text.substr(prefix.size());
    const int radix = base;
    return !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                          [radix](char c) { return is_digit(c, radix); });
  }
  return false;
}

// 12, 12., .5, 1.5e-3; a number too large or too small for a double is text.
bool is_decimal(std::string_view unsigned_text) {
  std::string_view rest = unsigned_text;
  std::size_t digits = take_digits(rest).size();
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    digits += take_digits(rest).size();
  }
  if (digits == 0) return false;
  if (!rest.empty()) {
    if (rest[0] != 'e' && rest[0] != 'E') return false;
    rest = without_sign(rest.substr(1));
    if (take_digits(rest).empty() || !rest.empty()) return false;
  }
  double value = 0;
  const char* begin = unsigned_text.data();
  return std::from_chars(begin, begin + unsigned_text.size(), value).ec == std::errc();
}

}  // namespace

YamlType type_of_plain(std::string_view text) {
  if (text.empty() || contains(kNulls, text)) return YamlType::kNull;
  if (contains(kBooleans, text)) return YamlType::kBoolean;
  if (contains(kSpecialNumbers, text)) return YamlType::kNumber;
  const std::string_view digits = without_sign(text);
  if (is_number_with_base(digits)) return YamlType::kNumber;
  return !is_zero_led(text) && is_decimal(digits) ? YamlType::kNumber : YamlType::kString;
}

std::string_view kind(YamlType type) {
  constexpr std::array<std::string_view, 4> kKinds{"null", "a boolean", "a number", "a string"};
  return kKinds[static_cast<std::size_t>(type)];
}

std::optional<std::uint64_t> unsigned_value(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  int base = 10;
  for (const auto& [prefix, prefix_base] : kBases)
    if (text.starts_with(prefix)) {
      base = prefix_base;
      text.remove_prefix(prefix.size());
      break;
    }
  std::uint64_t value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, base);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

bool is_zero_led(std::string_view text) {
  const std::string_view digits = without_sign(text);
  return digits.size() > 1 && digits[0] == '0' &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return is_digit(c); });
}

}  // namespace tiphys
