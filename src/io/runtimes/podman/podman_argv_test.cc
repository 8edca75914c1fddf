#include "io/runtimes/podman/podman_argv.h"

#include <gtest/gtest.h>

namespace tiphys::podman {
namespace {

TEST(PodmanArguments, LetWhatIsMissingPassAndListEverything) {
  const shell::ContainerId id{"2eecc489"};
  EXPECT_EQ(stop_arguments(id), (Arguments{"stop", "--ignore", "2eecc489"}));
  EXPECT_EQ(rm_arguments(id), (Arguments{"rm", "--ignore", "2eecc489"}));
  EXPECT_EQ(ps_arguments(), (Arguments{"ps", "--all", "--format=json"}));
}

}  // namespace
}  // namespace tiphys::podman
