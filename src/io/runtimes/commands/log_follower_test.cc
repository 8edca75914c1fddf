#include "io/runtimes/commands/log_follower.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/line_splitter.h"
#include "base/match.h"
#include "base/strings.h"
#include "io/host/descriptor.h"

namespace tiphys::commands {
namespace {

using Lines = std::vector<std::string>;

TEST(LogsArguments, AreTheOptionsAsTheyCame) {
  for (const auto& [options, expected] : std::vector<std::pair<shell::LogOptions, std::string>>{
           {{}, "logs|c1"},
           {{.follow = true, .tail = {}, .since = {}, .until = {}}, "logs|-f|c1"},
           {{.follow = true, .tail = 5, .since = "a", .until = "b"},
            "logs|-f|--since|a|--until|b|--tail|5|c1"},
           {{.follow = false, .tail = 0, .since = {}, .until = {}}, "logs|--tail|0|c1"},
           {{.follow = false, .tail = -1, .since = {}, .until = {}}, "logs|--tail|-1|c1"},
           {{.follow = false, .tail = {}, .since = "", .until = ""}, "logs|--since||--until||c1"},
       })
    EXPECT_EQ(join(logs_arguments(options, "c1"), "|"), expected);
}

// Both threads are one loop here.
class LogFollowerTest : public testing::Test, public shell::Strand {
 public:
  ~LogFollowerTest() override { std::filesystem::remove_all(folder_); }

 protected:
  struct Told {
    Lines lines;
    std::size_t batches = 0;
    std::optional<Status> end;
    bool goes_on = true;  // asks for the next batch at once
  };

  LogFollowerTest() {
    std::string name = "/tmp/tiphys-logs-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }

  void post(std::function<void()> task) override { boost::asio::post(context_, std::move(task)); }

  LogFollower& follower() {
    if (!follower_) follower_.emplace(context_.get_executor(), *this, settings_);
    return *follower_;
  }

  shell::LogStream follow(const std::string& script, Told& told) {
    auto stream = std::make_shared<shell::LogStream>(0);
    *stream = follower().follow({"-c", script}, [this, &told, stream](shell::LogEvent event) {
      EXPECT_FALSE(told.end) << "told after the end";
      match(
          std::move(event),
          [&](const shell::LogLines& e) {
            EXPECT_FALSE(e.lines.empty());
            told.lines.insert(told.lines.end(), e.lines.begin(), e.lines.end());
            ++told.batches;
            if (told.goes_on) follower_->continue_with(*stream);
          },
          [&](shell::LogEnd e) { told.end = std::move(e.status); });
    });
    return *stream;
  }
  Told follow_to_end(const std::string& script) {
    Told told;
    follow(script, told);
    EXPECT_FALSE(told.end);
    await([&] { return told.end.has_value(); });
    return told;
  }

  template <class Condition>
  void await(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!condition() && std::chrono::steady_clock::now() < end)
      context_.run_one_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(condition());
  }
  // What is under way comes; what must not come has its chance.
  void turn() {
    for (int turns = 0; turns < 40; ++turns) context_.run_one_for(std::chrono::milliseconds(5));
  }

