#include "io/runtimes/podman/conmon.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "io/runtimes/podman/test_world.h"

namespace tiphys::podman {
namespace {

// Blanks stand for the zero bytes that the kernel shows.
std::string command_line(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '\0');
  text.push_back('\0');
  return text;
}

TEST(ParseConmon, ReadsTheCommandLineOfPodman4) {
  EXPECT_EQ(
      parse_conmon(command_line(
          "/usr/bin/conmon --api-version 1 -c 2eecc4 -u 2eecc4 -r /usr/bin/runc -b "
          "/var/lib/containers/storage/overlay-containers/2eecc4/userdata -p "
          "/run/containers/storage/overlay-containers/2eecc4/userdata/pidfile -n try1 "
          "--exit-dir /run/libpod/exits --full-attach -l k8s-file:/var/ctr.log --exit-command "
          "/usr/bin/podman --exit-command-arg --root")),
      (Conmon{{"2eecc4"},
              "/run/libpod/exits/2eecc4",
              "",
              "/var/lib/containers/storage/overlay-containers/2eecc4/userdata",
              "/run/containers/storage/overlay-containers/2eecc4/userdata/pidfile"}));
}

TEST(ParseConmon, ReadsTheFolderOfNewerVersions) {
  EXPECT_EQ(
      parse_conmon(command_line("conmon -c 2eecc4 -b /b -p /p/pidfile --exit-dir "
                                "/run/libpod/exits --persist-dir /run/libpod/persist/2eecc4")),
      (Conmon{{"2eecc4"},
              "/run/libpod/exits/2eecc4",
              "/run/libpod/persist/2eecc4",
              "/b",
              "/p/pidfile"}));
}

TEST(ParseConmon, TakesNothingElseForOne) {
  for (const auto* line : {"", "conmon", "conmon -c", "conmon -c 2eecc4", "conmon --exit-dir /x",
                           "conmon -c 2eecc4 --exit-dir", "/bin/sh -c 2eecc4 --exit-dir /x",
                           "notconmon -c 2eecc4 --exit-dir /x",
                           "conmon -c 2eecc4 --exit-dir /x --exec-process-spec /y"})
    EXPECT_EQ(parse_conmon(command_line(line)), std::nullopt) << line;
  EXPECT_EQ(parse_conmon(""), std::nullopt);
}

TEST(ConmonAbove, FindsNoneAboveOthers) {
  EXPECT_EQ(conmon_above(::getpid()), std::nullopt);
  EXPECT_EQ(conmon_above(0), std::nullopt);
}

TEST(ContainerProcesses, KnowsTheNextPidFileFromOneConmon) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path("id-2/userdata"));
  ContainerProcesses processes;
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
  const Conmon conmon{{"a"}, folder.path("exit"), "", "", ""};
  EXPECT_EQ(read_exit_code(conmon), std::nullopt);
  for (const auto& [text, code] : std::vector<std::pair<std::string, std::optional<int>>>{
           {"0", 0}, {"137", 137}, {"255\n", 255}, {"", {}}, {"256", {}}, {"-1", {}}, {"1x", {}}}) {
    folder.write("exit", text);
    EXPECT_EQ(read_exit_code(conmon), code) << text;
  }
}

// As with the files of a process that has just ended: they can be opened, and then not be read.
TEST(ReadExitCode, KnowsNothingOfWhatOpensButCannotBeRead) {
  const TestFolder folder;
  EXPECT_EQ(read_exit_code({{"a"}, folder.path(), "", "", ""}), std::nullopt);
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
}  // namespace tiphys::podman
