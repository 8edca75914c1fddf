#include "text/handlebars/output.h"

#include <algorithm>
#include <cstddef>

namespace tiphys::handlebars {

Done Output::write(std::string_view text) {
  if (indent_.empty()) {
    TIPHYS_DONE(budget_->spend_output(text.size()));
    text_ += text;
    return {};
  }
  while (!text.empty()) {
    if (at_line_start_) {
      TIPHYS_DONE(budget_->spend_output(indent_.size()));
      text_ += indent_;
    }
    const std::size_t line = std::min(text.find('\n'), text.size() - 1) + 1;
    TIPHYS_DONE(budget_->spend_output(line));
    text_ += text.substr(0, line);
    at_line_start_ = text[line - 1] == '\n';
    text.remove_prefix(line);
  }
  return {};
}

}  // namespace tiphys::handlebars
