#include "text/handlebars/standalone.h"

#include <algorithm>

#include "base/strings.h"

namespace tiphys::handlebars {

namespace {

constexpr std::string_view kBlanks = " \t";

// How many bytes blanks and the line break after them take; npos when there is something else on the line.
std::size_t rest_of_line(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = text.substr(end);
  if (rest.starts_with("\n")) return end + 1;
  if (rest.starts_with("\r\n")) return end + 2;
  return rest.empty() ? end : std::string_view::npos;
}

}  // namespace

bool stands_alone(std::string_view source, std::size_t begin, std::size_t end) {
  const std::size_t line = begin - blanks_before(source, begin).size();
  return (line == 0 || source[line - 1] == '\n') &&
         rest_of_line(source.substr(end)) != std::string_view::npos;
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
  const std::size_t line = rest_of_line(text);
  if (line != std::string::npos) text.erase(0, line);
}

void trim_blanks_at_end(std::string& text) { text.resize(text.find_last_not_of(kBlanks) + 1); }

}  // namespace tiphys::handlebars
