#pragma once

// The JSON Schema (draft 07) of manifests, made of their description: for editors and other tools.

#include <string>

namespace tiphys {

// Always the same text, with a line break at its end.
std::string manifest_schema();

}  // namespace tiphys
