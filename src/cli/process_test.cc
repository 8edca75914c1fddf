// `ank` as a process: real descriptors, a real terminal, real signals.

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/test_server.h"
#include "model/state.h"

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

// The program with its words and environment, made ready before a child is forked: other threads of this process may hold
// any lock at that moment, so a child may do nothing but become it.
class Ank {
 public:
  explicit Ank(Words words, bool colours = true) : words_(std::move(words)) {
    const char* folder = std::getenv("TIPHYS_PROGRAMS");
    program_ = std::string(folder == nullptr ? "build/dev/bin" : folder) + "/ank";
    words_.insert(words_.begin(), "ank");
    if (!colours) environment_.emplace_back("NO_COLOR=1");
    for (auto& word : words_) argv_.push_back(word.data());
    for (auto& variable : environment_) envp_.push_back(variable.data());
    argv_.push_back(nullptr);
    envp_.push_back(nullptr);
  }
  [[noreturn]] void become() const {
    ::execve(program_.c_str(), argv_.data(), envp_.data());
    ::_exit(126);
  }

 private:
  std::string program_;
  Words words_;
  Words environment_{"HOME=/nowhere", "TERM=xterm"};
  std::vector<char*> argv_;
  std::vector<char*> envp_;
};

int wait_status(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// `prepare` arranges the descriptors of the child.
int status_of(const Words& words, const std::function<void()>& prepare) {
  const Ank ank(words);
  const pid_t child = ::fork();
  if (child == 0) {
    prepare();
    ank.become();
  }
  return wait_status(child);
}

void write_to_nobody() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) std::abort();
  ::close(ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
  ::close(ends[1]);
}

// A child on a terminal of its own, and what it shows.
class OnTerminal {
 public:
  OnTerminal(const Words& words, unsigned short columns, bool colours = true) {
    winsize size{24, columns, 0, 0};
    const Ank ank(words, colours);
    child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) ank.become();
  }
  ~OnTerminal() { ::close(terminal_); }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // Reads until the text is there; false at the end, or when nothing more comes for a long time.
  bool read_until(std::string_view text) {
    while (shown.find(text) == std::string::npos)
      if (!read_some()) return false;
    return true;
  }
  void read_to_the_end() {
    while (read_some()) {
    }
  }
  void signal(int number) const { ::kill(child_, number); }
  [[nodiscard]] int status() const { return wait_status(child_); }

  std::string shown;

 private:
  bool read_some() {
    pollfd waiting{terminal_, POLLIN, 0};
    if (::poll(&waiting, 1, 30'000) <= 0) return false;
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(terminal_, buffer.data(), buffer.size());
    if (count <= 0) return false;  // a terminal whose user has gone reads as an error
    shown.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
};

// w is for ever about to start.
Script starting_w() {
  Script script;
  script.on_request = [](Visitor& visitor, const Request& request) {
    WorkloadStates states;
    states.update({{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}},
                   ExecutionState(Phase::kPendingStarting)});
    const auto state = Tree::Map()
                           .set("agents", Tree::Map().set("a", Tree::Map()))
                           .set("workloadStates", states.tree());
    if (std::holds_alternative<CompleteStateRequest>(request.content))
      visitor.send(Response{request.id, CompleteStateResponse{state, {}}});
    else
      visitor.send(Response{request.id, UpdateStateSuccess{{"w.1.a"}, {}}});
  };
  return script;
}

TEST(Process, EndsBySigpipeWhenNobodyReadsItsResult) {
  const ScriptedServer server(starting_w());
  const int status = status_of({"-k", "-s", server.url(), "get", "state"}, write_to_nobody);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
}

TEST(Process, DoesNotMindWhenNobodyReadsWhatItDoesNotNeedToSay) {
  const ScriptedServer server(starting_w());
  for (const Words& words : {Words{"--version"}, Words{"--help"},
                             Words{"-k", "-s", server.url(), "delete", "config", "c"}}) {
    const int status = status_of(words, write_to_nobody);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << words[0] << " " << status;
  }
}

TEST(Process, KeepsItsOutputFromASocketWhenStdoutIsClosed) {
  const ScriptedServer server(starting_w());
  const int status = status_of({"-k", "-s", server.url(), "get", "agents"}, [] {
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(server.heard().size(), 1U);
}

TEST(Process, EndsByASignalWhileItWaitsAndLeavesAWholeTable) {
  const ScriptedServer server(starting_w());
  for (const int number : {SIGINT, SIGTERM}) {
    OnTerminal ank({"-k", "-s", server.url(), "run", "workload", "w", "--runtime", "r", "--config",
                    "c", "--agent", "a"},
                   100);
    ASSERT_TRUE(ank.read_until("/ Pending(Starting)")) << ank.shown;
    ank.signal(number);
    ank.read_to_the_end();
    const int status = ank.status();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_TRUE(ank.shown.ends_with("Pending(Starting)                  \x1b[K\r\n")) << ank.shown;
    EXPECT_NE(ank.shown.find("\x1b[1G\x1b[2AWORKLOAD NAME"), std::string::npos) << ank.shown;
  }
}

// Accepts a request for the logs of w, or for events, and says a line or two.
Script telling_of_w() {
  Script script;
  script.on_request = [answer = starting_w().on_request](Visitor& visitor, const Request& request) {
    const InstanceName w{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}};
    if (std::holds_alternative<CompleteStateRequest>(request.content)) {
      answer(visitor, request);
    } else if (std::holds_alternative<LogsRequest>(request.content)) {
      visitor.send(Response{request.id, LogsRequestAccepted{{w}}});
      visitor.send(Response{request.id, LogEntriesResponse{{{w, "a line"}}}});
    }
  };
  return script;
}

TEST(Process, EndsWellByASignalOnceLogsFlow) {
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) {
    const ScriptedServer server(telling_of_w());
    OnTerminal ank({"-k", "-s", server.url(), "logs", "-f", "w"}, 100);
    ASSERT_TRUE(ank.read_until("a line\r\n")) << ank.shown;
    ank.signal(number);
    ank.read_to_the_end();
    EXPECT_EQ(ank.status(), 0);
    EXPECT_EQ(ank.shown, "a line\r\n");
    const auto heard = server.heard();
    ASSERT_EQ(heard.size(), 4U);
    const auto& cancel = std::get<Request>(heard[2]);
    EXPECT_EQ(cancel.id, std::get<Request>(heard[1]).id);
    EXPECT_TRUE(std::holds_alternative<LogsCancelRequest>(cancel.content));
    EXPECT_TRUE(std::holds_alternative<Goodbye>(heard[3]));
  }
}

TEST(Process, EndsWellByASignalOnceEventsFlow) {
  const ScriptedServer server(telling_of_w());
  OnTerminal ank({"-k", "-s", server.url(), "get", "events", "-c"}, 100);
  ASSERT_TRUE(ank.read_until("subState: Starting")) << ank.shown;
  ank.signal(SIGINT);
  ank.read_to_the_end();
  EXPECT_EQ(ank.status(), 0);
  const auto heard = server.heard();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Goodbye>(heard[1]));
}

