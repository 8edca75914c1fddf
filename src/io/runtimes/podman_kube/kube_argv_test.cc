#include "io/runtimes/podman_kube/kube_argv.h"

#include <gtest/gtest.h>

namespace tiphys::kube {
namespace {

const InstanceName kInstance{{"web"}, {"aaa"}, {"agent_A"}};

TEST(KubeArgv, PlaysAndTakesDown) {
  KubeConfig config;
  EXPECT_EQ(play_arguments(config), (Arguments{"kube", "play", "--quiet", "-"}));
  EXPECT_EQ(down_arguments({}), (Arguments{"kube", "down", "-"}));
  config.general_options = {"--log-level", "debug"};
  config.play_options = {"--net", "host"};
  EXPECT_EQ(play_arguments(config),
            (Arguments{"--log-level", "debug", "kube", "play", "--quiet", "--net", "host", "-"}));
  EXPECT_EQ(down_arguments({"--force"}), (Arguments{"kube", "down", "--force", "-"}));
}

TEST(KubeArgv, KeepsDataInTheLabelsOfVolumes) {
  EXPECT_EQ(config_volume(kInstance), "web.aaa.agent_A.config");
  EXPECT_EQ(pods_volume(kInstance), "web.aaa.agent_A.pods");
  EXPECT_EQ(create_volume_arguments("v", "manifest: m"),
            (Arguments{"volume", "create", "--label=data=bWFuaWZlc3Q6IG0", "v"}));
  EXPECT_EQ(remove_volume_arguments("v"), (Arguments{"volume", "rm", "v"}));
  EXPECT_EQ(inspect_volume_arguments("v"), (Arguments{"volume", "inspect", "v"}));
  EXPECT_EQ(list_volumes_arguments({"agent_A"}),
            (Arguments{"volume", "ls", "--filter", "name=.agent_A.config$", "--format={{.Name}}"}));
}

TEST(KubeArgv, TakesNoVolumeForAnOption) {
  EXPECT_EQ(create_volume_arguments("-odd", "m"),
            (Arguments{"volume", "create", "--label=data=bQ", "--", "-odd"}));
  EXPECT_EQ(remove_volume_arguments("-odd"), (Arguments{"volume", "rm", "--", "-odd"}));
  EXPECT_EQ(inspect_volume_arguments("-odd"), (Arguments{"volume", "inspect", "--", "-odd"}));
}

TEST(KubeArgv, RemovesPodsWhetherTheyAreThereOrNot) {
  EXPECT_EQ(list_pods_arguments(),
            (Arguments{"pod", "ps", "--no-trunc", "--format={{.ID}} {{.Name}}"}));
  EXPECT_EQ(remove_pods_arguments({"p1", "p2"}),
            (Arguments{"pod", "rm", "--force", "--ignore", "p1", "p2"}));
}

}  // namespace
}  // namespace tiphys::kube
