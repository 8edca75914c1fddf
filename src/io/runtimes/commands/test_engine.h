#pragma once

// What the tests of engines with a stand-in for their program share.

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/match.h"
#include "io/runtimes/commands/command_engine.h"
#include "io/runtimes/commands/test_world.h"

namespace tiphys::commands {

using Lines = std::vector<std::string>;

inline const shell::Owner kTestOwner{"ankaios", AgentName{"agent_A"}};

// A program that notes how it was called and then does what the test wrote for that command.
inline constexpr const char* kStandIn = R"(#!/bin/sh
folder=$(dirname "$0")
for command; do case $command in -*) ;; *) break;; esac; done
printf '%s\n' "$*" >> "$folder/calls"
. "$folder/on-$command"
)";

std::string error_of(const auto& result) { return result ? "no error" : result.error().message; }

template <class EngineUnderTest>
class StandInTest : public testing::Test {
 protected:
  StandInTest() {
    folder_.write("program", kStandIn, 0755);
    on("stop", ":");
    on("rm", ":");
    settings_.program = folder_.path("program");
  }

  void on(std::string_view command, std::string_view script) {
    folder_.write(concat("on-", command), script);
  }

  // How often each command was called since the last look.
  Lines taken_calls() {
    const auto text = folder_.read("calls");
    std::filesystem::remove(folder_.path("calls"));
    Lines lines;
    for (const auto line : split(trim(text), '\n'))
      if (!line.empty()) lines.emplace_back(line);
    return lines;
  }

  EngineUnderTest& engine() {
    if (!engine_) engine_.emplace(loop_.context.get_executor(), loop_, loop_, settings_);
    return *engine_;
  }

  template <class T, class Call>
  Result<T> answer_of(Call call) {
    std::optional<Result<T>> answer;
    int answers = 0;
    call([&](Result<T> told) {
      answer = std::move(told);
      ++answers;
    });
    EXPECT_EQ(answers, 0);
    EXPECT_TRUE(loop_.await([&] { return answers > 0; }));
    EXPECT_EQ(answers, 1);
    return answer ? *answer : Result<T>(fail(Code::kInternal, "no answer"));
  }

  Result<shell::ContainerId> create(bool start = true) {
    return answer_of<shell::ContainerId>([&](auto sink) {
      shell::ContainerSpec spec;
      spec.name = "web.aaa.agent_A";
      spec.image = "img";
      spec.arguments = {"one"};
      spec.labels = {{"name", "web.aaa.agent_A"}};
      engine().create(kTestOwner, spec, start, sink);
    });
  }
  Status start() {
    return answer_of<void>([&](auto sink) { engine().start({"c1"}, {"--g"}, sink); });
  }
  Status remove() {
    return answer_of<void>([&](auto sink) { engine().remove({"c1"}, sink); });
  }
  Result<std::vector<shell::Container>> list(const shell::Owner& owner = kTestOwner) {
    return answer_of<std::vector<shell::Container>>([&](auto sink) { engine().list(owner, sink); });
  }
  // "id state" of each
  Lines listed(const shell::Owner& owner = kTestOwner) {
    const auto containers = list(owner);
    if (!containers) return {containers.error().message};
    Lines lines;
    for (const auto& container : *containers)
      lines.push_back(
          concat(container.id.value, " ", to_string(execution_state_of(container.status))));
    return lines;
  }

  void listen() {
    engine().watch(kTestOwner, [this](const shell::EngineEvent& event) {
      match(
          event,
          [this](const shell::ContainerChanged& e) {
            events_.push_back(concat(e.id.value, " ", to_string(execution_state_of(e.status))));
          },
          [this](const shell::ChangesLost&) { events_.emplace_back("lost"); });
    });
  }

  [[nodiscard]] std::string execution_of(std::string_view arguments) const {
    return concat(". Execution of '", settings_.program, " ", arguments, "'");
  }

  TestFolder folder_;
  TestLoop loop_;
  EngineSettings settings_;
  std::optional<EngineUnderTest> engine_;
  Lines events_;
};

}  // namespace tiphys::commands
