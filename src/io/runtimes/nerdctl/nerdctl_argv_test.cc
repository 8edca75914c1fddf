#include "io/runtimes/nerdctl/nerdctl_argv.h"

#include <gtest/gtest.h>

#include <vector>

namespace tiphys::nerdctl {
namespace {

TEST(NerdctlArguments, AreThoseThatEveryAnkaiosGives) {
  const shell::ContainerId id{"2eecc489"};
  EXPECT_EQ(stop_arguments(id), (Arguments{"stop", "2eecc489"}));
  EXPECT_EQ(rm_arguments(id), (Arguments{"rm", "2eecc489"}));
  EXPECT_EQ(ps_arguments(), (Arguments{"ps", "--all", "--no-trunc", "--format=json"}));
  EXPECT_EQ(inspect_arguments(std::vector<shell::ContainerId>{{"a"}, {"b"}}),
            (Arguments{"inspect", "a", "b"}));
}

}  // namespace
}  // namespace tiphys::nerdctl
