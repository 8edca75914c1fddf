#include "base/strings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tiphys {
namespace {

// One code point as it stands in the text: how many bytes it takes, or an ill-formed sequence.
struct Decoded {
  char32_t code_point = 0;
  std::size_t size = 1;  // an ill-formed sequence counts the bytes that one U+FFFD replaces
  bool valid = false;
};

Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};

  std::size_t size = 0;
  std::uint8_t low = 0x80;  // the second byte is bounded further for over-long forms and surrogates
  std::uint8_t high = 0xbf;
  char32_t code_point = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    size = 2;
    code_point = first & 0x1fU;
  } else if (first >= 0xe0 && first <= 0xef) {
    size = 3;
    code_point = first & 0x0fU;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    size = 4;
    code_point = first & 0x07U;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return {};
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {0, i, false};
    code_point = (code_point << 6U) | (byte(i) & 0x3fU);
    low = 0x80;
    high = 0xbf;
  }
  return {code_point, size, true};
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

// The code point that ends the text.
Decoded decode_last(std::string_view text) {
  std::size_t start = text.size() - 1;
  const std::size_t earliest = text.size() >= 4 ? text.size() - 4 : 0;
  while (start > earliest && (static_cast<std::uint8_t>(text[start]) & 0xc0U) == 0x80U) --start;
  const Decoded decoded = decode(text.substr(start));
  return decoded.valid && start + decoded.size == text.size() ? decoded : Decoded{};
}

// Eight bytes at a time; what it leaves of them is for others. Most text is ASCII, which need not be decoded.
std::size_t ascii_prefix(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::size_t length = 0;
  for (std::uint64_t word = 0; text.size() - length >= sizeof(word); length += sizeof(word)) {
    std::memcpy(&word, text.data() + length, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  return length;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string text;
  for (const auto& piece : pieces) {
    if (&piece != &pieces.front()) text += separator;
    text += piece;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  while (!text.empty()) {
    const Decoded first = decode(text);
    if (!first.valid || !is_white_space(first.code_point)) break;
    text.remove_prefix(first.size);
  }
  while (!text.empty()) {
    const Decoded last = decode_last(text);
    if (!last.valid || !is_white_space(last.code_point)) break;
    text.remove_suffix(last.size);
  }
  return text;
}

bool is_valid_utf8(std::string_view text) { return valid_utf8_prefix(text) == text.size(); }

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t length = ascii_prefix(text);
  while (length < text.size()) {
    const Decoded decoded = decode(text.substr(length));
    if (!decoded.valid) break;
    length += decoded.size;
    length += ascii_prefix(text.substr(length));
  }
  return length;
}

std::string with_valid_utf8(std::string text) {
  if (is_valid_utf8(text)) return text;
  std::string valid;
  valid.reserve(text.size() + 16);
  for (std::string_view rest = text; !rest.empty();) {
    const Decoded decoded = decode(rest);
    valid += decoded.valid ? rest.substr(0, decoded.size) : std::string_view("\xef\xbf\xbd");
    rest.remove_prefix(decoded.size);
  }
  return valid;
}

}  // namespace tiphys
