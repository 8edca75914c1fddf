#pragma once

// Small pure functions on text that every layer needs.

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys {

// concat("a", name, '.'): one string from pieces, one allocation.
template <class... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string text;
  text.reserve((std::string_view(pieces).size() + ... + 0));
  (text.append(std::string_view(pieces)), ...);
  return text;
}

// All pieces between separators; an empty text is one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

std::string join(const std::vector<std::string>& pieces, std::string_view separator);

// Without white space, as Unicode defines it, at both ends. Bytes that are not UTF-8 count as text.
std::string_view trim(std::string_view text);

bool is_valid_utf8(std::string_view text);

// The length of the longest prefix that is UTF-8: where an ill-formed sequence begins, or the size.
std::size_t valid_utf8_prefix(std::string_view text);

// The text with every ill-formed sequence replaced by U+FFFD; the text itself when there is none.
std::string with_valid_utf8(std::string text);

}  // namespace tiphys
