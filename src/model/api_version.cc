#include "model/api_version.h"

#include "base/strings.h"

namespace tiphys {

std::string_view to_string(ApiVersion version) {
  return version == ApiVersion::kV1 ? kCurrentApiVersion : "v0.1";
}

// [impl->swdd~api-version-checks~1]
Result<ApiVersion> parse_api_version(std::string_view text) {
  for (const auto version : {ApiVersion::kV1, ApiVersion::kV01})
    if (text == to_string(version)) return version;
  return fail(Code::kInvalidArgument, concat("Unsupported API version. Received '", text,
                                             "', expected '", kCurrentApiVersion, "'"));
}

std::string deprecation_warning(ApiVersion version) {
  if (version == ApiVersion::kV1) return {};
  return concat("The provided state uses an old API version '", to_string(version),
                "'. Please consider updating to the latest version '", kCurrentApiVersion, "'.");
}

}  // namespace tiphys
