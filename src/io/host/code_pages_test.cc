#include "io/host/code_pages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tiphys::host {
namespace {

// Kilobytes of this program's code that this process has mapped.
long mapped_code() {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool is_ours = false;
  long kilobytes = 0;
  while (std::getline(maps, line)) {
    if (line.find(" r-xp ") != std::string::npos)
      is_ours = line.find("io_host_test") != std::string::npos;
    else if (line.find("-p ") != std::string::npos || line.find(" rw") != std::string::npos)
      is_ours = false;
    if (is_ours && line.starts_with("Rss:")) kilobytes += std::stol(line.substr(4));
  }
  return kilobytes;
}

// Has to stay what it is, wherever its page goes.
std::string constant() { return "constant"; }

TEST(CodePages, ComeBackWhenTheyAreNeeded) {
  const std::string before = constant();
  release_code_pages();
  const long after = mapped_code();
  EXPECT_EQ(constant(), before);
  EXPECT_GT(after, 0) << "this very code runs";
  release_code_pages();
  EXPECT_LE(mapped_code(), after + 64) << "what is not run does not come back";
}

}  // namespace
}  // namespace tiphys::host
