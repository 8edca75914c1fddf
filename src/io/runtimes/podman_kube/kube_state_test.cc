#include "io/runtimes/podman_kube/kube_state.h"

#include <gtest/gtest.h>

#include <utility>

#include "io/runtimes/podman/podman_output.h"

namespace tiphys::kube {
namespace {

using workload::ContainerStatus;

// "running", "exited 3": a word of podman with an exit code.
ContainerStatus status(const std::string& text) {
  const auto blank = text.find(' ');
  return podman::status_of(text.substr(0, blank),
                           blank == std::string::npos ? 0 : std::stoi(text.substr(blank)));
}

std::string state_of(const std::vector<std::string>& containers) {
  ContainersByPod pods;
  for (const auto& container : containers) pods["p1"].push_back(status(container));
  return to_string(kube_state({"p1"}, pods));
}

constexpr const char* kFailed = "Failed(ExecFailed): 'Exit code: '3''";
constexpr const char* kStarting = "Pending(Starting): 'starting container'";
constexpr const char* kUnknown = "Failed(Unknown): 'unknown container state'";
constexpr const char* kRunning = "Running(Ok)";
constexpr const char* kStopping = "Stopping(Stopping): 'stopping container'";
constexpr const char* kSucceeded = "Succeeded(Ok)";

struct Row {
  std::string container;
  std::string state;
};
// Of two containers the one that stands further up decides.
const std::vector<Row> kTable = {
    {"exited 3", kFailed},      {"created", kStarting}, {"configured", kStarting},
    {"initialized", kStarting}, {"paused", kUnknown},   {"unknown", kUnknown},
    {"weird", kUnknown},        {"running", kRunning},  {"Running", kRunning},
    {"stopping", kStopping},    {"stopped", kStopping}, {"removing", kStopping},
    {"exited 0", kSucceeded},
};

// [utest->swdd~podman-kube-state-getter-maps-state~2]
TEST(KubeState, EveryRowOfTheTable) {
  for (const auto& [container, state] : kTable)
    EXPECT_EQ(state_of({container}), state) << container;
}

// [utest->swdd~podman-kube-state-getter-combines-states~2]
TEST(KubeState, TheFirstRowOfSeveralContainersCounts) {
  for (std::size_t first = 0; first < kTable.size(); ++first)
    for (std::size_t second = first; second < kTable.size(); ++second) {
      const auto& [one, state] = kTable[first];
      const auto& other = kTable[second].container;
      EXPECT_EQ(state_of({one, other}), state) << one << ", " << other;
      EXPECT_EQ(state_of({other, one}), state) << other << ", " << one;
    }
  EXPECT_EQ(state_of({"exited 0", "running", "exited 0"}), kRunning);
}

// [utest->swdd~podman-kube-state-getter-uses-container-states~1]
TEST(KubeState, LooksAtAllContainersOfItsPodsAndAtNoOthers) {
  const ContainersByPod pods = {{"p1", {status("running"), status("running")}},
                                {"p2", {status("exited 3")}},
                                {"p3", {status("exited 0")}}};
  EXPECT_EQ(to_string(kube_state({"p1"}, pods)), kRunning);
  EXPECT_EQ(to_string(kube_state({"p1", "p3"}, pods)), kRunning);
  EXPECT_EQ(to_string(kube_state({"p1", "p2", "p3"}, pods)), kFailed);
}

// [utest->swdd~podman-kube-state-getter-removed-if-no-container~1]
TEST(KubeState, IsRemovedWithoutAnyContainer) {
  EXPECT_EQ(to_string(kube_state({"p1", "p2"}, {})), "Removed");
  EXPECT_EQ(to_string(kube_state({"p1"}, {{"p9", {status("running")}}})), "Removed");
  EXPECT_EQ(to_string(kube_state({}, {{"p9", {status("running")}}})), "Removed");
}

// [utest->swdd~podman-kube-state-getter-treats-missing-pods-as-unknown~1]
TEST(KubeState, AMissingPodCountsAsAnUnknownContainer) {
  EXPECT_EQ(to_string(kube_state({"p1", "p2"}, {{"p1", {status("running")}}})), kUnknown);
  EXPECT_EQ(to_string(kube_state({"p1", "p2"}, {{"p2", {status("created")}}})), kStarting);
  EXPECT_EQ(to_string(kube_state({"p1", "p2"}, {{"p2", {status("exited 3")}}})), kFailed);
}

}  // namespace
}  // namespace tiphys::kube
