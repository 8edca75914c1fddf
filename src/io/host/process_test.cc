#include "io/host/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/strings.h"

namespace tiphys::host {
namespace {

using namespace std::chrono_literals;

class Folder {
 public:
  Folder() {
    std::string name = "/tmp/tiphys-process-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(std::string_view name) const { return concat(path_, "/", name); }
  std::string write(std::string_view name, std::string_view text, mode_t mode) const {
    const auto file = path(name);
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ProcessSpec shell(std::string script) {
  return {.program = "/bin/sh", .arguments = {"-c", std::move(script)}};
}

class ProcessTest : public testing::Test {
 protected:
  Result<ProcessEnd> run(const ProcessSpec& spec) {
    std::optional<Result<ProcessEnd>> end;
    processes_.emplace(context_.get_executor());
    processes_->start(spec, [&](Result<ProcessEnd> told) { end = std::move(told); });
    EXPECT_FALSE(end) << "told before start() returned";
    context_.restart();
    context_.run();
    EXPECT_TRUE(end) << "never told";
    return end ? *std::move(end) : fail(Code::kInternal, "never told");
  }

  ProcessEnd end_of(const ProcessSpec& spec) {
    auto end = run(spec);
    EXPECT_TRUE(end) << end.error().message;
    return end ? *std::move(end) : ProcessEnd{};
  }

  std::string error_of(const ProcessSpec& spec) {
    const auto end = run(spec);
    return end ? "started" : end.error().message;
  }

  // Runs the loop until the condition holds.
  template <class Condition>
  void await(Condition condition) {
    context_.restart();
    for (int turn = 0; turn < 10'000 && !condition(); ++turn) context_.run_one_for(10ms);
    ASSERT_TRUE(condition());
  }

  boost::asio::io_context context_;
  std::optional<Processes> processes_;
  Folder folder_;
};

// The state letter of /proc, or nothing when there is no such process any more.
std::optional<char> state_of(pid_t pid) {
  std::ifstream file(concat("/proc/", std::to_string(pid), "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  return text.at(end + 2);
}

bool has_ended(const std::string& pid) {
  const auto state = state_of(std::stoi(pid));
  return !state || *state == 'Z' || *state == 'X';
}

TEST_F(ProcessTest, TellsExitCodeAndBothOutputs) {
  const auto end = end_of(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.out, "out\n");
  EXPECT_EQ(end.err, "err\n");
  EXPECT_FALSE(end.timed_out);
  EXPECT_EQ(how_it_ended(end), "exit code 3");
}

TEST_F(ProcessTest, TellsTheSignalThatKilledIt) {
  const auto end = end_of(shell("kill -9 $$"));
  EXPECT_EQ(end.signal, 9);
  EXPECT_EQ(how_it_ended(end), "killed by signal 9 (Killed)");
}

TEST_F(ProcessTest, PassesArgumentsAsTheyAre) {
  const auto end = end_of(
      {.program = "printf", .arguments = {"%s|", "", "a b", "$HOME", "`id`", "a\nb", "日本"}});
  EXPECT_EQ(end.out, "|a b|$HOME|`id`|a\nb|日本|");
}

TEST_F(ProcessTest, GivesInputOfAnySize) {
  auto spec = shell("wc -c");
  spec.input = std::string(3'000'000, 'x');
  EXPECT_EQ(trim(end_of(spec).out), "3000000");
  spec.input.clear();
  EXPECT_EQ(trim(end_of(spec).out), "0");
}

TEST_F(ProcessTest, KeepsOutputUpToItsLimitAndReadsAllOfIt) {
  auto spec = shell("head -c 1000000 /dev/zero; head -c 200000 /dev/zero >&2; exit 5");
  spec.max_output = 1000;
  spec.max_errors = 200'000;
  const auto end = end_of(spec);
  EXPECT_EQ(end.exit_code, 5);
  EXPECT_EQ(end.out.size(), 1000U);
  EXPECT_TRUE(end.out_was_cut);
  EXPECT_EQ(end.err.size(), 200'000U);
  EXPECT_FALSE(end.err_was_cut);
}

TEST_F(ProcessTest, AddsToTheEnvironmentAndReplacesInIt) {
  ::setenv("TIPHYS_TEST_OURS", "ours", 1);
  ::setenv("TIPHYS_TEST_BOTH", "ours", 1);
  auto spec = shell("echo $TIPHYS_TEST_OURS $TIPHYS_TEST_BOTH $TIPHYS_TEST_ITS");
  spec.environment = {{"TIPHYS_TEST_BOTH", "its"}, {"TIPHYS_TEST_ITS", "its"}};
  EXPECT_EQ(end_of(spec).out, "ours its its\n");
}

TEST_F(ProcessTest, RunsInTheGivenFolder) {
  auto spec = shell("pwd");
  spec.directory = folder_.path();
  EXPECT_EQ(trim(end_of(spec).out), std::filesystem::canonical(folder_.path()).string());
}

TEST_F(ProcessTest, LooksTheProgramUpInPath) {
  folder_.write("greet", "#!/bin/sh\necho hello\n", 0755);
  folder_.write("locked", "#!/bin/sh\necho hello\n", 0644);
  EXPECT_EQ(end_of({.program = "greet", .environment = {{"PATH", folder_.path()}}}).out, "hello\n");
  EXPECT_EQ(error_of({.program = "locked", .environment = {{"PATH", folder_.path()}}}),
            "cannot start 'locked': Permission denied");
}

TEST_F(ProcessTest, SaysWhyAProgramCannotBeStarted) {
  EXPECT_EQ(error_of({.program = "no-such-program"}),
            "cannot start 'no-such-program': No such file or directory");
  EXPECT_EQ(run({.program = "/no/such"}).error().code, Code::kNotFound);
  EXPECT_EQ(error_of({.program = ""}), "cannot start '': No such file or directory");
  const auto garbage = folder_.write("garbage",
                                     "\x7f"
                                     "ELF?",
                                     0755);
  EXPECT_EQ(error_of({.program = garbage}),
            concat("cannot start '", garbage, "': Exec format error"));
  auto spec = shell("true");
  spec.directory = folder_.path("missing");
  EXPECT_EQ(error_of(spec), "cannot start '/bin/sh': working directory: No such file or directory");
  EXPECT_EQ(run(spec).error().code, Code::kUnavailable);
  spec = shell(std::string("a\0b", 3));
  EXPECT_EQ(error_of(spec),
            "cannot start '/bin/sh': its command line holds a zero byte, which no program can be "
            "given");
  spec = shell("true");
  spec.descriptors = {{0, 2}};
  EXPECT_EQ(error_of(spec), "cannot start '/bin/sh': descriptor 2 is for its input and output");
  spec = shell("true");
  spec.descriptors = {{12345, 3}};
  EXPECT_EQ(error_of(spec), "cannot start '/bin/sh': passing descriptors: Bad file descriptor");
  spec = shell("true");
  spec.cgroups = {folder_.path("missing/cgroup.procs")};
  EXPECT_EQ(error_of(spec), concat("cannot start '/bin/sh': ", folder_.path("missing/cgroup.procs"),
                                   ": No such file or directory"));
  spec = shell("true");
  spec.limits = {{-1, 0, 0}};
  EXPECT_EQ(error_of(spec), "cannot start '/bin/sh': resource limit: Invalid argument");
}

TEST_F(ProcessTest, HandsOverTheNamedDescriptorsAndNoOthers) {
  const int leaky = ::open("/dev/zero", O_RDONLY);  // as a library might have opened it
  const int first = ::open(folder_.write("first", "1", 0600).c_str(), O_RDONLY | O_CLOEXEC);
  const int second = ::open(folder_.write("second", "2", 0600).c_str(), O_RDONLY | O_CLOEXEC);
  auto spec = shell("ls /proc/self/fd | tr '\\n' ' '; cat <&5; cat <&9");
  // Each wants the number that the other has.
  spec.descriptors = {{first, 9}, {second, 5}};
  EXPECT_EQ(end_of(spec).out, "0 1 2 3 5 9 21");  // 3 is the folder that ls reads
  for (const int descriptor : {leaky, first, second}) ::close(descriptor);
}

TEST_F(ProcessTest, SetsLimits) {
  auto spec = shell("ulimit -Sn; ulimit -Hn; ulimit -c");
  spec.limits = {{RLIMIT_NOFILE, 50, 60}, {RLIMIT_CORE, 0, 0}};
  EXPECT_EQ(end_of(spec).out, "50\n60\n0\n");
}

TEST_F(ProcessTest, DescriptorLimitIsRaisedForUsAlone) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lower{before.rlim_max - 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  auto spec = shell("ulimit -Sn; ulimit -Hn");
  spec.limits = {raise_descriptor_limit()};
  rlimit raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  EXPECT_EQ(end_of(spec).out, concat(std::to_string(before.rlim_max - 1), "\n",
                                     std::to_string(before.rlim_max), "\n"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(ProcessTest, BecomesAnotherUserWithThoseGroupsOnly) {
  if (::geteuid() == 0) {
    auto spec = shell("id -u; id -g; id -G");
    spec.user = ProcessUser{12345, 12346, {12347}};
    EXPECT_EQ(end_of(spec).out, "12345\n12346\n12346 12347\n");
    EXPECT_EQ(::getuid(), 0U);
  } else {
    auto spec = shell("true");
    spec.user = ProcessUser{0, 0, {}};
    EXPECT_EQ(error_of(spec), "cannot start '/bin/sh': changing the user: Operation not permitted");
  }
}

TEST_F(ProcessTest, JoinsItsCgroupsBeforeItRuns) {
  // What the kernel is told is a word in a file, here an ordinary one, twice as with the folders of v1.
  auto spec = shell("cat \"$@\"");
  spec.cgroups = {folder_.write("a", "", 0600), folder_.write("b", "", 0600)};
  spec.arguments.insert(spec.arguments.end(), {"sh", spec.cgroups[0], spec.cgroups[1]});
  EXPECT_EQ(end_of(spec).out, "00");
}

TEST_F(ProcessTest, StartsWithDefaultSignalsWhateverWeIgnore) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(end_of(shell("kill -PIPE $$; echo survived")).signal, SIGPIPE);
  ::signal(SIGPIPE, before);
}

TEST_F(ProcessTest, SaysSoWhenItCannotKnowHowItEnded) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);  // then the system forgets it at once
  EXPECT_EQ(error_of(shell("exit 3")), "it has ended, but the system does not say how");
  ::signal(SIGCHLD, before);
}

TEST_F(ProcessTest, DoesNotWaitForAGrandchildThatHoldsThePipes) {
  const auto end = end_of(shell("sleep 1000 & echo $!; exit 4"));
  EXPECT_EQ(end.exit_code, 4);
  const auto grandchild = std::string(trim(end.out));
  EXPECT_FALSE(has_ended(grandchild));
  ::kill(std::stoi(grandchild), SIGKILL);
}

TEST_F(ProcessTest, DoesNotReadForEverWhatAGrandchildWrites) {
  auto spec = shell("yes & echo $! >&2; exit 0");
  spec.max_output = 100;
  const auto end = end_of(spec);
  EXPECT_LE(end.out.size(), 100U);
  ::kill(std::stoi(end.err), SIGKILL);
}

TEST_F(ProcessTest, EndsTheWholeGroupAtItsDeadline) {
  auto spec = shell("sleep 1000 & echo $!; wait");
  spec.deadline = 50ms;
  const auto end = end_of(spec);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.signal, SIGTERM);
  await([&] { return has_ended(std::string(trim(end.out))); });
}

TEST_F(ProcessTest, KillsWhatDoesNotHeedTheOrderToEnd) {
  auto spec = shell("trap '' TERM; sleep 1000 & echo $!; wait; wait; while :; do sleep 1000; done");
  spec.deadline = 50ms;
  spec.grace = 50ms;
  const auto end = end_of(spec);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.signal, SIGKILL);
  await([&] { return has_ended(std::string(trim(end.out))); });
}

TEST_F(ProcessTest, KillsTheRestOfAGroupWhoseLeaderHeeded) {
  auto spec = shell("(trap '' TERM; echo ready; while :; do sleep 1000; done) & echo $!; wait");
  spec.deadline = 200ms;
  spec.grace = 1h;
  const auto end = end_of(spec);
  EXPECT_EQ(end.signal, SIGTERM);
  for (const auto line : split(trim(end.out), '\n'))
    if (line != "ready") await([&] { return has_ended(std::string(line)); });
}

TEST_F(ProcessTest, CancellingKillsAndTellsOnce) {
  processes_.emplace(context_.get_executor());
  int told = 0;
  const auto number = processes_->start(shell("sleep 1000"), [&](const Result<ProcessEnd>& end) {
    ++told;
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::kCancelled);
  });
  processes_->cancel(number);
  processes_->cancel(number);
  context_.run();
  EXPECT_EQ(told, 1);
  processes_->cancel(number);
  processes_->cancel(4711);
}

TEST_F(ProcessTest, WhoGoesKillsItsProcessesOrLeavesThem) {
  processes_.emplace(context_.get_executor());
  for (const auto& [file, outlives_us] : {std::pair{"killed", false}, {"left", true}}) {
    auto spec = shell(concat("echo $$ > ", folder_.path(file), ".new; mv ", folder_.path(file),
                             ".new ", folder_.path(file), "; exec sleep 1000"));
    spec.outlives_us = outlives_us;
    processes_->start(spec, [](const Result<ProcessEnd>&) { FAIL() << "told"; });
  }
  await([&] { return !folder_.read("killed").empty() && !folder_.read("left").empty(); });
  processes_.reset();
  EXPECT_EQ(state_of(std::stoi(folder_.read("killed"))), std::nullopt);
  EXPECT_FALSE(has_ended(folder_.read("left")));
  ::kill(std::stoi(folder_.read("left")), SIGKILL);
  ::waitpid(std::stoi(folder_.read("left")), nullptr, 0);
  context_.restart();
  context_.run();
}

TEST_F(ProcessTest, WhoIsLeftCanGoOnWriting) {
  processes_.emplace(context_.get_executor());
  auto spec = shell(concat(
      "echo $$ > ", folder_.path("begun"), "; while ! [ -e ", folder_.path("go"),
      " ]; do sleep 0.01; done; echo out; echo err >&2; echo yes > ", folder_.path("ended")));
  spec.outlives_us = true;
  processes_->start(spec, [](const Result<ProcessEnd>&) { FAIL() << "told"; });
  await([&] { return !folder_.read("begun").empty(); });
  processes_.reset();
  folder_.write("go", "", 0600);
  {
    const auto stay = boost::asio::make_work_guard(context_);
    await([&] { return folder_.read("ended") == "yes\n"; });
  }
  ::waitpid(std::stoi(folder_.read("begun")), nullptr, 0);
  context_.restart();
  context_.run();
}

TEST_F(ProcessTest, TellsWhatOneThatWouldOutliveUsWrote) {
  processes_.emplace(context_.get_executor());
  auto spec = shell("echo first; echo bad >&2; echo second");
  spec.outlives_us = true;
  spec.max_errors = 2;
  std::optional<ProcessEnd> told;
  processes_->start(spec, [&](const Result<ProcessEnd>& end) { told = *end; });
  await([&] { return told.has_value(); });
  EXPECT_EQ(told->out, "first\nsecond\n");
  EXPECT_FALSE(told->out_was_cut);
  EXPECT_EQ(told->err, "ba");
  EXPECT_TRUE(told->err_was_cut);
}

class FollowTest : public ProcessTest {
 protected:
  FollowTest() { processes_.emplace(context_.get_executor()); }

  ProcessNumber follow(const ProcessSpec& spec) {
    return processes_->follow(spec, {[this](OutputPipe pipe, std::string_view bytes) {
                                       EXPECT_FALSE(end_) << "told after the end";
                                       (pipe == OutputPipe::kOut ? out_ : err_).append(bytes);
                                       return wants_more_;
                                     },
                                     [this](Result<ProcessEnd> end) {
                                       EXPECT_FALSE(end_) << "ended twice";
                                       end_ = std::move(end);
                                     }});
  }
  void await_end() {
    await([this] { return end_.has_value(); });
  }

  // While nothing is read the loop would end.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stay_{
      context_.get_executor()};
  bool wants_more_ = true;
  std::string out_;
  std::string err_;
  std::optional<Result<ProcessEnd>> end_;
};

TEST_F(FollowTest, TellsWhatBothPipesSayAndThenTheEnd) {
  follow(shell("echo one; echo two >&2; printf three; exit 5"));
  EXPECT_FALSE(end_);
  await_end();
  EXPECT_EQ(out_, "one\nthree");
  EXPECT_EQ(err_, "two\n");
  ASSERT_TRUE(*end_);
  EXPECT_EQ((*end_)->exit_code, 5);
}

TEST_F(FollowTest, TellsWhatCameWhileTheProcessGoesOn) {
  const auto go = folder_.path("go");
  ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
  follow(shell(concat("echo first; read line < ", go, "; echo $line")));
  await([&] { return out_ == "first\n"; });
  EXPECT_FALSE(end_);
  std::ofstream(go) << "second\n";
  await_end();
  EXPECT_EQ(out_, "first\nsecond\n");
}

TEST_F(FollowTest, TellsALotInItsOrder) {
  follow(shell("seq 1 100000"));
  await_end();
  std::string expected;
  for (int number = 1; number <= 100'000; ++number)
    expected += concat(std::to_string(number), "\n");
  EXPECT_EQ(out_, expected);
}

TEST_F(FollowTest, AChildWaitsForAReaderThatHasEnough) {
  wants_more_ = false;
  const auto number = follow(shell(concat("yes | head -c 1000000; touch ", folder_.path("done"))));
  // One chunk was told, at most the pipe's content more was written.
  await([&] { return !out_.empty(); });
  const auto told = out_.size();
  for (int turn = 0; turn < 20; ++turn) context_.run_one_for(5ms);
  EXPECT_EQ(out_.size(), told);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("done")));
  EXPECT_FALSE(end_);
  wants_more_ = true;
  processes_->read_on(number);
  await_end();
  EXPECT_EQ(out_.size(), 1'000'000U);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("done")));
}

TEST_F(FollowTest, TheEndWaitsForAReaderThatHasNotSeenAll) {
  wants_more_ = false;
  const auto number = follow(shell(concat("yes | head -c 50000; echo $$ > ", folder_.path("pid"))));
  await([&] { return !folder_.read("pid").empty(); });
  await([&] { return has_ended(std::string(trim(folder_.read("pid")))); });
  for (int turn = 0; turn < 20; ++turn) context_.run_one_for(5ms);
  EXPECT_FALSE(end_);
  await([&] {
    processes_->read_on(number);  // after each chunk
    return end_.has_value();
  });
  EXPECT_EQ(out_.size(), 50'000U);
}

TEST_F(FollowTest, CancellingKillsTheGroupAndTellsNothingMore) {
  const auto number = follow(shell("sleep 1000 & echo $!; yes"));
  await([&] { return out_.find('\n') != std::string::npos; });
  const auto grandchild = out_.substr(0, out_.find('\n'));
  processes_->cancel(number);
  processes_->cancel(number);
  const auto told = out_.size();
  await_end();
  ASSERT_FALSE(*end_);
  EXPECT_EQ(end_->error().code, Code::kCancelled);
  EXPECT_EQ(out_.size(), told);
  await([&] { return has_ended(grandchild); });
}

TEST_F(FollowTest, CancellingWhatHasEndedUnreadTellsTheEndOnce) {
  wants_more_ = false;
  const auto number = follow(shell(concat("yes | head -c 50000; echo $$ > ", folder_.path("pid"))));
  await([&] { return !folder_.read("pid").empty(); });
  await([&] { return !state_of(std::stoi(folder_.read("pid"))); });  // reaped
  EXPECT_FALSE(end_);
  processes_->cancel(number);
  EXPECT_FALSE(end_) << "told before cancel() returned";
  await_end();
  ASSERT_FALSE(*end_);
  EXPECT_EQ(end_->error().code, Code::kCancelled);
  processes_->cancel(number);
  processes_->read_on(number);
}

TEST_F(FollowTest, DoesNotWaitForAGrandchildThatHoldsThePipes) {
  follow(shell("sleep 1000 & echo $!; exit 4"));
  await_end();
  ASSERT_TRUE(*end_);
  EXPECT_EQ((*end_)->exit_code, 4);
  EXPECT_FALSE(has_ended(out_));
  ::kill(std::stoi(out_), SIGKILL);
}

TEST_F(FollowTest, DoesNotReadForEverWhatAGrandchildWrites) {
  follow(shell("yes & echo $! >&2; exit 0"));
  await_end();
  ::kill(std::stoi(err_), SIGKILL);
}

TEST_F(FollowTest, AMissingProgramIsAnError) {
  follow({.program = "/nowhere/at/all"});
  EXPECT_FALSE(end_);
  await_end();
  ASSERT_FALSE(*end_);
  EXPECT_EQ(end_->error().code, Code::kNotFound);
}

TEST_F(FollowTest, WhoGoesKillsWhatItFollows) {
  follow(shell("echo $$; exec sleep 1000"));
  await([&] { return !out_.empty(); });
  processes_.reset();
  EXPECT_EQ(state_of(std::stoi(out_)), std::nullopt);
  EXPECT_FALSE(end_);
  stay_.reset();
  context_.run();
}

TEST_F(FollowTest, ChainsEachTellTheirOwn) {
  // Descriptors are used again and again: what Asio still had to say of an earlier one must not be taken for the next.
  for (int turn = 0; turn < 200; ++turn) {
    out_.clear();
    end_.reset();
    follow(shell(concat("echo ", std::to_string(turn))));
    await_end();
    EXPECT_EQ(out_, concat(std::to_string(turn), "\n"));
  }
}

// A process that begins when another ends gets the numbers of its descriptors, and must not get its end.
TEST_F(ProcessTest, ChainsOfProcessesEachEndByThemselves) {
  constexpr int kChains = 8;
  constexpr int kLinks = 60;
  Processes processes(context_.get_executor());
  int left = kChains * kLinks;
  std::vector<int> codes;
  std::function<void(int)> begin = [&](int links) {
    processes.start(shell("sleep 0.001 & exit 7"), [&, links](const Result<ProcessEnd>& end) {
      codes.push_back(end ? end->exit_code : -1);
      --left;
      if (links > 1) begin(links - 1);
    });
  };
  for (int chain = 0; chain < kChains; ++chain) begin(kLinks);
  // A loop that comes late finds all descriptors of a process ready at once, the end before the pipes, which a grandchild
  // held a little longer.
  for (int turn = 0; turn < 10'000 && left > 0; ++turn) {
    ::usleep(2000);
    context_.restart();
    context_.poll();
  }
  EXPECT_EQ(codes, std::vector<int>(std::size_t{kChains} * kLinks, 7));
}

TEST_F(ProcessTest, ManyAtOnceLeaveNeitherZombiesNorDescriptors) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  end_of(shell("exit 0"));  // Asio's own descriptors are there after the first
  const auto before = descriptors();
  int ended = 0;
  for (int i = 0; i < 50; ++i)
    processes_->start(shell("exit 0"), [&](const Result<ProcessEnd>& end) {
      EXPECT_TRUE(end);
      ++ended;
    });
  for (int i = 0; i < 20; ++i)
    processes_->start({.program = "/no/such"}, [&](const Result<ProcessEnd>& end) {
      EXPECT_FALSE(end);
      ++ended;
    });
  context_.restart();
  context_.run();
  EXPECT_EQ(ended, 70);
  EXPECT_EQ(descriptors(), before);
  errno = 0;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace tiphys::host
