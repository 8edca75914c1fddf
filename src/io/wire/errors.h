#pragma once

// How decoding words its failures: "ServerHello.addedWorkloads[2]: Missing field 'agent'".

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/strings.h"

namespace tiphys::wire {

inline tl::unexpected<Error> unusable(std::string offence) {
  return fail(Code::kInvalidArgument, std::move(offence));
}

inline tl::unexpected<Error> missing(std::string_view field) {
  return unusable(concat("Missing field '", field, "'"));
}

inline tl::unexpected<Error> unknown_value(std::string_view field, int value) {
  return unusable(concat(field, ": unknown enumeration value ", std::to_string(value)));
}

// The error of an element, with the place where the element stands.
inline tl::unexpected<Error> at(std::string_view list, std::size_t index, Error error) {
  error.message = concat(list, "[", std::to_string(index), "]: ", error.message);
  return fail(std::move(error));
}

}  // namespace tiphys::wire
