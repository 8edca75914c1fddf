#pragma once

// What rendering may still spend.

#include <cstddef>
#include <string>

#include "text/handlebars/failure.h"
#include "text/handlebars/handlebars.h"

namespace tiphys::handlebars {

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] const Limits& limits() const { return limits_; }

  Done spend_steps(std::size_t steps) {
    if (steps > limits_.steps - steps_)
      return fails("The template needs more than " + std::to_string(limits_.steps) +
                       " steps; repeat less, or divide it",
                   Code::kResourceExhausted);
    steps_ += steps;
    return {};
  }
  Done spend_output(std::size_t bytes) {
    if (bytes > limits_.output_bytes - output_)
      return fails("The text is longer than " + std::to_string(limits_.output_bytes) +
                       " bytes; repeat less, or divide the template",
                   Code::kResourceExhausted);
    output_ += bytes;
    return {};
  }
  [[nodiscard]] std::size_t output_left() const { return limits_.output_bytes - output_; }
  [[nodiscard]] std::size_t steps_left() const { return limits_.steps - steps_; }

 private:
  Limits limits_;
  std::size_t steps_ = 0;
  std::size_t output_ = 0;
};

}  // namespace tiphys::handlebars
