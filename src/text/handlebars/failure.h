#pragma once

// Why a template could not be rendered, on its way to the element that is named in the message.

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"
#include "text/handlebars/ast.h"

namespace tiphys::handlebars {

struct Failure {
  std::string reason;
  Code code = Code::kInvalidArgument;
  std::optional<Place> place;  // not known yet
  std::string template_name;   // empty for the template itself
};

template <class T>
using Outcome = tl::expected<T, Failure>;
using Done = Outcome<void>;

inline tl::unexpected<Failure> fails(std::string reason, Code code = Code::kInvalidArgument) {
  return tl::unexpected<Failure>(Failure{std::move(reason), code, std::nullopt, {}});
}
inline tl::unexpected<Failure> fails(Failure failure) {
  return tl::unexpected<Failure>(std::move(failure));
}

// The value of an Outcome, or a return with its failure.
#define TIPHYS_TAKE(declaration, expression) \
  TIPHYS_TAKE_(TIPHYS_CONCAT(tiphys_outcome_, __LINE__), declaration, expression)
#define TIPHYS_TAKE_(outcome, declaration, expression)                          \
  auto outcome = (expression);                                                  \
  if (!outcome) return ::tiphys::handlebars::fails(std::move(outcome).error()); \
  declaration = std::move(*outcome)

// Goes on, or returns with the failure of a Done.
#define TIPHYS_DONE(expression)                      \
  if (auto tiphys_done = (expression); !tiphys_done) \
  return ::tiphys::handlebars::fails(std::move(tiphys_done).error())

}  // namespace tiphys::handlebars
