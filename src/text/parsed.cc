#include "text/parsed.h"

#include <algorithm>

#include "base/strings.h"

namespace tiphys {
namespace {

std::string with_path(const TextError& error) {
  return error.path.empty() ? error.offence : concat(to_string(error.path), ": ", error.offence);
}

constexpr bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

std::string to_string(Position position) {
  return concat("line ", std::to_string(position.line), ", column ",
                std::to_string(position.column));
}

std::string to_string(const TextError& error) {
  return concat(to_string(error.position), ": ", with_path(error));
}

std::string to_string(const TextError& error, std::string_view file_name) {
  return concat(file_name, ":", std::to_string(error.position.line), ":",
                std::to_string(error.position.column), ": ", with_path(error));
}

Position position_of(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  Position position;
  for (std::size_t i = 0; i < offset; ++i) {
    const bool ends_line =
        text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
    if (ends_line)
      position = {position.line + 1, 1};
    else if (!is_continuation(text[i]))
      ++position.column;
  }
  return position;
}

}  // namespace tiphys
