#pragma once

// Shows where in a template an error is.

#include <string>
#include <string_view>

#include "text/handlebars/ast.h"

namespace tiphys::handlebars {

// The reason, the place, and the lines around it, over several lines and with a line break at the end.
std::string template_error(std::string_view source, Place place, std::string_view reason);

}  // namespace tiphys::handlebars
