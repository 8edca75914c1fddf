#pragma once

// Reads TOML, the language of configuration files, into a tree. Numbers must be unsigned integers
// and nothing may be a date: a tree holds no others.

#include <string_view>

#include "model/tree.h"
#include "text/parsed.h"

namespace tiphys {

Parsed<Tree> parse_toml(std::string_view text);

}  // namespace tiphys