  [[nodiscard]] std::string path(std::string_view name) const { return concat(folder_, "/", name); }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stay_{
      context_.get_executor()};
  LogFollower::Settings settings_{.program = "/bin/sh"};
  std::optional<LogFollower> follower_;
  std::string folder_;
};

// A pipe at which a program waits. Open for both directions, so that neither opening nor writing ever waits for it.
class Gate {
 public:
  explicit Gate(const std::string& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    pipe_ = host::Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(pipe_.number(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

 private:
  host::Descriptor pipe_;
};

bool is_gone(const std::string& pid) { return ::kill(std::stoi(pid), 0) != 0; }

TEST_F(LogFollowerTest, TellsTheLinesOfBothOutputsAndTheEnd) {
  const auto told = follow_to_end("echo one; echo two; printf 'x\\r\\n\\nrest'; echo oops >&2");
  auto lines = told.lines;
  EXPECT_EQ(std::erase(lines, "oops"), 1U);
  EXPECT_EQ(lines, (Lines{"one", "two", "x\r", "", "rest"}));
  EXPECT_TRUE(*told.end) << told.end->error().message;
}

TEST_F(LogFollowerTest, APieceOfALineWaitsForItsRest) {
  const Gate gate(path("go"));
  Told told;
  follow(concat("printf fi; read line < ", path("go"), "; printf '%s\\nsix\\n' $line; read line < ",
                path("go")),
         told);
  turn();
  EXPECT_TRUE(told.lines.empty());
  gate.write("ve\n");
  await([&] { return told.lines.size() == 2; });
  EXPECT_EQ(told.lines, (Lines{"five", "six"}));
  EXPECT_FALSE(told.end);
  gate.write("\n");
  await([&] { return told.end.has_value(); });
}

TEST_F(LogFollowerTest, TheWordsOfAProgramThatFailsAreLinesToo) {
  const auto told = follow_to_end("echo 'Error: gone' >&2; exit 125");
  EXPECT_EQ(told.lines, (Lines{"Error: gone"}));
  ASSERT_FALSE(*told.end);
  EXPECT_EQ(told.end->error().message, "exit code 125");
}

TEST_F(LogFollowerTest, AMissingProgramIsAnEndWithAnError) {
  settings_.program = "/nowhere/podman";
  const auto told = follow_to_end("");
  EXPECT_TRUE(told.lines.empty());
  ASSERT_FALSE(*told.end);
  EXPECT_EQ(told.end->error().message, "cannot start '/nowhere/podman': No such file or directory");
}

TEST_F(LogFollowerTest, ManyLinesComeInFewBatchesAndInOrder) {
  const auto told = follow_to_end("seq 1 100000");
  ASSERT_EQ(told.lines.size(), 100'000U);
  for (std::size_t i = 0; i < told.lines.size(); ++i)
    ASSERT_EQ(told.lines[i], std::to_string(i + 1));
  EXPECT_LT(told.batches, 1000U);
}

TEST_F(LogFollowerTest, WhoDoesNotAskForMoreGetsNoMoreAndTheProgramWaits) {
  Told told;
  told.goes_on = false;
  const auto stream = follow(concat("seq 1 200000; touch ", path("done")), told);
  await([&] { return told.batches == 1; });
  turn();
  EXPECT_EQ(told.batches, 1U);
  EXPECT_FALSE(std::filesystem::exists(path("done")));
  EXPECT_LT(told.lines.size(), 20'000U);
  told.goes_on = true;
  follower().continue_with(stream);
  await([&] { return told.end.has_value(); });
  EXPECT_EQ(told.lines.size(), 200'000U);
}

TEST_F(LogFollowerTest, TheEndComesBehindLinesThatWaited) {
  Told told;
  told.goes_on = false;
  const Gate gate(path("go"));
  const auto stream = follow(concat("echo one; read line < ", path("go"), "; echo two"), told);
  await([&] { return told.batches == 1; });
  gate.write("\n");
  turn();
  EXPECT_EQ(told.lines, (Lines{"one"}));
  EXPECT_FALSE(told.end);
  follower().continue_with(stream);
  await([&] { return told.end.has_value(); });
  EXPECT_EQ(told.lines, (Lines{"one", "two"}));
}

TEST_F(LogFollowerTest, EndingKillsTheProgramAndTellsNothingMore) {
  Told told;
  const auto stream = follow("echo $$; exec yes", told);
  await([&] { return !told.lines.empty(); });
  follower().end(stream);
  const auto count = told.lines.size();
  await([&] { return is_gone(told.lines.front()); });
  turn();
  EXPECT_EQ(told.lines.size(), count);
  EXPECT_FALSE(told.end);
  follower().end(stream);
  follower().continue_with(stream);
  turn();
}

TEST_F(LogFollowerTest, EndingBeforeAnythingWasReadIsHeeded) {
  Told told;
  follower().end(follow("echo never", told));
  turn();
  EXPECT_TRUE(told.lines.empty());
  EXPECT_FALSE(told.end);
}

TEST_F(LogFollowerTest, OneTooManyIsAnEndWithAnErrorAndALaterOneIsFine) {
  settings_.max_followers = 1;
  Told first;
  const auto stream = follow("echo here; exec sleep 1000", first);
  Told second;
  follow("echo never", second);
  EXPECT_FALSE(second.end);
  await([&] { return second.end.has_value(); });
  EXPECT_TRUE(second.lines.empty());
  ASSERT_FALSE(*second.end);
  EXPECT_EQ(second.end->error().message,
            "the logs of 1 containers are being read already; try again later");
  await([&] { return !first.lines.empty(); });
  follower().end(stream);
  EXPECT_EQ(follow_to_end("echo third").lines, (Lines{"third"}));
}

TEST_F(LogFollowerTest, ALineThatIsTooLongEndsItAndTheProgram) {
  const auto told =
      follow_to_end("echo $$; head -c 60000000 /dev/zero | tr '\\0' x; echo; exec sleep 1000");
  ASSERT_EQ(told.lines.size(), 2U);
  EXPECT_EQ(told.lines[1], kLineTooLong);
  EXPECT_TRUE(*told.end);
  await([&] { return is_gone(told.lines[0]); });
}

TEST_F(LogFollowerTest, GarbageBecomesText) {
  const auto told = follow_to_end("printf 'a\\377b\\n\\0\\n'");
  EXPECT_EQ(told.lines, (Lines{"a\xEF\xBF\xBD"
                               "b",
                               std::string(1, '\0')}));
}

TEST_F(LogFollowerTest, WhoGoesTakesItsProgramsAlong) {
  Told told;
  follow("echo $$; exec yes", told);
  await([&] { return !told.lines.empty(); });
  follower_.reset();
  EXPECT_TRUE(is_gone(told.lines.front()));
  turn();
  EXPECT_FALSE(told.end);
}

}  // namespace
}  // namespace tiphys::commands
