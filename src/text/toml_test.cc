#include "text/toml.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "text/json.h"

namespace tiphys {
namespace {

TEST(Toml, IsReadIntoATree) {
  const auto tree = parse_toml(
      "version = 'v1'\n"
      "insecure = true\n"
      "port = 25551\n"
      "tags = { zone = \"a\", 'x y' = '' }\n"
      "[default]\n"
      "list = [1, [\"two\"], {}]\n"
      "[[hooks]]\nname = \"a\"\n"
      "[[hooks]]\nname = \"b\"\n"
      "pem = '''\nline 1\nline 2\n'''\n");
  ASSERT_TRUE(tree) << to_string(tree.error());
  EXPECT_EQ(write_json(*tree),
            R"({"default":{"list":[1,["two"],{}]},"hooks":[{"name":"a"},)"
            R"({"name":"b","pem":"line 1\nline 2\n"}],"insecure":true,"port":25551,)"
            R"("tags":{"x y":"","zone":"a"},"version":"v1"})");
  EXPECT_EQ(write_json(*parse_toml("")), "{}");
}

TEST(Toml, NamesThePlaceAndTheOffence) {
  const std::string dots = [] {
    std::string text = "\na";
    for (int i = 0; i < 100'000; ++i) text += ".a";
    return text + " = 1\n";
  }();
  const std::vector<std::pair<std::string, std::string>> rows{
      {"a = 1\nb = -1\n", "line 2, column 5: only integers from 0 on are supported as numbers"},
      {"a = 1.5\n", "line 1, column 5: only integers from 0 on are supported as numbers"},
      {"[t]\na = [2024-01-01]\n", "line 2, column 6: dates and times are not supported"},
      {"a = { b = 07:32:00 }\n", "line 1, column 11: dates and times are not supported"},
      {"a = 1\na = 2\n", "line 2, column "},
      {"a = \n", "line 1, column "},
      {"a = 'x\n", "line 1, column "},
      {"a = '\xff'\n", "line 1, column 6: the text is not valid UTF-8"},
      {dots, "line 2, column 66: a key of more than 32 parts"},
      {"a = " + std::string(100'000, '['), "line 1, column "},
      {std::string((std::size_t{1} << 20U) + 1, ' '),
       "line 1, column 1: the text has 1048577 bytes"},
  };
  for (const auto& [toml, error] : rows) {
    const auto tree = parse_toml(toml);
    ASSERT_FALSE(tree) << toml.substr(0, 40);
    EXPECT_EQ(to_string(tree.error()).substr(0, error.size()), error);
  }
}

TEST(Toml, ReadsLettersOfAllAlphabets) {
  const auto tree = parse_toml("'\xc3\xa4' = \"\"\"\\\n  \xc3\xa4\"\"\"\n");
  ASSERT_TRUE(tree) << to_string(tree.error());
  EXPECT_EQ(write_json(*tree), "{\"\xc3\xa4\":\"\xc3\xa4\"}");
  for (const char* text :
       {"\xc3\xa4 = 1\n", "a = \xc3\xa4\n", "a = 1 \xef\xb9\xbf\n", "[=]\n", "[ \n"})
    EXPECT_FALSE(parse_toml(text)) << text;
}

TEST(Toml, DotsOfATextAreNoKey) {
  const std::string dots(200, '.');
  const auto tree = parse_toml("# " + dots + "\na = '" + dots + "'\n");
  ASSERT_TRUE(tree) << to_string(tree.error());
  EXPECT_EQ(*tree->child("a"), Tree(dots));
}

}  // namespace
}  // namespace tiphys
