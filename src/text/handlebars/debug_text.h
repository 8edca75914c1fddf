#pragma once

// Texts inside error messages, quoted and escaped as the crate quotes them.

#include <string>
#include <string_view>

#include "text/handlebars/ast.h"

namespace tiphys::handlebars {

// In double quotes, with escapes for quotes, backslashes and control characters.
std::string quoted(std::string_view text);

// How the beginning of a block names itself.
std::string name_text(const Call& call);

}  // namespace tiphys::handlebars
