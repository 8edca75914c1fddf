#include "cli/nearest.h"

#include <gtest/gtest.h>

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

// "-" for none.
std::string meant(std::string_view word, const Words& candidates) {
  const auto found = nearest(word, candidates);
  return found ? candidates[*found] : "-";
}

TEST(Nearest, TakesTheFewestChanges) {
  EXPECT_EQ(meant("wbe", {"db", "web"}), "web");
  EXPECT_EQ(meant("agent_b", {"agent_A", "agent_B"}), "agent_A");
  EXPECT_EQ(meant("runing", {"removed", "running"}), "running");
  EXPECT_EQ(meant("nginx", {"ngin", "nginxx"}), "ngin");
}

TEST(Nearest, KnowsNothingThatIsFarAway) {
  EXPECT_EQ(meant("apache", {"nginx"}), "-");
  EXPECT_EQ(meant("ab", {"cd"}), "-");
  EXPECT_EQ(meant("", {"a"}), "-");
  EXPECT_EQ(meant("a", {}), "-");
}

TEST(Nearest, SaysWhatThereIs) {
  EXPECT_EQ(unknown_name("no x", "wbe", "known", {}), "no x; known: none");
  EXPECT_EQ(unknown_name("no x", "wbe", "known", {"web"}), "no x; known: web");
  EXPECT_EQ(unknown_name("no x", "wbe", "known", {"db", "web"}),
            "no x; did you mean 'web'? known: db, web");
  Words many;
  for (int i = 0; i < 13; ++i) many.push_back("w" + std::to_string(i));
  EXPECT_EQ(unknown_name("no x", "", "known", many),
            "no x; known: w0, w1, w2, w3, w4, w5, w6, w7, w8, w9 and 3 more");
}

}  // namespace
}  // namespace tiphys::cli
