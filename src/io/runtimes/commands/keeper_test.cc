#include "io/runtimes/commands/keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "io/runtimes/commands/test_world.h"

namespace tiphys::commands {
namespace {

std::optional<Keeper> no_keeper(pid_t) { return std::nullopt; }

TEST(KeeperAbove, IsWhatTheParentIsTakenFor) {
  const Keeper ours{{"a"}, "", "", "", ""};
  const auto read = [&ours](pid_t process) {
    return process == ::getppid() ? std::optional(ours) : std::nullopt;
  };
  EXPECT_EQ(keeper_above(::getpid(), read), ours);
  EXPECT_EQ(keeper_above(::getpid(), no_keeper), std::nullopt);
  EXPECT_EQ(keeper_above(0, read), std::nullopt);
}

TEST(ContainerProcesses, KnowsTheNextPidFileFromOneKeeper) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path("id-2/userdata"));
  ContainerProcesses processes(no_keeper);
  processes.learn({{"id-1"}, "", "", "", "pidfile without the id"});
  EXPECT_EQ(processes.find({"id-2"}), std::nullopt);
  processes.learn({{"id-1"}, "", "", "", folder.path("id-1/userdata/pidfile")});
  EXPECT_EQ(processes.find({"id-2"}), std::nullopt);
  folder.write("id-2/userdata/pidfile", "4711\n");
  EXPECT_EQ(processes.find({"id-2"}), 4711);
  folder.write("id-2/userdata/pidfile", "garbage");
  EXPECT_EQ(processes.find({"id-2"}), std::nullopt);
}

TEST(ReadExitCode, TakesANumberThatIsAnExitCode) {
  const TestFolder folder;
  const Keeper keeper{{"a"}, folder.path("exit"), "", "", ""};
  EXPECT_EQ(read_exit_code(keeper), std::nullopt);
  for (const auto& [text, code] : std::vector<std::pair<std::string, std::optional<int>>>{
           {"0", 0}, {"137", 137}, {"255\n", 255}, {"", {}}, {"256", {}}, {"-1", {}}, {"1x", {}}}) {
    folder.write("exit", text);
    EXPECT_EQ(read_exit_code(keeper), code) << text;
  }
}

// As with the files of a process that has just ended: they can be opened, and then not be read.
TEST(ReadExitCode, KnowsNothingOfWhatOpensButCannotBeRead) {
  const TestFolder folder;
  EXPECT_EQ(read_exit_code({{"a"}, folder.path(), "", "", ""}), std::nullopt);
  EXPECT_EQ(read_exit_code({{"a"}, "", "", "", ""}), std::nullopt);
}

TEST(RanOutOfMemory, LooksIntoBothFolders) {
  const TestFolder folder;
  EXPECT_FALSE(ran_out_of_memory({{"a"}, "", folder.path(), folder.path(), ""}));
  folder.write("oom", "");
  EXPECT_TRUE(ran_out_of_memory({{"a"}, "", folder.path(), "", ""}));
  EXPECT_TRUE(ran_out_of_memory({{"a"}, "", "", folder.path(), ""}));
  EXPECT_FALSE(ran_out_of_memory({{"a"}, "", "", "", ""}));
}

}  // namespace
}  // namespace tiphys::commands
