#include "io/runtimes/podman_kube/kube_output.h"

#include <gtest/gtest.h>

#include <utility>

namespace tiphys::kube {
namespace {

using Texts = std::vector<std::string>;

TEST(KubeOutput, FindsThePodsThatWerePlayed) {
  EXPECT_EQ(parse_played_pods(""), Texts{});
  EXPECT_EQ(parse_played_pods("\n"), Texts{});
  // As podman 4.3 prints it.
  EXPECT_EQ(parse_played_pods("Pod:\nid1\nContainers:\nc1\nc2\n\nPod:\nid2\nContainer:\nc3\n\n"),
            (Texts{"id1", "id2"}));
  EXPECT_EQ(parse_played_pods("Trying to pull x...\nVolumes:\nvol1\nPod:\n\npod1\r\n pod2 \n"
                              "Containers:\na\n"),
            (Texts{"pod1", "pod2"}));
  EXPECT_EQ(parse_played_pods("Pods:\nid1\n"), Texts{});
}

TEST(KubeOutput, ReadsTheLabelOfAVolume) {
  const auto data = parse_volume_data(
      R"([{"Name": "v", "Labels": {"data": "bWFuaWZlc3Q6IG0", "x": "y"}, "LockNumber": -1.5}])");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(*data, "manifest: m");
}

TEST(KubeOutput, SaysWhyAVolumeTellsNothing) {
  for (const auto& [output, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "podman volume inspect printed no volume"},
           {"[]", "podman volume inspect printed no volume"},
           {"{}", "podman volume inspect printed no volume"},
           {R"([{"Labels": null}])", "the volume has no label 'data'"},
           {R"([{"Labels": {"other": "x"}}])", "the volume has no label 'data'"},
           {R"([{"Labels": {"data": 5}}])", "the volume has no label 'data'"},
           {R"([{"Labels": {"data": "%%%"}}])",
            "the label 'data' of the volume is no base64 without padding: "
            "Invalid symbol 37, offset 0."},
           {R"([{"Labels": {"data": "bQ=="}}])",
            "the label 'data' of the volume is no base64 without padding: Invalid padding"}}) {
    const auto data = parse_volume_data(output);
    ASSERT_FALSE(data) << output;
    EXPECT_EQ(data.error().message, message);
  }
}

TEST(KubeOutput, KeepsPodsAsJson) {
  EXPECT_EQ(write_pods({}), "[]");
  EXPECT_EQ(write_pods({"p1", "p2"}), R"(["p1","p2"])");
  EXPECT_EQ(parse_pods("[]").value(), Texts{});
  EXPECT_EQ(parse_pods(R"(["p1", "p2"])").value(), (Texts{"p1", "p2"}));
  for (const auto* wrong : {"", "{}", "[1]", "p1"}) EXPECT_FALSE(parse_pods(wrong)) << wrong;
}

TEST(KubeOutput, TakesTheVolumesOfOneAgentOnly) {
  // podman's pattern `.A.config$` finds those of agent BA as well.
  const auto instances = parse_config_volumes(
      "web.aaa.A.config\nweb.bbb.BA.config\nodd.config\nnginx.ccc.A.config\n\nweb.aaa.A.pods\n",
      {"A"});
  EXPECT_EQ(instances,
            (std::vector<InstanceName>{{{"web"}, {"aaa"}, {"A"}}, {{"nginx"}, {"ccc"}, {"A"}}}));
}

TEST(KubeOutput, ReadsIdsAndNamesOfPods) {
  EXPECT_EQ(parse_listed_pods("id1 kp\nodd\n\nid2 dep-pod\n"),
            (std::vector<ListedPod>{{"id1", "kp"}, {"id2", "dep-pod"}}));
  EXPECT_EQ(parse_listed_pods(""), std::vector<ListedPod>{});
}

TEST(KubeOutput, KnowsWhyACommandFailed) {
  const Error gone{Code::kUnknown, "Error: no pod with name or ID kp found: no such pod. Exec…"};
  const Error paused{Code::kUnknown, "Error: cannot remove container c as it is paused - running…"};
  const Error volume{Code::kUnknown, "Error: no volume with name \"v\" found: no such volume"};
  const Error other{Code::kUnknown, "Error: no space left"};
  EXPECT_TRUE(is_no_such_pod(gone));
  EXPECT_TRUE(is_paused(paused));
  EXPECT_TRUE(is_no_such_volume(volume));
  EXPECT_FALSE(is_no_such_pod(other) || is_paused(other) || is_no_such_volume(other));
}

}  // namespace
}  // namespace tiphys::kube
