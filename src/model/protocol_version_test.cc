#include "model/protocol_version.h"

#include <gtest/gtest.h>

#include <string>

namespace tiphys {
namespace {

TEST(ProtocolVersion, IsAcceptedWithTheSameMajorNumber) {
  EXPECT_TRUE(check_protocol_version(kProtocolVersion).has_value());
  for (const char* version : {"1.1.0", "1.99.7", "1.0.0", "1.1.0-pre", "1.0.0-rc.1+build5",
                              "1.0.0+b", "1.0.0+01.a-b", "1.0.1-x", "1.0.0-0", "1.0.0-01a"})
    EXPECT_TRUE(check_protocol_version(version).has_value()) << version;
}

TEST(ProtocolVersion, IsRefusedWithAnotherMajorNumberOrWhenItIsIncomplete) {
  for (const std::string version :
       {"0.9.0",   "2.0.0",  "10.0.0", "1",       "1.0",     "v1.0.0",   "",          "garbage",
        "1.0.0.0", " 1.0.0", "1.0.0 ", "-1.0.0",  "1.0.0-",  "1.0.0-01", "1.0.0+",    "1.0.0+a..b",
        "01.0.0",  "1.00.0", "1..0",   "1.0.0-ä", "1.0.0+ä", "1.0.0-a.", "1.0.0+a+b", "1.0.x"})
    EXPECT_EQ(check_protocol_version(version).error(),
              (Error{Code::kFailedPrecondition,
                     "Unsupported protocol version '" + version + "'. Currently supported '1'"}));
}

}  // namespace
}  // namespace tiphys
