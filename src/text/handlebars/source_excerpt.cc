#include "text/handlebars/source_excerpt.h"

#include <algorithm>
#include <cstddef>

#include "base/strings.h"

namespace tiphys::handlebars {

namespace {

constexpr std::size_t kLinesBefore = 2;
constexpr std::size_t kLinesAfter = 4;
constexpr std::size_t kNumberWidth = 4;

// Counts bytes where the column counts characters, as the crate does.
std::string marker(std::size_t length, std::size_t column) {
  std::string dashes(length, '-');
  if (column < length) dashes[column] = '^';
  return dashes;
}

}  // namespace

std::string template_error(std::string_view source, Place place, std::string_view reason) {
  std::string text = concat("Failed to parse template Template error: ", reason,
                            "\n    --> Template error in \"Unnamed\":", std::to_string(place.line),
                            ":", std::to_string(place.column), "\n     |\n");
  const std::size_t wanted = place.line - 1;
  std::size_t begin = 0;
  for (std::size_t line = 0; begin < source.size() && line <= wanted + kLinesAfter; ++line) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    std::string_view content = source.substr(begin, end - begin);
    if (end < source.size() && content.ends_with('\r')) content.remove_suffix(1);
    begin = end + 1;
    if (line + kLinesBefore < wanted) continue;
    const std::string number = std::to_string(line);
    text.append(kNumberWidth - std::min(kNumberWidth, number.size()), ' ');
    text += concat(number, " | ", content, "\n");
    if (line == wanted) text += concat("     |", marker(content.size(), place.column), "\n");
  }
  return text + concat("     |\n     = reason: ", reason, "\n");
}

}  // namespace tiphys::handlebars
