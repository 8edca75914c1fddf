#include "io/runtimes/commands/engine_output.h"

#include <gtest/gtest.h>

namespace tiphys::commands {
namespace {

// [utest->swdd~podman-create-workload-returns-workload-id~1]
TEST(ParseId, TakesOneWord) {
  const auto id =
      parse_id("podman", "2eecc489c2d0b68789407e2f97e6e7b130341dabcaa27d7745d5ac33f24706b3\n");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->value, "2eecc489c2d0b68789407e2f97e6e7b130341dabcaa27d7745d5ac33f24706b3");
  for (const auto* output : {"", "\n", "two words", "two\nlines", "--option \xff", "a/b"})
    EXPECT_FALSE(parse_id("podman", output)) << output;
  EXPECT_EQ(parse_id("podman", "").error().message, "podman printed no container id, but ''");
}

}  // namespace
}  // namespace tiphys::commands