TEST(Process, EndsByASignalUntilItsRequestIsAccepted) {
  Script script = starting_w();
  script.on_request = [answer = script.on_request](Visitor& visitor, const Request& request) {
    if (!std::holds_alternative<LogsRequest>(request.content)) answer(visitor, request);
  };
  const ScriptedServer server(script);
  OnTerminal ank({"-v", "-k", "-s", server.url(), "--response-timeout", "60000", "logs", "-f", "w"},
                 100);
  ASSERT_TRUE(ank.read_until("Asking for the logs")) << ank.shown;
  ank.signal(SIGINT);
  const int status = ank.status();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST(Process, EndsBySigpipeWhenNobodyReadsTheLogs) {
  const ScriptedServer server(telling_of_w());
  const int status = status_of({"-k", "-s", server.url(), "logs", "-f", "w"}, write_to_nobody);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
}

TEST(Process, FitsItsTablesToTheTerminal) {
  const ScriptedServer server(starting_w());
  OnTerminal ank({"-k", "-s", server.url(), "get", "workloads"}, 20);
  ank.read_to_the_end();
  EXPECT_EQ(ank.shown, "WORKLOAD NAME   AGEN\r\nw               a   \r\n");
  EXPECT_EQ(ank.status(), 0);
}

TEST(Process, ShowsColoursOnATerminalUnlessToldNotTo) {
  OnTerminal coloured({"-k", "-s", "x", "get", "agents"}, 100);
  coloured.read_to_the_end();
  EXPECT_EQ(coloured.shown,
            "\x1b[38;5;9m\x1b[1merror:\x1b[0m Cannot connect to server: 'Wrong server address "
            "format: 'x'.'\r\n");
  EXPECT_EQ(WEXITSTATUS(coloured.status()), 1);
  OnTerminal plain({"-k", "-s", "x", "get", "agents"}, 100, false);
  plain.read_to_the_end();
  EXPECT_TRUE(plain.shown.starts_with("error: Cannot")) << plain.shown;
  EXPECT_EQ(WEXITSTATUS(plain.status()), 1);
}

}  // namespace
}  // namespace tiphys::cli
