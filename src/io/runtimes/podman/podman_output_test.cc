#include "io/runtimes/podman/podman_output.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/strings.h"

namespace tiphys::podman {
namespace {

std::string recorded(std::string_view name) {
  std::ifstream file(concat("src/io/runtimes/podman/recorded/", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// name: state, "with pid" when there is one
std::vector<std::string> summary(const Result<std::vector<ListedContainer>>& listed) {
  if (!listed) return {listed.error().message};
  std::vector<std::string> lines;
  for (const auto& [container, pid, pod] : *listed)
    lines.push_back(concat(container.name, ": ", to_string(execution_state_of(container.status)),
                           pid > 0 ? " with pid" : ""));
  return lines;
}

std::string error_of(std::string_view output) {
  const auto listed = parse_ps(output);
  return listed ? "no error" : listed.error().message;
}

TEST(ParsePs, ReadsWhatPodman4Prints) {
  const auto listed = parse_ps(recorded("ps-4.3.1.json"));
  EXPECT_EQ(summary(listed), (std::vector<std::string>{
                                 "web.aaa.agent_A: Running(Ok) with pid",
                                 "failed: Failed(ExecFailed): 'Exit code: '7''",
                                 "made: Pending(Starting): 'created'",
                                 "frozen: Failed(Unknown): 'paused' with pid",
                                 "killed: Failed(ExecFailed): 'Exit code: '137''",
                             }));
  ASSERT_TRUE(listed);
  EXPECT_EQ(
      listed->front().container.labels,
      (std::map<std::string, std::string>{{"name", "web.aaa.agent_A"}, {"agent", "agent_A"}}));
  EXPECT_EQ(listed->front().container.id.value.size(), 64U);
  EXPECT_EQ(listed->at(2).container.labels, (std::map<std::string, std::string>{}));
}

TEST(ParsePs, TellsWhichContainersAreInAPod) {
  const auto listed = parse_ps(
      R"([{"Id": "c1", "Pod": "p1"}, {"Id": "c2", "Pod": ""}, {"Id": "c3", "Pod": null}])");
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->at(0).pod, "p1");
  EXPECT_EQ(listed->at(1).pod, "");
  EXPECT_EQ(listed->at(2).pod, "");
}

TEST(ParsePs, ReadsWhatPodman5Prints) {
  const auto listed = parse_ps(recorded("ps-5.json"));
  EXPECT_EQ(summary(listed),
            (std::vector<std::string>{"web.aaa.agent_A: Running(Ok) with pid",
                                      "killed: Failed(ExecFailed): 'Exit code: '137''"}));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->front().pid, 4711);
}

TEST(ParsePs, NoContainersAreNoFailure) {
  EXPECT_EQ(summary(parse_ps("[]\n")), std::vector<std::string>{});
  EXPECT_EQ(summary(parse_ps("null\n")), std::vector<std::string>{});
}

TEST(ParsePs, RefusesWhatIsNoListing) {
  EXPECT_EQ(error_of(""), "podman ps printed nothing");
  EXPECT_EQ(error_of(" \n"), "podman ps printed nothing");
  EXPECT_EQ(error_of("{}"), "podman ps printed no list: '{}'");
  EXPECT_TRUE(error_of("garbage").starts_with("podman ps printed no JSON: line 1, column 1: "));
  EXPECT_TRUE(error_of("\xff\xfe").starts_with("podman ps printed no JSON: "));
  const auto half = recorded("ps-4.3.1.json");
  EXPECT_TRUE(error_of(half.substr(0, half.size() / 2)).starts_with("podman ps printed no JSON: "));
  EXPECT_LT(error_of(half.substr(0, half.size() / 2)).size(), 400U);
}

TEST(ParsePs, OneOddContainerSpoilsOnlyItself) {
  EXPECT_EQ(summary(parse_ps(R"([
      5, null, "x", [], {}, {"Id": ""}, {"Id": 7},
      {"Id": "a"},
      {"Id": "b", "Names": "one", "Labels": [], "State": "running", "Pid": "7"},
      {"Id": "c", "Names": [], "Labels": {"x": 1}, "State": 5},
      {"Id": "d", "Names": ["good"], "State": "exited", "ExitCode": 0, "Pid": -1}])")),
            (std::vector<std::string>{": Failed(Unknown)", ": Running(Ok)", ": Failed(Unknown)",
                                      "good: Succeeded(Ok)"}));
}

// [utest->swdd~podman-state-getter-returns-unknown-state~1]
TEST(ParsePs, AnImpossibleExitCodeMakesAnUnknownState) {
  for (const auto* code : {"-1", "256", "1.5", "99999999999999999999", "\"0\"", "null"}) {
    SCOPED_TRACE(code);
    const auto listed =
        parse_ps(concat(R"([{"Id": "a", "State": "exited", "ExitCode": )", code, R"(}])"));
    ASSERT_TRUE(listed);
    EXPECT_EQ(execution_state_of(listed->front().container.status),
              ExecutionState(Phase::kFailedUnknown, kListingFailed));
  }
  // While it runs nobody asks for one.
  const auto listed = parse_ps(R"([{"Id": "a", "State": "running", "ExitCode": -1}])");
  EXPECT_EQ(execution_state_of(listed.value().front().container.status),
            ExecutionState(Phase::kRunningOk));
}

// [utest->swdd~podman-state-getter-maps-state~3]
TEST(StatusOf, MapsEveryWordOfPodman) {
  struct Row {
    const char* word;
    int exit_code;
    ExecutionState state;
  };
  for (const auto& row :
       std::vector<Row>{{"created", 0, ExecutionState(Phase::kPendingStarting, "created")},
                        {"configured", 0, ExecutionState(Phase::kPendingStarting, "configured")},
                        {"initialized", 0, ExecutionState(Phase::kPendingStarting, "initialized")},
                        {"running", 0, ExecutionState(Phase::kRunningOk)},
                        {"running", 7, ExecutionState(Phase::kRunningOk)},
                        {"exited", 0, ExecutionState(Phase::kSucceededOk)},
                        {"exited", 7, ExecutionState(Phase::kFailedExecFailed, "Exit code: '7'")},
                        {"stopping", 0, ExecutionState(Phase::kStopping, "stopping")},
                        {"stopped", 7, ExecutionState(Phase::kStopping, "stopped")},
                        {"removing", 0, ExecutionState(Phase::kStopping, "removing")},
                        {"paused", 0, ExecutionState(Phase::kFailedUnknown, "paused")},
                        {"unknown", 0, ExecutionState(Phase::kFailedUnknown, "unknown")},
                        {"", 0, ExecutionState(Phase::kFailedUnknown, "")},
                        {"RUNNING", 0, ExecutionState(Phase::kRunningOk)},
                        {"Exited", 1, ExecutionState(Phase::kFailedExecFailed, "Exit code: '1'")},
                        {"Stopping", 0, ExecutionState(Phase::kStopping, "Stopping")}}) {
    SCOPED_TRACE(row.word);
    EXPECT_EQ(execution_state_of(status_of(row.word, row.exit_code)), row.state);
  }
}

}  // namespace
}  // namespace tiphys::podman
