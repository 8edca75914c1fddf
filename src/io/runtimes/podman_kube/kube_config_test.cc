#include "io/runtimes/podman_kube/kube_config.h"

#include <gtest/gtest.h>

#include <utility>

namespace tiphys::kube {
namespace {

using Texts = std::vector<std::string>;

TEST(KubeConfig, ReadsAllFields) {
  const auto config = read_kube_config(R"(
manifest: |
  kind: Pod
generalOptions: ["--log-level", "debug"]
playOptions: [--net, host]
downOptions:
- --force
controlInterfaceTarget: pod/main
unknown: {is: ignored}
)");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->manifest, "kind: Pod\n");
  EXPECT_EQ(config->general_options, (Texts{"--log-level", "debug"}));
  EXPECT_EQ(config->play_options, (Texts{"--net", "host"}));
  EXPECT_EQ(config->down_options, (Texts{"--force"}));
  EXPECT_EQ(config->control_interface_target, "pod/main");
}

TEST(KubeConfig, AllButTheManifestMayBeMissing) {
  const auto config = read_kube_config("manifest: 5\nplayOptions:\ndownOptions: [1, true]\n");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->manifest, "5");
  EXPECT_EQ(config->general_options, Texts{});
  EXPECT_EQ(config->play_options, Texts{});
  EXPECT_EQ(config->down_options, (Texts{"1", "true"}));
  EXPECT_EQ(config->control_interface_target, std::nullopt);
}

TEST(KubeConfig, RefusesWhatItCannotRead) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "line 1, column 1: missing field `manifest`"},
           {"playOptions: []", "line 1, column 1: missing field `manifest`"},
           {"text", "line 1, column 1: expected a map with the key `manifest`, found a string"},
           {"manifest: {kind: Pod}", "line 1, column 11: manifest: expected a string, found a map"},
           {"manifest: m\nplayOptions: x",
            "line 2, column 14: playOptions: expected a list, found a string"},
           {"manifest: m\ndownOptions: [[]]",
            "line 2, column 15: downOptions.0: expected a string, found a list"},
           {"manifest: m\ncontrolInterfaceTarget: []",
            "line 2, column 25: controlInterfaceTarget: expected a string, found a list"}}) {
    const auto config = read_kube_config(text);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(to_string(config.error()), message);
  }
  EXPECT_FALSE(read_kube_config("manifest: ["));
}

}  // namespace
}  // namespace tiphys::kube
