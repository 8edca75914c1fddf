#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tiphys {
namespace {

TEST(Random, OneSeedMeansTheSameNumbersEverywhere) {
  Random random(1);
  EXPECT_EQ(random.next(), 12966619160104079557U);
  EXPECT_EQ(random.next(), 9600361134598540522U);
}

TEST(Random, BelowReachesEveryAnswerAboutEquallyOften) {
  Random random(7);
  std::map<std::uint64_t, int> drawn;
  for (int i = 0; i < 30'000; ++i) ++drawn[random.below(3)];
  ASSERT_EQ(drawn.size(), 3U);
  for (const auto& [number, count] : drawn) EXPECT_NEAR(count, 10'000, 500) << number;
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(3);
  std::map<std::uint64_t, int> drawn;
  for (int i = 0; i < 1'000; ++i) ++drawn[random.between(5, 7)];
  EXPECT_EQ(drawn.begin()->first, 5U);
  EXPECT_EQ(drawn.rbegin()->first, 7U);
  EXPECT_EQ(random.between(9, 9), 9U);
  random.between(0, UINT64_MAX);
}

TEST(Random, ChanceOfNothingNeverAndOfAllAlways) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.chance(0, 10));
    EXPECT_TRUE(random.chance(10, 10));
  }
}

TEST(Random, ShuffleKeepsTheItems) {
  Random random(5);
  std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8};
  const auto sorted = items;
  random.shuffle(items);
  EXPECT_NE(items, sorted);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, sorted);
  EXPECT_EQ(random.pick(std::vector<int>{4}), 4);
}

TEST(Random, AForkDoesNotDisturbItsParent) {
  Random a(9);
  Random b(9);
  Random fork = a.fork();
  b.fork();
  for (int i = 0; i < 10; ++i) fork.next();
  EXPECT_EQ(a.next(), b.next());
}

TEST(RandomDeathTest, AnEmptyDrawIsABug) {
  Random random(1);
  EXPECT_DEATH(random.below(0), "at least one possible answer");
}

}  // namespace
}  // namespace tiphys
