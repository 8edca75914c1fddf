#include "apps/config_file.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "apps/test_environment.h"
#include "base/strings.h"

namespace tiphys::apps {
namespace {

std::string refusal(const std::string& text) {
  const auto file = ConfigFile::parse(text, "f.conf");
  if (!file) return file.error().text;
  const auto arguments = read_arguments({}, {}, environment_of({}));
  const auto security = read_security(*arguments, *file);
  if (!security) return security.error().text;
  const auto list = file->strings("list");
  if (!list) return list.error().text;
  const auto table = file->table("table");
  if (!table) return table.error().text;
  return "it is accepted";
}

TEST(ConfigFile, GivesWhatStandsInIt) {
  const auto file = ConfigFile::parse(
      "version = 'v1'\ninsecure = true\nname = \"x\"\nlist = ['a', 'b']\n"
      "unknown = [1, { a = 2 }]\n[table]\nkey = 'value'\n",
      "f.conf");
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_EQ(*file->string("name"), "x");
  EXPECT_EQ(*file->boolean("insecure"), true);
  EXPECT_EQ(*file->strings("list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*file->table("table"), (std::map<std::string, std::string>{{"key", "value"}}));
  EXPECT_TRUE(file->has("unknown"));
  for (const char* key : {"absent", "Name"}) {
    EXPECT_EQ(*file->string(key), std::nullopt);
    EXPECT_EQ(*file->boolean(key), std::nullopt);
    EXPECT_EQ(*file->strings(key), std::nullopt);
    EXPECT_EQ(*file->table(key), std::nullopt);
    EXPECT_FALSE(file->has(key));
  }
}

TEST(ConfigFile, SaysWhatIsWrongWithIt) {
  constexpr std::string_view kBroken =
      "Config file could not be parsed: 'Config file could not have been parsed due to: f.conf";
  for (const auto& [text, expected] : std::vector<std::tuple<std::string, std::string>>{
           {"", concat(kBroken, ": missing field `version`; version = \"v1\" has to be there'")},
           {"version = 1", concat(kBroken, ": version: expected a string, found a number'")},
           {"version = 'v2'", "Config file could not be parsed: 'Wrong version: v2'"},
           {"version = 'v1'\ninsecure = 'false'",
            concat(kBroken, ": insecure: expected true or false, found a string'")},
           {"version = 'v1'\nlist = 'a'",
            concat(kBroken, ": list: expected a list of strings, found a string'")},
           {"version = 'v1'\nlist = [true]",
            concat(kBroken, ": list: expected a list of strings, found a boolean'")},
           {"version = 'v1'\ntable = 'a'",
            concat(kBroken, ": table: expected a table of strings, found a string'")},
           {"version = 'v1'\ntable = { a = 1 }",
            concat(kBroken, ": table.a: expected a string, found a number'")},
           {"version = 'v1'\nca_pem = 'a'\nca_pem_content = 'b'",
            "Config file could not be parsed: 'Conflicting certificates: Certificate paths and "
            "certificate content are both set'"}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(refusal(text), expected);
  }
  EXPECT_TRUE(refusal("version = 'v1'\nx y\n").starts_with(concat(kBroken, ":2:")))
      << refusal("version = 'v1'\nx y\n");
}

class ConfigFileTest : public FolderTest {};

TEST_F(ConfigFileTest, TheDefaultFileNeedNotBeThere) {
  EXPECT_TRUE(ConfigFile::load(std::nullopt, path("absent")));
  const auto asked_for = ConfigFile::load(path("absent"), path("other"));
  ASSERT_FALSE(asked_for);
  EXPECT_EQ(asked_for.error(),
            (Stop{Stop::Kind::kFatal,
                  concat("Config file could not be parsed: 'Config file could not have been parsed "
                         "due to: \"",
                         path("absent"), "\": No such file or directory (os error 2)'")}));
  EXPECT_FALSE(ConfigFile::load(std::nullopt, file("broken", "nonsense")));
}

}  // namespace
}  // namespace tiphys::apps
