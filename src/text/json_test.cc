#include "text/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "text/tree_generator.h"

namespace tiphys {
namespace {

Tree sample() {
  return Tree::Map()
      .set("z", Tree::List{Tree(1U), Tree(true), Tree(false), Tree()})
      .set("a", Tree::Map().set("b", "c"))
      .set("empty_map", Tree::Map())
      .set("empty_list", Tree::List());
}

// [utest->swdd~api-object-serialization~1]
TEST(Json, IsWrittenWithSortedKeys) {
  EXPECT_EQ(write_json(sample()),
            R"({"a":{"b":"c"},"empty_list":[],"empty_map":{},"z":[1,true,false,null]})");
}

TEST(Json, IsWrittenOneEntryALineForPeople) {
  EXPECT_EQ(write_json(sample(), JsonLayout::kPretty), R"({
  "a": {
    "b": "c"
  },
  "empty_list": [],
  "empty_map": {},
  "z": [
    1,
    true,
    false,
    null
  ]
})");
  EXPECT_EQ(write_json(Tree::Map(), JsonLayout::kPretty), "{}");
}

TEST(Json, EscapesOnlyWhatItMust) {
  EXPECT_EQ(write_json(Tree("\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa4")),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa4\"");
  EXPECT_EQ(write_json(Tree("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, IsReadIntoATree) {
  const auto tree =
      parse_json(R"( {"b": [1, 18446744073709551615, true, null], "a": "\u00e4\n"} )");
  ASSERT_TRUE(tree) << to_string(tree.error());
  EXPECT_EQ(
      *tree,
      Tree(Tree::Map()
               .set("a", "\xc3\xa4\n")
               .set("b", Tree::List{Tree(1U), Tree(18446744073709551615U), Tree(true), Tree()})));
}

TEST(Json, NamesThePlaceAndTheOffence) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {R"({"a": 1, "a": 2})", "line 1, column 10: duplicate entry with key \"a\""},
      {"{\"a\": {\n  \"b\": 1,\n  \"b\": 1}}", "line 3, column 3: duplicate entry with key \"b\""},
      {R"({"a": -1})", "line 1, column 7: only integers from 0 to 18446744073709551615"},
      {R"([1, 1.5])", "line 1, column 5: only integers from 0 to 18446744073709551615"},
      {R"([18446744073709551616])", "line 1, column 2: only integers"},
      {R"(["ä", -1])", "line 1, column 7: only integers"},
      {"[1, \"\xff\"]", "line 1, column 6: the text is not valid UTF-8"},
      {"", "line 1, column 1: "},
      {"[1,]", "line 1, column 4: "},
      {"[1 2]", "line 1, column 4: "},
      {"{\"a\"}", "line 1, column 5: "},
      {"1 2", "line 1, column 3: "},
      {"\"\\ud800\"", "line 1, column "},
      {"nul", "line 1, column 4: "},
      {"[\"a\tb\"]", "line 1, column "},
  };
  for (const auto& [json, error] : rows) {
    const auto tree = parse_json(json);
    ASSERT_FALSE(tree) << json;
    EXPECT_EQ(to_string(tree.error()).substr(0, error.size()), error) << json;
    EXPECT_EQ(to_string(tree.error()).find("json.exception"), std::string::npos);
  }
}

TEST(Json, EndsAtTheLimits) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(to_string(parse_json(deep).error()),
            "line 1, column 129: nested deeper than 128 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(parse_json(objects).error().offence, "nested deeper than 128 levels");
  EXPECT_EQ(to_string(parse_json("[1, 2]", {.max_bytes = 5}).error()),
            "line 1, column 1: the text has 6 bytes, more than 5 are not read");
  const std::string allowed = std::string(128, '[') + std::string(128, ']');
  EXPECT_TRUE(parse_json(allowed));
}

TEST(Json, ReadsManyKeysOfOneObject) {
  std::string json = "{";
  for (int i = 0; i < 10'000; ++i) json += "\"k" + std::to_string(i) + "\":\"v\",";
  json.back() = '}';
  const auto tree = parse_json(json);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->entries().size(), 10'000U);
}

TEST(Json, WhatIsWrittenIsReadBackAsTheSame) {
  EXPECT_TRUE(rc::check([](const Tree& tree) {
    for (const auto layout : {JsonLayout::kCompact, JsonLayout::kPretty}) {
      const auto read = parse_json(write_json(tree, layout));
      if (!read) RC_FAIL(to_string(read.error()));
      RC_ASSERT(*read == tree);
    }
  }));
}

TEST(ParseJson, KeepsOtherNumbersAsTextWhenAsked) {
  const auto tree =
      parse_json(R"({"a": -62135596800, "b": 1.50, "c": 99999999999999999999, "d": 7})",
                 {.other_numbers_as_text = true});
  ASSERT_TRUE(tree);
  EXPECT_EQ(write_json(*tree),
            R"({"a":"-62135596800","b":"1.50","c":"99999999999999999999","d":7})");
}

}  // namespace
}  // namespace tiphys
