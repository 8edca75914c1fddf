#include "text/handlebars/standalone.h"

#include <algorithm>

#include "base/strings.h"

namespace tiphys::handlebars {

namespace {

constexpr std::string_view kBlanks = " \t";

bool is_line_break(char c) { return c == '\n' || c == '\r'; }

}  // namespace

// The end of the source ends a line as well, but only directly after the tag.
bool stands_alone(std::string_view source, std::size_t begin, std::size_t end) {
  const std::size_t line = begin - blanks_before(source, begin).size();
  if (line > 0 && !is_line_break(source[line - 1])) return false;
  const std::size_t after = source.find_first_not_of(kBlanks, end);
  return end == source.size() || (after != std::string_view::npos && is_line_break(source[after]));
}

std::string_view blanks_before(std::string_view source, std::size_t offset) {
  const std::string_view before = source.substr(0, offset);
  const std::size_t last = before.find_last_not_of(kBlanks);
  return before.substr(last == std::string_view::npos ? 0 : last + 1);
}

void trim_start(std::string& text) {
  const std::string_view kept = trim(text);
  text.erase(0, kept.empty() ? text.size() : static_cast<std::size_t>(kept.data() - text.data()));
}

void trim_end(std::string& text) {
  const std::string_view kept = trim(text);
  text.resize(kept.empty() ? 0 : static_cast<std::size_t>(kept.data() - text.data()) + kept.size());
}

void trim_line_at_start(std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = std::string_view(text).substr(end);
  const std::size_t line_break = rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
  text.erase(0, end + line_break);
}

void trim_blanks_at_end(std::string& text) { text.resize(text.find_last_not_of(kBlanks) + 1); }

}  // namespace tiphys::handlebars
