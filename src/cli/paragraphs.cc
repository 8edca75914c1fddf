#include "cli/paragraphs.h"

#include <algorithm>

#include "base/strings.h"
#include "cli/table.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kLeastColumns = 20;  // of text beside a name
constexpr std::size_t kIndentation = 6;    // of text below a name

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const auto paragraph : split(text, '\n')) {
    lines.emplace_back();
    for (const auto word : split(paragraph, ' ')) {
      if (word.empty()) continue;
      std::string& line = lines.back();
      if (line.empty())
        line = word;
      else if (display_width(line) + 1 + display_width(word) <= width)
        line += concat(" ", word);
      else
        lines.emplace_back(word);
    }
  }
  return lines;
}

std::string indented(std::string_view text, std::size_t indentation, std::size_t width) {
  std::string result;
  for (const auto& line : wrapped(text, width - std::min(indentation, width)))
    result += line.empty() ? "\n" : concat(std::string(indentation, ' '), line, "\n");
  return result;
}

std::string entry(std::string_view name, std::string_view text, std::size_t column,
                  std::size_t width) {
  std::string first = concat("  ", name);
  const std::size_t used = display_width(first);
  if (used + 2 > column || column + kLeastColumns > width)
    return concat(first, "\n", indented(text, std::min(column, kIndentation), width));
  first.append(column - used, ' ');
  return first + indented(text, column, width).substr(column);
}

}  // namespace tiphys::cli
