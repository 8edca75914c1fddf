#include "io/runtimes/nerdctl/nerdctl_output.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/strings.h"

namespace tiphys::nerdctl {
namespace {

using Lines = std::vector<std::string>;

std::string recorded(std::string_view name) {
  std::ifstream file(concat("src/io/runtimes/nerdctl/recorded/", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// One container of ours, as `ps` and as `inspect` tell of it.
std::vector<PsEntry> entry(bool is_created = false) {
  return {{{"a"}, "web", {{"agent", "agent_A"}, {"name", "web.aaa.agent_A"}}, is_created}};
}
std::string inspected(std::string_view state) {
  return concat(R"([{"Id": "a", "State": )", state, "}]");
}

// "name: state", "with pid" when there is one
Lines summary(const Result<std::vector<ListedContainer>>& listed) {
  if (!listed) return {listed.error().message};
  Lines lines;
  for (const auto& [container, pid, pod] : *listed)
    lines.push_back(concat(container.name, ": ", to_string(execution_state_of(container.status)),
                           pid > 0 ? " with pid" : ""));
  return lines;
}

std::string state_in(std::string_view state, bool is_created = false) {
  const auto listed = parse_inspect(inspected(state), entry(is_created));
  return listed && listed->size() == 1
             ? to_string(execution_state_of(listed->front().container.status))
             : "no such container";
}

// -- ps --------------------------------------------------------------------------------------------------------------

TEST(ParsePs, ReadsWhatNerdctl2PrintsAndLeavesTheOthersOut) {
  const auto entries = parse_ps(recorded("ps-2.2.1.jsonl"));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1U);
  const auto& ours = entries->front();
  EXPECT_EQ(ours.id.value.size(), 64U);
  EXPECT_EQ(ours.name, "web.aaa.agent_A");
  EXPECT_EQ(ours.labels.at("name"), "web.aaa.agent_A");
  EXPECT_EQ(ours.labels.at("agent"), "agent_A");
  EXPECT_FALSE(ours.is_created);
}

TEST(ParsePs, ReadsOneObjectInEachLine) {
  const auto entries = parse_ps(R"({"ID":"a","Names":"x","Labels":"agent=A,name=x","Status":"Up"}

{"Id":"b","Labels":"tiphys.agent=A,odd,k=v=w","Status":"Created","Other":[1.5]}
{"ID":"c","Labels":"name=x"}
{"ID":"","Labels":"agent=A"}
{"Labels":"agent=A"}
{"ID":"d","Labels":null}
)");
  ASSERT_TRUE(entries);
  EXPECT_EQ(*entries,
            (std::vector<PsEntry>{{{"a"}, "x", {{"agent", "A"}, {"name", "x"}}, false},
                                  {{"b"}, "", {{"tiphys.agent", "A"}, {"k", "v=w"}}, true}}));
}

TEST(ParsePs, NothingMeansThatThereAreNoContainers) {
  for (const auto* output : {"", "\n", "  \n\n"})
    EXPECT_EQ(parse_ps(output), std::vector<PsEntry>());
}

TEST(ParsePs, SaysWhatItCannotRead) {
  for (const auto* output : {"{\"ID\":\"a\"", "not JSON", "{\"ID\":\"a\"}\n{\"ID\":", "\xff"}) {
    const auto entries = parse_ps(output);
    ASSERT_FALSE(entries) << output;
    EXPECT_TRUE(entries.error().message.starts_with("nerdctl ps printed no JSON: "))
        << entries.error().message;
  }
}

// -- inspect ---------------------------------------------------------------------------------------------------------

TEST(ParseInspect, ReadsWhatNerdctl2Prints) {
  std::vector<PsEntry> entries;
  for (const auto& [id, name] : std::vector<std::pair<std::string, std::string>>{
           {"e751b48bfa0c3e5684b9b765a953fadb34ae14bcd5c623de31423d6afa570ba2", "web"},
           {"3d4f58ad328252c0de29cb8b2cdd1cb9eee6a3e7c2051a3c39b58477bf040533", "failed"},
           {"04b56963ff863f6dddf74de1f900ac0af0451a02b2c38629c1bc286c810439b6", "made"},
           {"0c8d15c824d7cb8df1020abf87b43db6647ba4c29a0cffad39c91b234f51887f", "paused"},
           {"not among them", "gone"}})
    entries.push_back({{id}, name, {{"agent", "from ps"}}, name == "made"});
  const auto listed = parse_inspect(recorded("inspect-2.2.1.json"), entries);
  EXPECT_EQ(
      summary(listed),
      (Lines{"web: Running(Ok) with pid", "failed: Failed(ExecFailed): 'Exit code: '7''",
             "made: Pending(Starting): 'created'", "paused: Failed(Unknown): 'paused' with pid"}));
  ASSERT_TRUE(listed);
  // A value with commas in it looks like several labels in `ps`, never here.
  const auto& labels = listed->front().container.labels;
  EXPECT_EQ(labels.at("agent"), "agent_A");
  EXPECT_EQ(labels.at("name"), "web.aaa.agent_A");
}

TEST(ParseInspect, TakesTheLabelsOfPsWhereThereAreNoOthers) {
  for (const auto* config : {"", R"("Config": null,)", R"("Config": {"Labels": null},)"}) {
    const auto listed = parse_inspect(
        concat("[{", config, R"("ID": "a", "State": {"Status": "running"}}])"), entry());
    ASSERT_TRUE(listed && listed->size() == 1) << config;
    EXPECT_EQ(listed->front().container.labels, entry().front().labels) << config;
  }
}

TEST(ParseInspect, AnImpossibleExitCodeMakesAnUnknownState) {
  const auto unknown = to_string(ExecutionState(Phase::kFailedUnknown, kListingFailed));
  for (const auto* word : {"exited", "dead"})
    for (const auto* code : {"-1", "256", "1.5", "99999999999999999999", "\"0\"", "null"})
      EXPECT_EQ(state_in(concat(R"({"Status": ")", word, R"(", "ExitCode": )", code, "}")), unknown)
          << word << code;
  EXPECT_EQ(state_in(R"({"Status": "exited"})"), unknown);
  // While it runs nobody asks for one.
  EXPECT_EQ(state_in(R"({"Status": "running", "ExitCode": -1})"), "Running(Ok)");
}

TEST(ParseInspect, OneOddContainerSpoilsNothingButItself) {
  auto entries = entry();
  entries.push_back({{"b"}, "other", {{"agent", "B"}}, false});
  EXPECT_EQ(
      summary(parse_inspect(R"([{"Id": "b", "State": {"Status": "exited", "ExitCode": 300}},
                                      {"Id": "a", "State": {"Status": "exited", "ExitCode": 0}},
                                      {"no id": 1}, "no object", null])",
                            entries)),
      (Lines{"web: Succeeded(Ok)", concat("other: Failed(Unknown): '", kListingFailed, "'")}));
}

TEST(ParseInspect, AStateThatIsMissingIsOneThatNobodyKnows) {
  for (const auto* state : {"null", "{}", "\"running\"", R"({"Status": 1})"})
    EXPECT_EQ(state_in(state), "Failed(Unknown)") << state;
  EXPECT_EQ(parse_inspect(R"([{"Id": "a"}])", entry()).value().size(), 1U);
}

TEST(ParseInspect, WhatHasNeverRunIsCreated) {
  EXPECT_EQ(state_in(R"({"Status": ""})", true), "Pending(Starting): 'created'");
  EXPECT_EQ(state_in(R"({"Status": "running"})", true), "Running(Ok)");
}

// The number may belong to another process by then.
TEST(ParseInspect, AnEndedContainerHasNoProcess) {
  for (const auto& [word, pid] : std::vector<std::pair<std::string, pid_t>>{{"running", 4711},
                                                                            {"paused", 4711},
                                                                            {"exited", 0},
                                                                            {"dead", 0},
                                                                            {"created", 0},
                                                                            {"removing", 0}}) {
    const auto listed = parse_inspect(
        inspected(concat(R"({"Status": ")", word, R"(", "ExitCode": 0, "Pid": 4711})")), entry());
    EXPECT_EQ(listed.value().front().pid, pid) << word;
  }
}

TEST(ParseInspect, SaysWhatItCannotRead) {
  for (const auto& [output, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "nerdctl inspect printed no JSON: "},
           {"[{\"Id\":", "nerdctl inspect printed no JSON: "},
           {"{}", "nerdctl inspect printed no list: '{}'"},
           {"null", "nerdctl inspect printed no list: 'null'"}}) {
    const auto listed = parse_inspect(output, entry());
    ASSERT_FALSE(listed) << output;
    EXPECT_TRUE(listed.error().message.starts_with(message)) << listed.error().message;
  }
}

// -- States ----------------------------------------------------------------------------------------------------------

TEST(StatusOf, MapsEveryWordOfNerdctl) {
  struct Row {
    const char* word;
    int exit_code;
    ExecutionState state;
  };
  for (const auto& row : std::vector<Row>{
           {"created", 0, ExecutionState(Phase::kPendingStarting, "created")},
           {"restarting", 1, ExecutionState(Phase::kPendingStarting, "restarting")},
           {"running", 0, ExecutionState(Phase::kRunningOk)},
           {"running", 7, ExecutionState(Phase::kRunningOk)},
           {"exited", 0, ExecutionState(Phase::kSucceededOk)},
           {"exited", 7, ExecutionState(Phase::kFailedExecFailed, "Exit code: '7'")},
           {"exited", 255, ExecutionState(Phase::kFailedExecFailed, "Exit code: '255'")},
           {"dead", 0, ExecutionState(Phase::kFailedExecFailed, "Exit code: '0'")},
           {"dead", 7, ExecutionState(Phase::kFailedExecFailed, "Exit code: '7'")},
           {"removing", 7, ExecutionState(Phase::kStopping, "removing")},
           {"paused", 0, ExecutionState(Phase::kFailedUnknown, "paused")},
           {"unknown", 0, ExecutionState(Phase::kFailedUnknown, "unknown")},
           // Words of podman that nerdctl does not say
           {"configured", 0, ExecutionState(Phase::kFailedUnknown, "configured")},
           {"initialized", 0, ExecutionState(Phase::kFailedUnknown, "initialized")},
           {"stopping", 0, ExecutionState(Phase::kFailedUnknown, "stopping")},
           {"stopped", 0, ExecutionState(Phase::kFailedUnknown, "stopped")},
           {"", 0, ExecutionState(Phase::kFailedUnknown, "")},
           {"Running", 0, ExecutionState(Phase::kRunningOk)},
           {"EXITED", 1, ExecutionState(Phase::kFailedExecFailed, "Exit code: '1'")},
           {"Removing", 0, ExecutionState(Phase::kStopping, "Removing")}}) {
    SCOPED_TRACE(row.word);
    EXPECT_EQ(execution_state_of(status_of(row.word, row.exit_code)), row.state);
  }
}

}  // namespace
}  // namespace tiphys::nerdctl
