// Runs real programs: scripts of /bin/sh in a folder of their own.

#include "io/hooks/hook_runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "core/server/server_machine.h"
#include "io/wire/hook_lists.h"

namespace tiphys::hooks {
namespace {

using server::Hook;
using server::HookAnswer;

class QueuedStrand final : public shell::Strand {
 public:
  void post(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  std::deque<std::function<void()>> tasks;
};

class RecordingLog final : public shell::Log {
 public:
  void write(shell::Level level, std::string_view text, Fields fields) override {
    std::string line = concat(level == shell::Level::kDebug  ? "debug "
                              : level == shell::Level::kInfo ? "info "
                                                             : "warn ",
                              text);
    for (const auto& [name, value] : fields) line += concat(" ", name, "=", value);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> lines;
};

class HookRunnerTest : public testing::Test {
 public:
  ~HookRunnerTest() override { std::filesystem::remove_all(folder); }

 protected:
  HookRunnerTest() {
    std::string name = "/tmp/tiphys-hooks-XXXXXX";
    folder = ::mkdtemp(name.data());
  }

  Hook hook(std::string_view script, mode_t mode = 0755) {
    const std::string file = folder + "/h";
    std::ofstream(file) << script;
    ::chmod(file.c_str(), mode);
    return {"h", folder, 0};
  }

  // The answer, in a line.
  std::string answer(const Hook& asked, Limits limits = {}) {
    ProgramRunner runner(io.get_executor(), strand, log, limits, folder);
    std::optional<HookAnswer> given;
    runner.run(asked, lists, [&](HookAnswer found) { given = std::move(found); });
    while (!given) {
      io.restart();
      io.run_one();
      for (; !strand.tasks.empty(); strand.tasks.pop_front()) strand.tasks.front()();
    }
    return to_string(server::Event(server::HookAnswered{1, *given}));
  }
  std::string answer(std::string_view script, Limits limits = {}) {
    return answer(hook(script), limits);
  }

