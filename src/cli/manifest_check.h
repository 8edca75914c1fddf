#pragma once

// What is wrong with a manifest before it is sent anywhere: all of it, each with its place. The rules
// are those of the description that the manifest's schema is made of (text/manifest_fields.h).

#include <string_view>
#include <vector>

#include "model/api_version.h"
#include "text/parsed.h"
#include "text/yaml.h"

namespace tiphys::cli {

// In the order of the text. More than a screenful helps nobody: it ends after twenty.
//
// v0.1 has no schema; of it only those words are looked at that have no meaning at all.
std::vector<TextError> find_violations(const YamlNode& manifest, ApiVersion version);

}  // namespace tiphys::cli
