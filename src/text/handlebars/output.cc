#include "text/handlebars/output.h"

#include <algorithm>
#include <cstddef>

namespace tiphys::handlebars {

Done Output::write_unindented(std::string_view text) {
  TIPHYS_DONE(budget_->spend_output(text.size()));
  text_ += text;
  return {};
}

// An empty line is indented in the middle of what is written at once, but not at its beginning.
Done Output::write(std::string_view text) {
  if (text.empty()) return {};
  const bool ends_line = text.ends_with('\n');
  bool indents = is_due_ && text[0] != '\n' && text[0] != '\r';
  while (!text.empty()) {
    if (indents) TIPHYS_DONE(write_unindented(indent_));
    const std::size_t line =
        indent_.empty() ? text.size() : std::min(text.find('\n'), text.size() - 1) + 1;
    TIPHYS_DONE(write_unindented(text.substr(0, line)));
    text.remove_prefix(line);
    indents = true;
  }
  is_due_ = ends_line;
  return {};
}

}  // namespace tiphys::handlebars
