#pragma once

// White space around tags. A tag that stands alone on its line takes the line with it.

#include <cstddef>
#include <string>
#include <string_view>

namespace tiphys::handlebars {

// Is there nothing but blanks beside source[begin, end) on its line?
bool stands_alone(std::string_view source, std::size_t begin, std::size_t end);
// The blanks directly before an offset.
std::string_view blanks_before(std::string_view source, std::size_t offset);

void trim_start(std::string& text);  // all white space
void trim_end(std::string& text);
void trim_line_at_start(std::string& text);  // blanks and one line break
void trim_blanks_at_end(std::string& text);

}  // namespace tiphys::handlebars
