#include "text/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "text/json.h"
#include "text/tree_generator.h"

namespace tiphys {
namespace {

std::string json_of(const std::string& yaml) {
  const auto node = parse_yaml(yaml);
  if (!node) return to_string(node.error());
  const auto tree = to_tree(*node);
  return tree ? write_json(*tree) : to_string(tree.error());
}

std::string error_of(std::string_view yaml, const YamlLimits& limits = {}) {
  const auto node = parse_yaml(yaml, limits);
  return node ? "no error" : to_string(node.error());
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(Yaml, ReadsWhatPeopleWrite) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"", "null"},
      {"# only a comment\n", "null"},
      {"---\n", "null"},
      {"a", R"("a")"},
      {"a: b\nc:\n", R"({"a":"b","c":null})"},
      {"a:\n- b\n- - c\n  - d\n- e: f\n  g: h\n", R"({"a":["b",["c","d"],{"e":"f","g":"h"}]})"},
      {"{\"a\": [1, true, null], \"b\\u00e4\": {}}", "{\"a\":[1,true,null],\"b\xc3\xa4\":{}}"},
      {"a: |\n  b\n   c\n\nd: >-\n  e\n  f\n", R"({"a":"b\n c\n","d":"e f"})"},
      {"a: 'it''s'\nb: \"x\\ty\"\n", R"({"a":"it's","b":"x\ty"})"},
      {"? a\n: b\n", R"({"a":"b"})"},
      {"---\n# comment\na: b\n...\n", R"({"a":"b"})"},
      {"a: b\r\nc: d\r\n", R"({"a":"b","c":"d"})"},
      {"a:\tb\n", R"({"a":"b"})"},
      {"a: &x\n  k: v\nb: *x\nc: [*x, *x]\n",
       R"({"a":{"k":"v"},"b":{"k":"v"},"c":[{"k":"v"},{"k":"v"}]})"},
      {"&k a: 1\nb: *k\n*k : c\n",
       "line 3, column 1: duplicate entry with key \"a\", first at line "
       "1, column 1"},
      {"a: &x {k: v}\nb:\n  <<: *x\n  l: m\n", R"({"a":{"k":"v"},"b":{"<<":{"k":"v"},"l":"m"}})"},
      {"a: &x 1\nb: &x 2\nc: *x\n", R"({"a":1,"b":2,"c":2})"},
      {"a: !!str 5\nb: ! 6\nc: !!int 7\nd: !!map {}\ne: !!seq []\nf: !!null\ng: !!bool 'true'\n",
       R"({"a":"5","b":"6","c":7,"d":{},"e":[],"f":null,"g":true})"},
      {"1: a\n~: b\ntrue: c\n'': d\n", R"({"":"d","1":"a","true":"c","~":"b"})"},
      {"%YAML 1.2\n---\na: b\n", R"({"a":"b"})"},
  };
  for (const auto& [yaml, json] : rows) EXPECT_EQ(json_of(yaml), json) << yaml;
}

TEST(Yaml, KeepsTheSourceTextStyleAndPlaceOfEveryNode) {
  const auto root = parse_yaml(
      "a: 0x10\n"
      "b:\n"
      "  - 'x'\n"
      "  - {c: \"y\"}\n"
      "d: |\n"
      "  z\n"
      "e:\n");
  ASSERT_TRUE(root) << to_string(root.error());
  EXPECT_EQ(root->kind, YamlNode::Kind::kMap);
  const YamlNode& a = *root->find("a");
  EXPECT_EQ(a.text, "0x10");
  EXPECT_EQ(a.style, YamlNode::Style::kPlain);
  EXPECT_EQ(a.position, (Position{1, 4}));
  const YamlNode& b = *root->find("b");
  EXPECT_EQ(b.position, (Position{3, 3}));
  EXPECT_EQ(root->entries[1].position, (Position{2, 1}));
  EXPECT_EQ(b.items[0].style, YamlNode::Style::kQuoted);
  EXPECT_EQ(b.items[0].position, (Position{3, 5}));
  EXPECT_EQ(b.items[1].position, (Position{4, 5}));
  EXPECT_EQ(b.items[1].find("c")->position, (Position{4, 9}));
  EXPECT_EQ(root->find("d")->style, YamlNode::Style::kBlock);
  EXPECT_EQ(root->find("e")->position, (Position{7, 3}));
  EXPECT_EQ(root->find("f"), nullptr);
  EXPECT_EQ(kind(a), "a number");
  EXPECT_EQ(kind(b), "a list");
  EXPECT_EQ(kind(*root), "a map");
  EXPECT_EQ(kind(b.items[0]), "a string");
}

TEST(Yaml, NamesThePlaceAndTheOffence) {
  const std::vector<std::pair<std::string, std::string>> rows{
      // tabs
      {"a: v\nw:\n\tx: 1\n", "line 3, column 1: a tab may not be used as indentation"},
      {"a: b\n\tc: d\n", "line 2, column 1: a tab may not be used as indentation"},
      {"a:\n  b: c\n  \td: e\n", "line 3, column 3: a tab may not be used as indentation"},
      // keys
      {"a: 1\nb: 2\na: 3\n",
       "line 3, column 1: duplicate entry with key \"a\", first at line 1, column 1"},
      {"x:\n  y:\n  - a: 1\n    a: 3\n",
       "line 4, column 5: x.y.0: duplicate entry with key \"a\", first at line 3, column 5"},
      {"{a: 1, \"a\": 2}",
       "line 1, column 8: duplicate entry with key \"a\", first at line 1, column 2"},
      {"[a]: b\n", "line 1, column 1: a key must be a scalar"},
      {"? {a: b}\n: c\n", "line 1, column 3: a key must be a scalar"},
      {"a: &x [b]\n*x : c\n", "line 2, column 1: a key must be a scalar"},
      // characters
      {"a: \xff\n", "line 1, column 4: the text is not valid UTF-8"},
      {"\xc3\xa4: b\n\xc3\xa4: \xe2\x82", "line 2, column 4: the text is not valid UTF-8"},
      {std::string("a: b\nc: \0d\n", 11),
       "line 2, column 4: control characters must be written as escapes in double quotes"},
      {"a: \x7f\n", "line 1, column 4: control characters must be written as escapes"},
      {"\xc3\xa4: \xc2\x80\n", "line 1, column 4: control characters must be written as escapes"},
      {"a: \xef\xbf\xbf\n", "line 1, column 4: control characters must be written"},
      {"\xef\xbb\xbf"
       "a: b\n",
       "line 1, column 1: the text begins with a byte order mark; save it as UTF-8 without one"},
      {"a: \"\\ud800\"\n", "line 1, column "},
      // structure
      {"a: [\n", "line 2, column 1: "},
      {"a: b: c\n", "line 1, column "},
      {"a: @x\n", "line 1, column 4: "},
      {"a: \"\\q\"\n", "line 1, column 5: "},
      {"a: b\n---\nc: d\n", "line 2, column 1: a second document begins here, expected only one"},
      {"a: b\n...\nc: d\n", "line 3, column 1: "},
      // anchors and tags
      {"x: *nope\n", "line 1, column 4: x: the alias '*nope' names no anchor before it"},
      {"x: &a [*a]\n", "line 1, column 8: x.0: the alias '*a' names no anchor before it"},
      {"x: !foo y\n", "line 1, column 4: x: the tag '!foo' is not supported"},
      {"x: !!binary y\n",
       "line 1, column 4: x: the tag 'tag:yaml.org,2002:binary' is not supported"},
      {"x: !!int y\n", "line 1, column 4: x: the tag '!!int' does not fit"},
      {"x: !!seq {}\n", "line 1, column 4: x: the tag '!!seq' does not fit"},
      {"x: !!str {}\n", "line 1, column 4: x: the tag '!!str' does not fit"},
      {repeated("%TAG !t! tag:t\n", 200) + "---\na\n",
       "line 102, column 1: too many tag directives"},
  };
  for (const auto& [yaml, error] : rows)
    EXPECT_EQ(error_of(yaml).substr(0, error.size()), error) << yaml.substr(0, 60);
}

TEST(Yaml, ATreeHoldsNoOtherNumbersThanUnsignedIntegers) {
  EXPECT_EQ(json_of("[1, 0x10, +5]"), "[1,16,5]");
  for (const char* yaml : {"- -1\n", "- 1.5\n", "- .inf\n", "- 18446744073709551616\n"})
    EXPECT_EQ(json_of(yaml).substr(0, 29), "line 1, column 3: the number ") << yaml;
  EXPECT_EQ(json_of("a:\n  b: 1.5\n").substr(0, 29), "line 2, column 6: the number ");
}

TEST(Yaml, ReadsSeveralDocuments) {
  const auto documents = parse_yaml_documents("a: &x 1\n---\nb\n---\n- c\n");
  ASSERT_TRUE(documents) << to_string(documents.error());
  ASSERT_EQ(documents->size(), 3U);
  EXPECT_EQ((*documents)[1].text, "b");
  EXPECT_EQ((*documents)[2].items.size(), 1U);
  EXPECT_TRUE(parse_yaml_documents("")->empty());
  EXPECT_EQ(to_string(parse_yaml_documents("a: &x 1\n---\nb: *x\n").error()),
            "line 3, column 4: b: the alias '*x' names no anchor before it");
}

TEST(Yaml, EndsAtTheLimits) {
  for (const char* piece : {"[", "{a: ", "- ", "[{a: ", "? ", "a: [b, "})
    EXPECT_NE(error_of(repeated(piece, 100'000)), "no error") << piece;
  EXPECT_EQ(error_of(repeated("[", 100'000)),
            "line 1, column 129: 0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0: nested deeper than 128 levels");
  EXPECT_EQ(error_of(repeated("- ", 100'000)).substr(0, 19), "line 1, column 257:");
  std::string maps;
  for (std::size_t i = 0; i < 1'000; ++i) maps += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(error_of(maps).substr(0, 21), "line 129, column 129:");

  const std::string allowed = repeated("[", 128) + repeated("]", 128);
  EXPECT_EQ(error_of(allowed), "no error");
  EXPECT_EQ(error_of("a: [b]", {.max_depth = 1}),
            "line 1, column 4: a: nested deeper than 1 levels");
  EXPECT_EQ(error_of("a: b\n", {.max_bytes = 4}),
            "line 1, column 1: the text has 5 bytes, more than 4 are not read");
  EXPECT_EQ(error_of("[a, b, c]", {.max_nodes = 2}),
            "line 1, column 8: 2: the text has more than 2 nodes, copies by aliases included");
}

TEST(Yaml, AliasesThatMultiplyEndAtTheLimits) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
    for (int j = 0; j < 9; ++j) laughs += ", " + alias;
    laughs += "]\n";
  }
  EXPECT_EQ(error_of(laughs),
            "line 6, column 5: a5: the text has more than 2000000 nodes, copies by aliases "
            "included");

  const std::string fat = "- &a \"" + std::string(1'000, 'x') + "\"\n";
  EXPECT_EQ(
      error_of(fat + repeated("- *a\n", 10), {.max_bytes = 5'000}),
      "line 5, column 3: 4: the scalars have more than 5000 bytes, copies by aliases included");

  std::string deep = "- &a0 [x]\n";
  for (int i = 1; i < 200; ++i)
    deep += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_EQ(error_of(deep), "line 128, column 10: 127.0: nested deeper than 128 levels");
}

TEST(Yaml, ReadsALotInOneGo) {
  std::string keys;
  for (int i = 0; i < 100'000; ++i) keys += "k" + std::to_string(i) + ": v\n";
  const auto map = parse_yaml(keys);
  ASSERT_TRUE(map) << to_string(map.error());
  EXPECT_EQ(map->entries.size(), 100'000U);
  EXPECT_EQ(error_of(keys + "k5: w\n"),
            "line 100001, column 1: duplicate entry with key \"k5\", first at line 6, column 1");

  const auto list = parse_yaml("[" + repeated("a,", 100'000) + "]");
  ASSERT_TRUE(list) << to_string(list.error());
  EXPECT_EQ(list->items.size(), 100'000U);

  const std::string big(std::size_t{8} << 20U, 'x');
  EXPECT_EQ(parse_yaml("a: " + big)->find("a")->text.size(), big.size());
  const std::string too_big((std::size_t{64} << 20U) + 1, ' ');
  EXPECT_EQ(error_of(too_big),
            "line 1, column 1: the text has 67108865 bytes, more than 67108864 are not read");
}

TEST(Yaml, WhateverComesIsReadOrRefused) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const auto node = parse_yaml(bytes);
    RC_ASSERT((node || !node.error().offence.empty()));
  }));
  EXPECT_TRUE(rc::check([] {
    const auto node = parse_yaml(*nasty_string());
    RC_ASSERT((node || !node.error().offence.empty()));
  }));
}

}  // namespace
}  // namespace tiphys