  boost::asio::io_context io{1};
  QueuedStrand strand;
  RecordingLog log;
  std::string folder;
  const UpdateWorkload lists{{*WorkloadSpec::make("web",
                                                  [] {
                                                    auto workload = std::make_shared<Workload>();
                                                    workload->agent = "A";
                                                    workload->runtime = "podman";
                                                    workload->runtime_config = "image: a";
                                                    return workload;
                                                  }())},
                             {{{{"old"}, {"1"}, {"A"}}, {}}}};
};

TEST_F(HookRunnerTest, ChangesNothingWhenTheBytesAreTheSame) {
  EXPECT_EQ(answer("#!/bin/sh\ncat\n"), "hook changed nothing");
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(HookRunnerTest, TakesWhatTheHookWrites) {
  const UpdateWorkload other{{}, {{{{"other"}, {"2"}, {"B"}}, {}}}};
  std::ofstream(folder + "/answer") << wire::encode_lists(other);
  EXPECT_EQ(answer("#!/bin/sh\ncat > given\ncat answer\n"), "hook made UpdateWorkload -other.2.B");
  std::ifstream given(folder + "/given");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(given), {}), wire::encode_lists(lists));
  EXPECT_EQ(answer("#!/bin/sh\ncat > given\n"), "hook made UpdateWorkload")
      << "nothing is written: both lists are empty";
}

TEST_F(HookRunnerTest, TakesAnyBadEndForAVeto) {
  for (const auto& [script, expected] : std::vector<std::pair<std::string, std::string>>{
           {"cat >given; echo 'not allowed' >&2; exit 1", "hook vetoed: not allowed"},
           {"cat; printf '\\n  first\\nsecond  \\n\\n' >&2; exit 3", "hook vetoed: first\nsecond"},
           {"exit 7", "hook vetoed: "},
           {"kill -9 $$", "hook vetoed: "},
           {"printf '\\377' >&2; exit 1", "hook vetoed: \xef\xbf\xbd"},
           {"echo args=$# >&2; exit 1", "hook vetoed: args=0"}}) {
    SCOPED_TRACE(script);
    EXPECT_EQ(answer("#!/bin/sh\n" + script + "\n"), expected);
  }
  EXPECT_EQ(log.lines.at(0),
            "debug A mutating hook wrote to its standard error hook=h text=not allowed\n");
  EXPECT_EQ(log.lines.at(1),
            "info A mutating hook vetoed a change hook=h end=exit code 1 words=not allowed");
}

TEST_F(HookRunnerTest, DoesNotMindAHookThatReadsNothing) {
  const UpdateWorkload other{{}, {{{{"other"}, {"2"}, {"B"}}, {}}}};
  std::ofstream(folder + "/answer") << wire::encode_lists(other);
  EXPECT_EQ(answer("#!/bin/sh\nexec cat answer\n"), "hook made UpdateWorkload -other.2.B");
  EXPECT_EQ(answer("#!/bin/sh\ncat\necho fine >&2\n"), "hook changed nothing");
}

TEST_F(HookRunnerTest, SaysWhyAHookCannotBeRun) {
  const std::string beginning = concat("hook failed: Failed to execute hook '", folder, "/");
  EXPECT_EQ(answer(Hook{"nope", folder, 0}),
            beginning + "nope': No such file or directory (os error 2)");
  EXPECT_EQ(answer(hook("#!/bin/sh\ncat\n", 0644)),
            beginning + "h': Permission denied (os error 13)");
  EXPECT_EQ(answer(hook("cat\n")), beginning + "h': Exec format error (os error 8)");
  EXPECT_EQ(log.lines.at(0),
            concat("warn A mutating hook failed hook=nope reason=Failed to execute "
                   "hook '",
                   folder, "/nope': No such file or directory (os error 2)"));
}

TEST_F(HookRunnerTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(answer("#!/bin/sh\nprintf '\\377\\377\\377'\n"),
            "hook cannot be read: Failed to decode protobuf output from hook 'h': failed to decode "
            "Protobuf message: invalid varint");
  EXPECT_EQ(answer("#!/bin/sh\nprintf '\\012\\000'\n"),
            "hook cannot be read: Failed to convert output from hook 'h': No instance name");
  EXPECT_EQ(
      log.lines.at(0),
      "warn A mutating hook wrote what cannot be read hook=h reason=Failed to decode protobuf "
      "output from hook 'h': failed to decode Protobuf message: invalid varint");
}

TEST_F(HookRunnerTest, EndsAHookThatHangs) {
  const Limits limits{.time = std::chrono::milliseconds(50)};
  const std::string expected = concat("hook failed: Failed to wait for hook '", folder,
                                      "/h': it was ended after 50 ms without an answer");
  EXPECT_EQ(answer("#!/bin/sh\nexec sleep 600\n", limits), expected);
  EXPECT_EQ(answer("#!/bin/sh\ntrap '' TERM\nwhile :; do read line; done\n", limits), expected);
}

TEST_F(HookRunnerTest, EndsAHookThatWritesWithoutEnd) {
  const Limits limits{.time = std::chrono::milliseconds(50), .output = 1000};
  const std::string expected = concat("hook failed: Failed to wait for hook '", folder,
                                      "/h': it wrote more than 1000 bytes");
  EXPECT_EQ(answer("#!/bin/sh\nexec yes\n", limits), expected);
  EXPECT_EQ(answer("#!/bin/sh\nprintf '%02000d' 1\n", {.output = 1000}), expected);
}

TEST_F(HookRunnerTest, LeavesNothingBehindWhenItGoes) {
  std::optional<ProgramRunner> runner(std::in_place, io.get_executor(), strand, log);
  bool answered = false;
  runner->run(hook(concat("#!/bin/sh\necho $$ > '", folder, "/pid'\nexec sleep 600\n")), lists,
              [&](const HookAnswer&) { answered = true; });
  pid_t pid = 0;
  while (!(std::ifstream(folder + "/pid") >> pid)) {
    io.restart();
    io.run_one_for(std::chrono::milliseconds(10));
  }
  runner.reset();
  io.restart();
  io.poll();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace tiphys::hooks
