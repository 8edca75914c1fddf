#include "io/host/log_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/strings.h"

namespace tiphys::host {
namespace {

using shell::Level;

constexpr std::chrono::system_clock::time_point kNoon{std::chrono::seconds(1769860800)};

std::string text_of(std::string_view text, shell::Log::Fields fields = {}) {
  constexpr std::string_view kStart = "[2026-01-31T12:00:00Z INFO  x] ";
  const std::string line = format_log_line(kNoon, Level::kInfo, "x", text, fields, false);
  EXPECT_TRUE(line.starts_with(kStart)) << line;
  EXPECT_TRUE(line.ends_with('\n')) << line;
  return line.substr(kStart.size(), line.size() - kStart.size() - 1);
}

TEST(LogLine, HasTimeLevelAndTarget) {
  for (const auto& [level, expected] : std::vector<std::tuple<Level, std::string>>{
           {Level::kError, "[2026-01-31T12:00:00Z ERROR ank_server] text\n"},
           {Level::kWarn, "[2026-01-31T12:00:00Z WARN  ank_server] text\n"},
           {Level::kInfo, "[2026-01-31T12:00:00Z INFO  ank_server] text\n"},
           {Level::kDebug, "[2026-01-31T12:00:00Z DEBUG ank_server] text\n"},
           {Level::kTrace, "[2026-01-31T12:00:00Z TRACE ank_server] text\n"}})
    EXPECT_EQ(format_log_line(kNoon, level, "ank_server", "text", {}, false), expected);
  EXPECT_EQ(format_log_line(kNoon, Level::kWarn, "", "text", {}, false),
            "[2026-01-31T12:00:00Z WARN] text\n");
  EXPECT_EQ(format_log_line(kNoon, Level::kInfo, "x", "text", {}, true),
            "\x1b[90m[\x1b[0m2026-01-31T12:00:00Z \x1b[32mINFO \x1b[0m x\x1b[90m]\x1b[0m text\n");
}

TEST(LogLine, FieldsFollowTheText) {
  EXPECT_EQ(text_of("agent connected", {{"agent", "agent_A"}, {"number", "5"}}),
            "agent connected agent=agent_A number=5");
  EXPECT_EQ(text_of("t", {{"empty", ""}, {"blank", "a b"}, {"quote", "a\"\\b"}, {"sum", "a=b"}}),
            R"(t empty="" blank="a b" quote="a\"\\b" sum="a=b")");
}

TEST(LogLine, ForeignTextCanNeitherBreakTheLineNorSteerATerminal) {
  EXPECT_EQ(text_of("a\nb\r\tc"), R"(a\nb\r\tc)");
  EXPECT_EQ(text_of("\x1b[2J\x7f" + std::string(1, '\0')), R"(\u{1b}[2J\u{7f}\u{0})");
  EXPECT_EQ(text_of("\xc2\x9b"
                    "2J"),
            R"(\u{9b}2J)");
  EXPECT_EQ(text_of("a\xe2\x80\xa8"
                    "b\xe2\x80\xa9"
                    "c"),
            R"(a\u{2028}b\u{2029}c)");
  EXPECT_EQ(text_of("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xff!"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xef\xbf\xbd!");
  EXPECT_EQ(text_of("t", {{"value", "a\nb"}}), R"(t value="a\nb")");
}

TEST(LogLine, VeryLongTextIsCut) {
  const std::string text = text_of(std::string(kMaxLoggedText + 7, 'a'));
  EXPECT_EQ(text, std::string(kMaxLoggedText, 'a') + "... (7 bytes more)");
}

class LogSinkTest : public ::testing::Test {
 public:
  LogSinkTest() {
    ::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0);
  }
  ~LogSinkTest() override {
    close_reader();
    ::close(pipe_[1]);
  }

 protected:
  void close_reader() {
    if (pipe_[0] >= 0) ::close(pipe_[0]);
    pipe_[0] = -1;
  }
  // What stands in the pipe now.
  std::string drained() {
    ::fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 4096> chunk;
    for (ssize_t count = 0; (count = ::read(pipe_[0], chunk.data(), chunk.size())) > 0;)
      text.append(chunk.data(), static_cast<std::size_t>(count));
    return text;
  }

  std::array<int, 2> pipe_{};
};

std::vector<std::string> texts_of(const std::string& lines) {
  std::vector<std::string> texts;
  for (const auto line : split(lines, '\n'))
    if (!line.empty()) texts.emplace_back(line.substr(line.find("] ") + 2));
  return texts;
}

TEST_F(LogSinkTest, WritesWhatTheFilterShows) {
  LogSink log("ank_server", {.filter = LogFilter::parse("warn").filter}, pipe_[1]);
  log.error("an error");
  log.warn("a warning", {{"key", "value"}});
  log.info("not shown");
  EXPECT_EQ(texts_of(drained()), (std::vector<std::string>{"an error", "a warning key=value"}));
}

TEST_F(LogSinkTest, AFatalRecordHasNoTargetAndIsAlwaysShown) {
  LogSink log("ank_server", {.filter = LogFilter::parse("off").filter}, pipe_[1]);
  log.error("not shown");
  log.fatal("it ends: 'so'");
  const std::string line = drained();
  EXPECT_EQ(line.substr(line.find('Z')), "Z ERROR] it ends: 'so'\n");
}

TEST_F(LogSinkTest, SaysFirstWhatWasWrongWithTheSettings) {
  const LogSink log("x", {.warnings = {"first", "second"}}, pipe_[1]);
  EXPECT_EQ(texts_of(drained()), (std::vector<std::string>{"first", "second"}));
}

TEST_F(LogSinkTest, TheTraceIsForLevelTrace) {
  LogSink quiet("x", {}, pipe_[1]);
  EXPECT_FALSE(LogTrace(quiet).enabled());
  LogSink log("x", {.filter = LogFilter::parse("trace").filter}, pipe_[1]);
  LogTrace trace(log);
  EXPECT_TRUE(trace.enabled());
  trace.event("agent", "Connected");
  trace.effect("agent", "List");
  EXPECT_EQ(texts_of(drained()), (std::vector<std::string>{"agent <- Connected", "agent -> List"}));
}

TEST_F(LogSinkTest, LinesOfSeveralThreadsStayWhole) {
  LogSink log("x", {}, pipe_[1]);
  std::vector<std::string> expected;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      const std::string text(40, static_cast<char>('a' + i));
      expected.insert(expected.end(), 50, text);
      threads.emplace_back([&log, text] {
        for (int n = 0; n < 50; ++n) log.info(text);
      });
    }
  }
  auto texts = texts_of(drained());
  std::ranges::sort(texts);
  EXPECT_EQ(texts, expected);
}

TEST_F(LogSinkTest, GoesOnWhenNobodyReadsAndTellsHowMuchWasLost) {
  ::fcntl(pipe_[1], F_SETPIPE_SZ, 4096);
  LogSink log("x", {}, pipe_[1]);
  for (int i = 0; i < 500; ++i) log.info("one of many lines, which do not all fit into the pipe");
  const auto kept = texts_of(drained()).size();
  EXPECT_GT(kept, 0U);
  EXPECT_LT(kept, 500U);
  log.info("somebody reads again");
  EXPECT_EQ(texts_of(drained()),
            (std::vector<std::string>{
                concat("nobody read the log in time lost=", std::to_string(500 - kept)),
                "somebody reads again"}));
  EXPECT_EQ(::fcntl(pipe_[1], F_GETFL) & O_NONBLOCK, 0) << "others share that flag";
}

TEST_F(LogSinkTest, ALineThatWasCutDoesNotSwallowTheNextOne) {
  ::fcntl(pipe_[1], F_SETPIPE_SZ, 4096);
  LogSink log("x", {}, pipe_[1]);
  log.info(std::string(10'000, 'a'));
  EXPECT_EQ(drained().find('\n'), std::string::npos);
  log.info("the next");
  const std::string rest = drained();
  EXPECT_TRUE(rest.starts_with('\n')) << rest;
  EXPECT_EQ(texts_of(rest),
            (std::vector<std::string>{"nobody read the log in time lost=1", "the next"}));
}

TEST_F(LogSinkTest, GoesOnWhenTheReaderIsGone) {
  LogSink log("x", {}, pipe_[1]);
  close_reader();
  for (int i = 0; i < 1000; ++i) log.info("nobody reads this");
  LogSink none("x", {}, -1);
  for (int i = 0; i < 10; ++i) none.info("nor this");
}

TEST(LogSink, WritesToSocketsToo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  {
    LogSink log("x", {}, ends[0]);
    log.info("to the journal");
    std::array<char, 4096> chunk;
    const ssize_t count = ::read(ends[1], chunk.data(), chunk.size());
    ASSERT_GT(count, 0);
    EXPECT_EQ(texts_of({chunk.data(), static_cast<std::size_t>(count)}),
              std::vector<std::string>{"to the journal"});
    // More than a socket buffers, and nobody reads.
    for (int i = 0; i < 500; ++i) log.info(std::string(kMaxLoggedText, 'a'));
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tiphys::host
