#pragma once

// Writes a tree as YAML, always the same way: keys in ascending order unless some come first, two blanks of indentation,
// lists flush with the key that holds them, strings plain where nobody can mistake them, quoted
// where somebody could, and as a block where they have several lines. Or writes what was read, with its keys in their
// order: what was plain stays as it was, because another reader may take it for something else than we do.

#include <string>

#include "model/tree.h"
#include "text/key_order.h"
#include "text/yaml.h"

namespace tiphys {

std::string write_yaml(const Tree& tree, KeyOrder first = {});
std::string write_yaml(const YamlNode& node);

}  // namespace tiphys
