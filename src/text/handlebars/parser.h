#pragma once

// From the source of a template to its elements.

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "text/handlebars/ast.h"
#include "text/handlebars/handlebars.h"

namespace tiphys::handlebars {

// The error is the whole message, with the place in the source.
tl::expected<TemplatePtr, std::string> parse(std::string_view source, const Limits& limits);

}  // namespace tiphys::handlebars
