#include "text/yaml_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "model/path.h"
#include "text/json.h"
#include "text/manifest.h"
#include "text/tree_generator.h"
#include "text/yaml.h"

namespace tiphys {
namespace {

std::string content_of(const std::string& file_name) {
  std::ifstream file(file_name);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string string_at(const Tree& tree, const std::string& path) {
  const auto value = get(tree, parse_path(path));
  return value && value->string() != nullptr ? *value->string() : std::string();
}

TEST(YamlWriter, QuotesAsRecorded) {
  const auto cases =
      parse_json(content_of("tests/vectors/ankaios-cli-replay/cases/yaml_scalars.json"));
  ASSERT_TRUE(cases) << to_string(cases.error());
  ASSERT_EQ(cases->list()->size(), 71U);
  for (const auto& row : *cases->list()) {
    SCOPED_TRACE(string_at(row, "name"));
    const auto manifest = parse_manifest(string_at(row, "setup.state.0.stdin"), "stdin");
    ASSERT_TRUE(manifest) << to_string(manifest.error());
    const Tree state = Tree::Map().set("desiredState", manifest->state.to_tree());
    const auto selected = select(
        state, {parse_path("desiredState.apiVersion"), parse_path(string_at(row, "argv.2"))});
    ASSERT_TRUE(selected);
    EXPECT_EQ(write_yaml(*selected) + "\n", string_at(row, "stdout"));
  }
}

TEST(YamlWriter, PutsNamedKeysFirst) {
  constexpr std::array<std::string_view, 2> kFirst{"z", "m"};
  const auto tree = parse_json(R"({"a": {"m": "1", "b": "2"}, "m": "x", "z": "y"})");
  ASSERT_TRUE(tree);
  EXPECT_EQ(write_yaml(*tree, kFirst), "z: y\nm: x\na:\n  m: '1'\n  b: '2'\n");
  EXPECT_EQ(write_json(*tree, JsonLayout::kCompact, kFirst),
            R"({"z":"y","m":"x","a":{"m":"1","b":"2"}})");
}

TEST(YamlWriter, LaysOutListsAndMaps) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {R"({})", "{}\n"},
      {R"([])", "[]\n"},
      {R"(null)", "null\n"},
      {R"("a")", "a\n"},
      {R"("a\nb")", "|-\n  a\n  b\n"},
      {R"([1, true, false, null, "x"])", "- 1\n- true\n- false\n- null\n- x\n"},
      {R"({"a": {}, "b": [], "c": null})", "a: {}\nb: []\nc: null\n"},
      {R"({"a": {"b": {"c": "d"}}})", "a:\n  b:\n    c: d\n"},
      {R"({"a": [{"b": "c", "d": ["e"]}, {"b": "c"}]})", "a:\n- b: c\n  d:\n  - e\n- b: c\n"},
      {R"({"a": ["b", ["c", ["d"]], {}]})", "a:\n- b\n- - c\n  - - d\n- {}\n"},
      {R"({"a": ["x\ny\n"]})", "a:\n- |\n  x\n  y\n"},
      {R"({"a": [{"b": "x\ny"}]})", "a:\n- b: |-\n    x\n    y\n"},
      {R"({"a\nb": "c"})", "? |-\n  a\n  b\n: c\n"},
      {R"({"a\rb": "c"})", "? \"a\\rb\"\n: c\n"},
      {R"({"a\nb": {"c": "d", "e": "f"}})", "? |-\n  a\n  b\n: c: d\n  e: f\n"},
      {R"({"a\nb": ["c", "d"]})", "? |-\n  a\n  b\n: - c\n  - d\n"},
      {R"({"": "", "1": "1", "a b": "a\tb"})", "'': ''\n'1': '1'\na b: \"a\\tb\"\n"},
  };
  for (const auto& [json, yaml] : rows) EXPECT_EQ(write_yaml(*parse_json(json)), yaml) << json;
}

TEST(YamlWriter, WritesLongKeysApart) {
  const std::string key(129, 'k');
  EXPECT_EQ(write_yaml(Tree::Map().set(key, "v")), "? " + key + "\n: v\n");
  const std::string shorter(128, 'k');
  EXPECT_EQ(write_yaml(Tree::Map().set(shorter, "v")), shorter + ": v\n");
}

TEST(YamlWriter, EscapesWhatCannotBeSeen) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {std::string("a\0b", 3), R"("a\0b")"},
      {"\a\b\t\v\f\r\x1b", R"("\a\b\t\v\f\r\e")"},
      {"\x01\x7f", R"("\x01\x7F")"},
      {"\xc2\x85", R"("\N")"},
      {"\xe2\x80\xa8\xe2\x80\xa9", R"("\L\P")"},
      {"\xef\xbb\xbf", R"("\uFEFF")"},
      {"q\"\\\t", R"("q\"\\\t")"},
      {"a \nb", R"("a \nb")"},
      {"a\nb ", R"("a\nb ")"},
      {"a\xff", "a\xef\xbf\xbd"},
  };
  for (const auto& [text, yaml] : rows) EXPECT_EQ(write_yaml(Tree(text)), yaml + "\n");
}

