#pragma once

// What a reader of text answers: a value, or the place and the offence. Lines and columns count
// from 1; a column counts characters, not bytes.

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "model/path.h"

namespace tiphys {

struct Position {
  std::size_t line = 1;
  std::size_t column = 1;

  friend bool operator==(const Position&, const Position&) = default;
};

struct TextError {
  Position position;
  Path path;  // empty where the reader does not know it, or for the whole document
  std::string offence;

  friend bool operator==(const TextError&, const TextError&) = default;
};

template <class T>
using Parsed = tl::expected<T, TextError>;

inline tl::unexpected<TextError> misparsed(Position position, std::string offence) {
  return tl::unexpected<TextError>(TextError{position, {}, std::move(offence)});
}
inline tl::unexpected<TextError> misparsed(TextError error) {
  return tl::unexpected<TextError>(std::move(error));
}

// "line 4, column 5"
std::string to_string(Position position);
// "line 4, column 5: workloads.w: missing field `agent`"
std::string to_string(const TextError& error);
// "manifest.yaml:4:5: workloads.w: missing field `agent`"
std::string to_string(const TextError& error, std::string_view file_name);

// The place of a byte in a text. Line breaks are \n, \r\n and \r.
Position position_of(std::string_view text, std::size_t offset);

}  // namespace tiphys
