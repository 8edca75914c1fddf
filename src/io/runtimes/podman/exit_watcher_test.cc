#include "io/runtimes/commands/exit_watcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <optional>

#include "io/host/process.h"
#include "io/runtimes/commands/test_world.h"
#include "io/runtimes/podman/conmon.h"

namespace tiphys::podman {
namespace {

using commands::ContainerExit;
using commands::ExitWatcher;
using commands::TestFolder;
using commands::TestLoop;
using commands::Watching;

// A shell that calls itself conmon, as long as the real one's command line is read: it starts one process and writes
// down how that ended.
constexpr const char* kFakeConmon = R"(
exits="$4"; bundle="$6"; pid_file="$8"; child="${10}"
sh -c "$child" & echo $! > "$pid_file.new"; mv "$pid_file.new" "$pid_file"
wait $!; code=$?
[ -e "$bundle/says-nothing" ] && exit
[ -e "$bundle/hungry" ] && touch "$bundle/oom"
echo -n $code > "$bundle/code"; mv "$bundle/code" "$exits/$2"
)";

class ExitWatcherTest : public testing::Test {
 protected:
  ExitWatcherTest() { folder_.write("script", kFakeConmon); }

  pid_t run(const std::string& id, const std::string& child) {
    const auto pid_file = concat(id, ".pid");
    std::filesystem::remove(folder_.path(pid_file));
    host::ProcessSpec spec{.program = "/bin/bash"};
    spec.arguments = {"-c",
                      concat("exec -a conmon bash ", folder_.path("script"),
                             " -c \"$0\" --exit-dir \"$1\" -b \"$1\" -p \"$2\" -n \"$3\""),
                      id,
                      folder_.path(),
                      folder_.path(pid_file),
                      child};
    processes_.start(spec, [](const Result<host::ProcessEnd>&) {});
    EXPECT_TRUE(loop_.await([&] { return !folder_.read(pid_file).empty(); }));
    return std::stoi(folder_.read(pid_file));
  }

  TestFolder folder_;
  TestLoop loop_;
  host::Processes processes_{loop_.context.get_executor()};
  std::vector<std::string> told_;
  ExitWatcher watcher_{
      loop_.context.get_executor(), read_conmon,
      [this](const shell::ContainerId& id, std::optional<ContainerExit> exit) {
        told_.push_back(concat(id.value, " ", exit ? std::to_string(exit->exit_code) : "unknown",
                               exit && exit->out_of_memory ? " oom" : ""));
      }};
};

using Lines = std::vector<std::string>;

TEST_F(ExitWatcherTest, TellsTheExitCodeThatConmonWritesDown) {
  const auto process = run("a", "read line < /dev/null; sleep 0.05; exit 7");
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kYes);
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kYes);
  ASSERT_TRUE(loop_.await([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Lines{"a 7"}));
}

TEST_F(ExitWatcherTest, TellsAKillAndThatMemoryRanOut) {
  folder_.write("hungry", "");
  const auto process = run("a", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kYes);
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Lines{"a 137 oom"}));
}

TEST_F(ExitWatcherTest, SaysWhenNoExitFileComes) {
  folder_.write("says-nothing", "");
  const auto process = run("a", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kYes);
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Lines{"a unknown"}));
}

TEST_F(ExitWatcherTest, DoesNotTakeTheFilesOfAnEarlierRunForThisOne) {
  folder_.write("says-nothing", "");
  folder_.write("a", "0");
  const auto process = run("a", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kYes);
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Lines{"a unknown"}));
}

TEST_F(ExitWatcherTest, RefusesAProcessThatIsNotTheContainers) {
  const auto process = run("a", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"b"}, process), Watching::kGone);
  EXPECT_EQ(watcher_.watch({"a"}, ::getpid()), Watching::kGone);
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !folder_.read("a").empty(); }));
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kGone);
  EXPECT_EQ(watcher_.watch({"a"}, -1), Watching::kImpossible);
  EXPECT_EQ(told_, Lines{});
}

TEST_F(ExitWatcherTest, LeavesDescriptorsForOthers) {
  const auto process = run("a", "exec sleep 1000");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(lowest);
  const auto few = static_cast<rlim_t>(lowest) * 2;
  const rlimit lower{few, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kImpossible);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(watcher_.watch({"a"}, process), Watching::kYes);
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !told_.empty(); }));
}

TEST_F(ExitWatcherTest, AForgottenOrReplacedProcessIsNotTold) {
  const auto forgotten = run("a", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"a"}, forgotten), Watching::kYes);
  watcher_.forget({"a"});
  watcher_.forget({"a"});
  const auto replaced = run("b", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"b"}, replaced), Watching::kYes);
  const auto current = run("b", "exec sleep 1000");
  EXPECT_EQ(watcher_.watch({"b"}, current), Watching::kYes);
  ::kill(forgotten, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !folder_.read("a").empty(); }));
  ::kill(replaced, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !folder_.read("b").empty(); }));
  EXPECT_EQ(told_, Lines{});
  folder_.write("b", "");
  ::kill(current, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Lines{"b 137"}));
}

TEST_F(ExitWatcherTest, FindsTheProcessOfAContainerByItsConmon) {
  const auto process = run("only-in-this-test", "exec sleep 1000");
  EXPECT_EQ(watcher_.find_process({"only-in-this-test"}), process);
  ::kill(process, SIGKILL);
}

}  // namespace
}  // namespace tiphys::podman
