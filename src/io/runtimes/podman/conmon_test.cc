#include "io/runtimes/podman/conmon.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tiphys::podman {
namespace {

using commands::Keeper;

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
      (Keeper{{"2eecc4"},
              "/run/libpod/exits/2eecc4",
              "",
              "/var/lib/containers/storage/overlay-containers/2eecc4/userdata",
              "/run/containers/storage/overlay-containers/2eecc4/userdata/pidfile"}));
}

TEST(ParseConmon, ReadsTheFolderOfNewerVersions) {
  EXPECT_EQ(
      parse_conmon(command_line("conmon -c 2eecc4 -b /b -p /p/pidfile --exit-dir "
                                "/run/libpod/exits --persist-dir /run/libpod/persist/2eecc4")),
      (Keeper{{"2eecc4"},
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

TEST(ReadConmon, TakesNoOtherProcessForOne) {
  EXPECT_EQ(read_conmon(::getpid()), std::nullopt);
  EXPECT_EQ(read_conmon(0), std::nullopt);
}

}  // namespace
}  // namespace tiphys::podman
