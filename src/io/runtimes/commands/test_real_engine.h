#pragma once

// What the tests of engines with the real program share. Every test has an agent name of its own.

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/host/process.h"
#include "io/runtimes/commands/test_world.h"
#include "shell/engine.h"

namespace tiphys::commands {

using Lines = std::vector<std::string>;

inline constexpr const char* kTestImage = "localhost/tiphys/busybox:1";

template <class RealEngine>
class RealEngineTest : public testing::Test {
 protected:
  explicit RealEngineTest(std::string program, std::vector<std::string> create_options)
      : program_(std::move(program)), create_options_(std::move(create_options)) {
    static int count = 0;
    owner_ = {"ankaios",
              AgentName{concat("test-", std::to_string(::getpid()), "-", std::to_string(++count))}};
    engine_.watch(owner_, [this](const shell::EngineEvent& event) {
      match(
          event,
          [this](const shell::ContainerChanged& e) {
            events_.push_back(to_string(execution_state_of(e.status)));
          },
          [this](const shell::ChangesLost&) { events_.emplace_back("lost"); });
    });
  }

  // What a person types meanwhile.
  std::string typed(std::vector<std::string> arguments) {
    std::optional<std::string> output;
    host::ProcessSpec spec{.program = program_, .arguments = std::move(arguments)};
    processes_.start(spec, [&](const Result<host::ProcessEnd>& end) {
      EXPECT_TRUE(end && end->exit_code == 0) << (end ? end->err : end.error().message);
      output = end ? end->out : "";
    });
    EXPECT_TRUE(loop_.await([&] { return output.has_value(); }));
    return output.value_or("");
  }

  template <class T, class Call>
  Result<T> answer_of(Call call) {
    std::optional<Result<T>> answer;
    call([&](Result<T> told) { answer = std::move(told); });
    EXPECT_TRUE(loop_.await([&] { return answer.has_value(); }));
    return answer ? *answer : Result<T>(fail(Code::kInternal, "no answer"));
  }

  Result<shell::ContainerId> create(std::vector<std::string> arguments,
                                    const std::string& image = kTestImage) {
    return answer_of<shell::ContainerId>([&](auto sink) {
      shell::ContainerSpec spec;
      spec.name = instance();
      spec.image = image;
      spec.create_options = create_options_;
      spec.arguments = std::move(arguments);
      spec.labels = {{"name", instance()}};
      engine_.create(owner_, spec, true, sink);
    });
  }
  Status remove(const shell::ContainerId& id) {
    return answer_of<void>([&](auto sink) { engine_.remove(id, sink); });
  }
  // The states of this test's containers.
  Lines listed() {
    const auto containers =
        answer_of<std::vector<shell::Container>>([&](auto sink) { engine_.list(owner_, sink); });
    if (!containers) return {containers.error().message};
    Lines lines;
    for (const auto& container : *containers)
      lines.push_back(to_string(execution_state_of(container.status)));
    return lines;
  }

  shell::ContainerId running_container() {
    const auto id = create({"sleep", "1000"});
    EXPECT_TRUE(id) << id.error().message;
    EXPECT_EQ(listed(), (Lines{"Running(Ok)"}));
    events_.clear();
    return id.value_or(shell::ContainerId{});
  }
  pid_t process_of(const shell::ContainerId& id) {
    return std::stoi(typed({"inspect", "--format", "{{.State.Pid}}", id.value}));
  }
  bool await_event(const std::string& event) {
    return loop_.await([&] { return !events_.empty() && events_.back() == event; });
  }
  [[nodiscard]] std::string instance() const { return concat("web.aaa.", owner_.agent.value); }

  static constexpr const char* kKilled = "Failed(ExecFailed): 'Exit code: '137''";
  const std::string program_;
  const std::vector<std::string> create_options_;
  TestLoop loop_;
  shell::Owner owner_;
  Lines events_;
  host::Processes processes_{loop_.context.get_executor()};
  RealEngine engine_{loop_.context.get_executor(), loop_, loop_};
};

}  // namespace tiphys::commands
