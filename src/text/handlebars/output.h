#pragma once

// The text as it grows, with the indentation of the partials that write it.

#include <string>
#include <string_view>

#include "text/handlebars/budget.h"
#include "text/handlebars/failure.h"

namespace tiphys::handlebars {

class Output {
 public:
  explicit Output(Budget& budget) : budget_(&budget) {}

  Done write(std::string_view text);
  std::string take() { return std::move(text_); }

  // What is written from now on is indented; the first line too, or only those that follow.
  void indent(std::string indent, bool first_line) {
    indent_ = std::move(indent);
    at_line_start_ = first_line;
  }
  [[nodiscard]] const std::string& indentation() const { return indent_; }
  [[nodiscard]] bool at_line_start() const { return at_line_start_; }

 private:
  Budget* budget_;
  std::string text_;
  std::string indent_;
  bool at_line_start_ = false;  // the indent is due before the next character
};

}  // namespace tiphys::handlebars