// [utest->swdd~api-object-serialization~1]
TEST(YamlWriter, SortsTheKeysWhateverTheirOrderWas) {
  const std::vector<std::string> keys{"b", "a", "B", "10", "9", "\xc3\xa4", "aa", ""};
  Tree::Map forwards;
  for (const auto& key : keys) forwards = forwards.set(key, key);
  Tree::Map backwards;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) backwards = backwards.set(*key, *key);
  const std::string yaml = write_yaml(forwards);
  EXPECT_EQ(yaml, write_yaml(backwards));
  EXPECT_EQ(yaml, "'': ''\n'10': '10'\n'9': '9'\nB: B\na: a\naa: aa\nb: b\n\xc3\xa4: \xc3\xa4\n");
}

TEST(YamlWriter, WhatIsWrittenIsReadBackAsTheSame) {
  EXPECT_TRUE(rc::check([](const Tree& tree) {
    const std::string yaml = write_yaml(tree);
    const auto node = parse_yaml(yaml);
    if (!node) RC_FAIL(to_string(node.error()) + "\n" + yaml);
    const auto read = to_tree(*node);
    if (!read) RC_FAIL(to_string(read.error()) + "\n" + yaml);
    RC_ASSERT(*read == tree);
  }));
}

// -- What was read -----------------------------------------------------------------------------------------------------

TEST(YamlWriter, WritesWhatWasReadInItsOrder) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"b: 1\na: 2\n", "b: 1\na: 2\n"},
      {"{\"b\":\"v1\",\"a\":[{\"y\":\"i\"},[]],\"c\":{}}", "b: v1\na:\n- y: i\n- []\nc: {}\n"},
      {"a:\n    - x\n    -   y: z\n", "a:\n- x\n- y: z\n"},
      {"a:\nb: ~\nc: Null\n", "a: null\nb: ~\nc: Null\n"},
      // What it means is up to its reader: 0644 may be a string, a number in base 10 or one in base 8.
      {"a: 0644\nb: -1.5e3\nc: yes\nd: 1_000\n", "a: 0644\nb: -1.5e3\nc: yes\nd: 1_000\n"},
      {"a: 'yes'\nb: \"On\"\nc: 'abc'\nd: '/a'\n", "a: 'yes'\nb: 'On'\nc: abc\nd: /a\n"},
      {"a: '1'\nb: '1:30'\nc: '2001-01-01'\nd: ''\n",
       "a: '1'\nb: '1:30'\nc: '2001-01-01'\nd: ''\n"},
      {"a: 'it''s'\nb: \"\\t\"\nc: '5''s'\n", "a: it's\nb: \"\\t\"\nc: '5''s'\n"},
      {"a: |\n  x\n  y\nb: >-\n  x\n  y\nc: x\n  y\n\n  z\n",
       "a: |\n  x\n  y\nb: x y\nc: |-\n  x y\n  z\n"},
      {"a: &x {k: v}\nb: *x\n", "a:\n  k: v\nb:\n  k: v\n"},
      {"!!str 5", "'5'\n"},
  };
  for (const auto& [text, written] : rows) {
    const auto node = parse_yaml(text);
    ASSERT_TRUE(node) << text;
    EXPECT_EQ(write_yaml(*node), written);
  }
}

TEST(YamlWriter, WhatWasReadAndWrittenIsReadAsTheSame) {
  EXPECT_TRUE(rc::check([](const Tree& tree) {
    const auto node = parse_yaml(write_yaml(tree));
    RC_ASSERT(node.has_value());
    const auto again = parse_yaml(write_yaml(*node));
    RC_ASSERT(again.has_value());
    RC_ASSERT(to_tree(*again).value() == to_tree(*node).value());
  }));
}

}  // namespace
}  // namespace tiphys
