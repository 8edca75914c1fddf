#include "base/persistent_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <compare>
#include <map>
#include <string>
#include <vector>

namespace tiphys {
namespace {

using Map = PersistentMap<std::string, int>;
using Plain = std::map<std::string, int>;

Plain plain(const Map& map) {
  Plain result;
  map.for_each([&](const std::string& key, int value) { result.emplace(key, value); });
  return result;
}

// A short alphabet, so that keys meet each other again.
std::string key_of(std::uint8_t number) { return "k" + std::to_string(number % 40); }

Map map_of(const std::vector<std::uint8_t>& numbers) {
  Map map;
  for (const auto number : numbers) map = map.set(key_of(number), number);
  return map;
}

TEST(PersistentMap, IsSortedAndKeepsTheLastValue) {
  const Map map = Map().set("b", 1).set("a", 2).set("b", 3);
  EXPECT_EQ(plain(map), (Plain{{"a", 2}, {"b", 3}}));
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(*map.find("b"), 3);
  EXPECT_EQ(map.find("c"), nullptr);
}

TEST(PersistentMap, AChangeLeavesTheOldMapAsItWas) {
  const Map before = Map().set("a", 1).set("b", 2);
  const Map after = before.set("a", 9).erase("b");
  EXPECT_EQ(plain(before), (Plain{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(plain(after), (Plain{{"a", 9}}));
}

TEST(PersistentMap, ErasingAMissingKeyGivesTheSameMap) {
  const Map map = Map().set("a", 1);
  EXPECT_TRUE(map.erase("b").same_as(map));
  EXPECT_TRUE(map.erase("a").empty());
}

TEST(PersistentMap, BehavesLikeAPlainMap) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint8_t, int>>& changes) {
    Map map;
    Plain model;
    for (const auto& [number, value] : changes) {
      const std::string key = key_of(number);
      if (value >= 0) {
        map = map.set(key, value);
        model[key] = value;
      } else {
        map = map.erase(key);
        model.erase(key);
      }
      RC_ASSERT(map.size() == model.size());
    }
    RC_ASSERT(plain(map) == model);
  }));
}

TEST(PersistentMap, EqualContentIsEqualHoweverItCameAbout) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& numbers) {
    const Map map = map_of(numbers);
    Map again;
    map.for_each([&](const std::string& key, int value) { again = again.set(key, value); });
    RC_ASSERT(map == again);
    RC_ASSERT(!(map == again.set("new", 1)));
  }));
}

TEST(PersistentMap, DifferenceNamesExactlyWhatDiffers) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
    const Map before = map_of(a);
    const Map after = map_of(b);
    Map patched = before;
    std::string last;
    Map::difference(
        before, after, [&](const std::string& key, const int* old_value, const int* new_value) {
          RC_ASSERT(last < key);
          last = key;
          RC_ASSERT((old_value == nullptr) == (before.find(key) == nullptr));
          RC_ASSERT((old_value == nullptr || new_value == nullptr || *old_value != *new_value));
          patched = new_value == nullptr ? patched.erase(key) : patched.set(key, *new_value);
        });
    RC_ASSERT(patched == after);
  }));
}

// Counts how often a value is compared: shared parts of two maps must not be looked at.
struct Counted {
  int value = 0;
  friend bool operator==(const Counted& a, const Counted& b) {
    ++comparisons;
    return a.value == b.value;
  }
  static int comparisons;
};
int Counted::comparisons = 0;

