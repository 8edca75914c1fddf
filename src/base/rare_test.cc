#include "base/rare.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace tiphys {
namespace {

using Map = std::map<std::string, int>;

TEST(RareTest, TakesAPointersRoom) { EXPECT_EQ(sizeof(Rare<Map>), sizeof(void*)); }

TEST(RareTest, IsEmptyUntilSomethingIsPutIntoIt) {
  Rare<Map> rare;
  EXPECT_TRUE(rare.empty());
  EXPECT_EQ(rare.size(), 0U);
  EXPECT_EQ(rare.begin(), rare.end());
  rare.edit()["a"] = 1;
  EXPECT_FALSE(rare.empty());
  EXPECT_EQ(rare->at("a"), 1);
  EXPECT_EQ(rare, (Map{{"a", 1}}));
  rare.edit().clear();
  EXPECT_TRUE(rare.empty());
}

TEST(RareTest, EmptyIsEqualHoweverItBecameSo) {
  Rare<Map> emptied(Map{{"a", 1}});
  emptied.edit().clear();
  EXPECT_EQ(emptied, Rare<Map>());
  EXPECT_EQ(emptied, Rare<Map>(Map()));
}

TEST(RareTest, ACopyIsItsOwn) {
  const Rare<Map> original(Map{{"a", 1}});
  Rare<Map> copy = original;
  copy.edit()["a"] = 2;
  EXPECT_EQ(original->at("a"), 1);
  copy = original;
  EXPECT_EQ(copy->at("a"), 1);
  const Rare<Map> moved = std::move(copy);
  EXPECT_EQ(moved, original);
}

}  // namespace
}  // namespace tiphys
