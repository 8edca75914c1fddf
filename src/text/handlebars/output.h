#pragma once

// The text as it grows, with the indentation of the partials that write it.

#include <string>
#include <string_view>
#include <utility>

#include "text/handlebars/budget.h"
#include "text/handlebars/failure.h"

namespace tiphys::handlebars {

class Output {
 public:
  explicit Output(Budget& budget) : budget_(&budget) {}

  Done write(std::string_view text);
  // As it is, whatever the indentation.
  Done write_unindented(std::string_view text);

  // The text so far, in exchange for another one to go on with.
  std::string exchange(std::string text = {}) { return std::exchange(text_, std::move(text)); }

  // What is written from now on is indented; the first line too, or only those that follow.
  void indent(std::string indent, bool first_line) {
    indent_ = std::move(indent);
    is_due_ = first_line;
  }
  [[nodiscard]] const std::string& indentation() const { return indent_; }
  // At the beginning of a line, whose indentation is not written yet.
  [[nodiscard]] bool is_due() const { return is_due_; }

 private:
  Budget* budget_;
  std::string text_;
  std::string indent_;
  bool is_due_ = false;
};

}  // namespace tiphys::handlebars
