#include "model/api_version.h"

#include <gtest/gtest.h>

#include <string>

namespace tiphys {
namespace {

// [utest->swdd~api-version-checks~1]
TEST(ApiVersion, IsReadAsItWasWritten) {
  for (const auto version : {ApiVersion::kV01, ApiVersion::kV1})
    EXPECT_EQ(parse_api_version(to_string(version)), version);
  EXPECT_EQ(to_string(ApiVersion::kV1), "v1");
  EXPECT_EQ(to_string(ApiVersion::kV01), "v0.1");
}

// [utest->swdd~api-version-checks~1]
TEST(ApiVersion, RefusesAllOthers) {
  for (const std::string text : {"", "v2", " v1", "v1 ", "1", "V1", "ä", "v0.2", "v0.1 ", "v1.0"})
    EXPECT_EQ(parse_api_version(text).error(),
              (Error{Code::kInvalidArgument,
                     "Unsupported API version. Received '" + text + "', expected 'v1'"}));
}

// [utest->swdd~api-version-checks~1]
TEST(ApiVersion, WarnsOfAnOldOne) {
  EXPECT_EQ(deprecation_warning(ApiVersion::kV01),
            "The provided state uses an old API version 'v0.1'. Please consider updating to the "
            "latest version 'v1'.");
  EXPECT_EQ(deprecation_warning(ApiVersion::kV1), "");
}

}  // namespace
}  // namespace tiphys
