#include "io/runtimes/nerdctl/shim.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tiphys::nerdctl {
namespace {

// Blanks stand for the zero bytes that the kernel shows.
std::string command_line(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '\0');
  text.push_back('\0');
  return text;
}

TEST(ParseShim, ReadsTheCommandLineOfContainerd1) {
  const auto line = command_line(
      "/usr/bin/containerd-shim-runc-v2 -namespace default -id 2eecc4 -address /run/c.sock");
  EXPECT_EQ(
      parse_shim(line, "/run/containerd/io.containerd.runtime.v2.task/default/2eecc4"),
      (commands::Keeper{{"2eecc4"},
                        "",
                        "",
                        "",
                        "/run/containerd/io.containerd.runtime.v2.task/default/2eecc4/init.pid"}));
}

TEST(ParseShim, GuessesNoFolder) {
  for (const auto* folder : {"", "/", "/run/another"})
    EXPECT_EQ(parse_shim(command_line("containerd-shim-runc-v2 -id 2eecc4"), folder),
              (commands::Keeper{{"2eecc4"}, "", "", "", ""}))
        << folder;
}

TEST(ParseShim, TakesNothingElseForOne) {
  for (const auto* line : {"", "containerd-shim-runc-v2", "containerd-shim-runc-v2 -id",
                           "containerd-shim-runc-v2 -namespace n", "containerd -id 2eecc4",
                           "/containerd-shim/sh -id 2eecc4", "containerd-shim-runc-v2 -id "})
    EXPECT_EQ(parse_shim(command_line(line), "/run/2eecc4"), std::nullopt) << line;
  EXPECT_EQ(parse_shim("", ""), std::nullopt);
}

TEST(ReadShim, TakesNoOtherProcessForOne) {
  EXPECT_EQ(read_shim(::getpid()), std::nullopt);
  EXPECT_EQ(read_shim(0), std::nullopt);
}

}  // namespace
}  // namespace tiphys::nerdctl