TEST(PersistentMap, DifferenceSkipsWhatIsShared) {
  PersistentMap<std::string, Counted> before;
  for (int i = 0; i < 10'000; ++i) before = before.set("workload_" + std::to_string(i), Counted{i});
  const auto after = before.set("workload_77", Counted{-1}).erase("workload_4242");
  Counted::comparisons = 0;
  int changes = 0;
  PersistentMap<std::string, Counted>::difference(before, after,
                                                  [&](const auto&, auto, auto) { ++changes; });
  EXPECT_EQ(changes, 2);
  EXPECT_LT(Counted::comparisons, 200);
}

TEST(PersistentMap, DifferenceTakesTheEqualityItIsGiven) {
  const Map before = Map().set("a", 1).set("b", 2).set("c", 3);
  const Map after = Map().set("a", 1).set("b", 20).set("c", 4);
  std::vector<std::string> keys;
  Map::difference(
      before, after, [&](const std::string& key, auto, auto) { keys.push_back(key); },
      [](int a, int b) { return a % 2 == b % 2; });
  EXPECT_EQ(keys, std::vector<std::string>{"c"});
}

// Counts how often a key is compared, which tells how deep a look-up went.
struct CountedKey {
  int value = 0;
  friend bool operator<(const CountedKey& a, const CountedKey& b) {
    ++comparisons;
    return a.value < b.value;
  }
  static int comparisons;
};
int CountedKey::comparisons = 0;

using CountedKeys = PersistentMap<CountedKey, int>;

// A level costs two comparisons, one each way.
int depth_of(const CountedKeys& map, int key) {
  CountedKey::comparisons = 0;
  static_cast<void>(map.find(CountedKey{key}));
  return (CountedKey::comparisons + 1) / 2;
}

int allowed_depth(std::size_t size) {
  return static_cast<int>(2.5 * std::log2(static_cast<double>(size) + 1)) + 1;
}

TEST(PersistentMap, StaysFlatForKeysInAscendingOrder) {
  CountedKeys map;
  for (int key = 0; key < 10'000; ++key) map = map.set(CountedKey{key}, key);
  for (int key = 0; key < 10'000; ++key) ASSERT_LE(depth_of(map, key), allowed_depth(map.size()));
}

TEST(PersistentMap, OfSortedEntriesIsTheSameMapAndFlat) {
  EXPECT_TRUE(rc::check([](const std::map<std::string, int>& entries) {
    Map expected;
    for (const auto& [key, value] : entries) expected = expected.set(key, value);
    RC_ASSERT(Map::of_sorted({entries.begin(), entries.end()}) == expected);
  }));
  std::vector<std::pair<CountedKey, int>> many;
  many.reserve(1'000);
  for (int key = 0; key < 1'000; ++key) many.emplace_back(CountedKey{key}, key);
  CountedKeys map = CountedKeys::of_sorted(many);
  for (int key = 1'000; key < 2'000; ++key) map = map.set(CountedKey{key}, key);
  for (int key = 0; key < 2'000; ++key) ASSERT_LE(depth_of(map, key), allowed_depth(map.size()));
}

TEST(PersistentMap, SettingAllIsLikeSettingEachAndLeavesTheOldMapAsItWas) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& old, const Plain& fresh,
                           const std::vector<std::uint8_t>& replaced) {
    const Map before = map_of(old);
    Plain changes = fresh;
    for (const auto number : replaced) changes[key_of(number)] = -1;
    Plain expected = plain(before);
    for (const auto& [key, value] : changes) expected[key] = value;
    const Plain old_entries = plain(before);
    const Map after = before.set_all({changes.begin(), changes.end()});
    RC_ASSERT(plain(after) == expected);
    RC_ASSERT(after.size() == expected.size());
    RC_ASSERT(plain(before) == old_entries);
  }));
}

TEST(PersistentMap, StaysFlatWhenManyAreSetAtOnce) {
  EXPECT_TRUE(rc::check([](const std::vector<std::map<std::uint16_t, int>>& batches) {
    CountedKeys map;
    for (const auto& batch : batches) {
      std::vector<std::pair<CountedKey, int>> entries;
      entries.reserve(batch.size());
      for (const auto& [key, value] : batch) entries.emplace_back(CountedKey{key}, value);
      map = map.set_all(std::move(entries));
      for (const auto& [key, value] : batch)
        RC_ASSERT(depth_of(map, key) <= allowed_depth(map.size()));
    }
  }));
}

TEST(PersistentMap, SettingNothingGivesTheSameMap) {
  const Map map = Map().set("a", 1);
  EXPECT_TRUE(map.set_all({}).same_as(map));
}

TEST(PersistentMap, StaysFlatWhateverIsSetAndErased) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint8_t, bool>>& changes) {
    CountedKeys map;
    for (const auto& [key, keep] : changes) {
      map = map.set(CountedKey{key}, key);
      if (!keep) map = map.erase(CountedKey{key / 2});
      for (int probe = 0; probe < 256; probe += 5)
        RC_ASSERT(depth_of(map, probe) <= allowed_depth(map.size()));
    }
  }));
}

}  // namespace
}  // namespace tiphys
