#include "model/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tiphys {
namespace {

// An object with one scalar field and one list that is shown only on demand.
struct Sample final : Tree::Object {
  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override {
    return key == "name" ? std::optional<Tree>("sample") : std::nullopt;
  }
  [[nodiscard]] Tree::Map fields(Empties empties) const override {
    const auto map = Tree::Map().set("name", "sample");
    return empties == Empties::kKeep ? map.set("list", Tree::List{}) : map;
  }
};
struct Other final : Tree::Object {
  [[nodiscard]] std::optional<Tree> field(std::string_view) const override { return std::nullopt; }
  [[nodiscard]] Tree::Map fields(Empties) const override { return {}; }
};

Tree sample() { return std::make_shared<const Sample>(); }

// One tree of every kind, no two of them equal.
std::vector<std::pair<Tree, std::string>> kinds() {
  return {{Tree(), "null"},     {true, "a boolean"},      {1U, "a number"},
          {"text", "a string"}, {Tree::List{}, "a list"}, {Tree::Map(), "a map"},
          {sample(), "a map"}};
}

TEST(Tree, KnowsItsKind) {
  for (const auto& [tree, kind] : kinds()) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(tree.kind(), kind);
    EXPECT_EQ(tree.is_null(), kind == "null");
    EXPECT_EQ(tree.is_map(), kind == "a map");
    EXPECT_EQ(tree.boolean() != nullptr, kind == "a boolean");
    EXPECT_EQ(tree.number() != nullptr, kind == "a number");
    EXPECT_EQ(tree.string() != nullptr, kind == "a string");
    EXPECT_EQ(tree.list() != nullptr, kind == "a list");
  }
}

TEST(Tree, HandsOutItsValue) {
  EXPECT_EQ(*Tree(true).boolean(), true);
  EXPECT_EQ(*Tree(std::uint64_t{1} << 63U).number(), std::uint64_t{1} << 63U);
  EXPECT_EQ(*Tree(std::uint8_t{7}).number(), 7U);
  EXPECT_EQ(*Tree(std::string_view("a\0b", 3)).string(), std::string("a\0b", 3));
  EXPECT_EQ(Tree(Tree::List{"x", 1U}).list()->size(), 2U);
}

TEST(Tree, HandsOutAnObjectAsWhatItIs) {
  EXPECT_NE(sample().object<Sample>(), nullptr);
  EXPECT_EQ(sample().object<Other>(), nullptr);
  EXPECT_EQ(Tree(Tree::Map()).object<Sample>(), nullptr);
}

TEST(Tree, HasChildrenAsAMapOrAnObject) {
  const Tree map = Tree::Map().set("a", 1U).set("", "empty key");
  EXPECT_EQ(map.child("a"), Tree(1U));
  EXPECT_EQ(map.child(""), Tree("empty key"));
  EXPECT_EQ(map.child("b"), std::nullopt);
  EXPECT_EQ(sample().child("name"), Tree("sample"));
  EXPECT_EQ(sample().child("list"), std::nullopt);
  for (const auto& [tree, kind] : kinds())
    if (!tree.is_map()) {
      EXPECT_EQ(tree.child("0"), std::nullopt) << kind;
      EXPECT_TRUE(tree.entries().empty()) << kind;
    }
}

TEST(Tree, ShowsTheEmptyFieldsOfAnObjectOnDemand) {
  EXPECT_EQ(sample().entries().size(), 1U);
  EXPECT_EQ(sample().entries(Empties::kKeep).size(), 2U);
}

TEST(Tree, OfEachKindEqualsOnlyItself) {
  const auto a = kinds();
  const auto b = kinds();
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      EXPECT_EQ(a[i].first == b[k].first, i == k) << i << ' ' << k;
}

TEST(Tree, ComparesListsElementByElement) {
  EXPECT_EQ(Tree(Tree::List{"x", 1U}), Tree(Tree::List{"x", 1U}));
  EXPECT_FALSE(Tree(Tree::List{"x", 1U}) == Tree(Tree::List{1U, "x"}));
  EXPECT_FALSE(Tree(Tree::List{"x"}) == Tree(Tree::List{"x", "x"}));
}

TEST(Tree, AnObjectEqualsAMapWithItsFields) {
  EXPECT_EQ(sample(), Tree(Tree::Map().set("name", "sample")));
  EXPECT_EQ(Tree(Tree::Map().set("name", "sample")), sample());
  EXPECT_FALSE(sample() == Tree(Tree::Map().set("name", "other")));
  EXPECT_FALSE(sample() == Tree("sample"));
  EXPECT_FALSE(sample() == Tree(std::make_shared<const Other>()));
}

TEST(Tree, IsTheSameWhenItSharesMemory) {
  for (const auto& [tree, kind] : kinds()) {
    const Tree copy = tree;
    EXPECT_TRUE(copy.same_as(tree)) << kind;
    EXPECT_EQ(copy, tree) << kind;
  }
  EXPECT_FALSE(sample().same_as(sample()));
  EXPECT_FALSE(Tree(Tree::List{}).same_as(Tree(Tree::List{})));
  EXPECT_FALSE(Tree(Tree::Map().set("a", 1U)).same_as(Tree(Tree::Map().set("a", 1U))));
  EXPECT_FALSE(Tree("a").same_as(Tree("b")));
  EXPECT_FALSE(Tree("1").same_as(Tree(1U)));
}

// [utest->swdd~api-object-serialization~1]
TEST(Tree, ShowsItsEntriesInAscendingOrderHoweverTheyCame) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& keys) {
    Tree::Map map;
    for (const auto& key : keys) map = map.set(key, "value");
    std::vector<std::string> shown;
    Tree(map).entries().for_each(
        [&](const std::string& key, const Tree&) { shown.push_back(key); });
    std::vector<std::string> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    RC_ASSERT(shown == sorted);
  }));
}

}  // namespace
}  // namespace tiphys
