#include "io/runtimes/podman_kube/manifest_pods.h"

#include <gtest/gtest.h>

namespace tiphys::kube {
namespace {

using Texts = std::vector<std::string>;

TEST(ManifestPods, FindsTheNameOfEachDocument) {
  EXPECT_EQ(names_in("kind: Pod\nmetadata: {name: a}\n---\n---\nkind: ConfigMap\n---\n"
                     "metadata:\n  name: 'b'\n"),
            (Texts{"a", "b"}));
  EXPECT_EQ(names_in(R"({"metadata": {"name": ["a"]}})"), Texts{});
  EXPECT_EQ(names_in("metadata: ["), Texts{});
  EXPECT_EQ(names_in(""), Texts{});
}

TEST(ManifestPods, KnowsWhatPodmanCallsThePods) {
  for (const auto* pod : {"a", "a-pod", "a-pod-0", "a-pod-12"})
    EXPECT_TRUE(may_come_from({"x", "a"}, pod)) << pod;
  for (const auto* pod : {"", "b", "a-", "a-po", "a-podx", "a-pod-", "a-pod-x", "aa", "x-a"})
    EXPECT_FALSE(may_come_from({"x", "a"}, pod)) << pod;
  EXPECT_FALSE(may_come_from({}, "a"));
}

}  // namespace
}  // namespace tiphys::kube
