#pragma once

// Numbers as the crate reads, writes and compares them. Those that are no integers of 64 bits are read with the
// precision of a double only where that costs nothing, as there: the last digit may be one off.

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "text/handlebars/value.h"

namespace tiphys::handlebars {

// 1.0 keeps its point; 1e+16 and 1e-6 are the first with an exponent.
std::string to_string(const Number& number);

// By value, whatever the kind: exact, where a conversion to double would round.
std::partial_ordering compare(const Number& a, const Number& b);

}  // namespace tiphys::handlebars
