#include "base/strings.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tiphys {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Strings, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a.b", '.'), (Pieces{"a", "b"}));
  EXPECT_EQ(split("..", '.'), (Pieces{"", "", ""}));
  EXPECT_EQ(split("", '.'), (Pieces{""}));
}

TEST(Strings, JoinIsTheWayBack) {
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(concat("a", std::string("b"), std::string_view("c")), "abc");
}

TEST(Strings, TrimTakesUnicodeWhiteSpace) {
  EXPECT_EQ(trim("\n\t a b \r\n"), "a b");
  EXPECT_EQ(trim("\xc2\xa0\xe3\x80\x80x\xe2\x80\xa8"), "x");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("\xff \xff"), "\xff \xff");
  EXPECT_EQ(trim("\xe2\x82\xac"), "\xe2\x82\xac");
}

TEST(Strings, KnowsWellFormedUtf8) {
  for (const char* text :
       {"", "abc", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\xa2", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_valid_utf8(text)) << text;
  for (const char* text :
       {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(is_valid_utf8(text));
}

TEST(Strings, FindsWhereUtf8Ends) {
  EXPECT_EQ(valid_utf8_prefix(""), 0U);
  EXPECT_EQ(valid_utf8_prefix("\xc3\xa4"
                              "b"),
            3U);
  EXPECT_EQ(valid_utf8_prefix("a\xc3\xa4\xe2\x82"), 3U);
  for (std::size_t before = 0; before < 20; ++before) {
    const std::string ascii(before, 'a');
    EXPECT_EQ(valid_utf8_prefix(concat(ascii, "\xff", ascii)), before);
    EXPECT_EQ(valid_utf8_prefix(concat(ascii, "\xc3\xa4", ascii)), 2 * before + 2);
    EXPECT_EQ(valid_utf8_prefix(concat(ascii, "\xc3\xa4", ascii, "\x80")), 2 * before + 2);
  }
}

TEST(Strings, ReplacesWhatIsIllFormed) {
  EXPECT_EQ(with_valid_utf8("a\xff"
                            "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(with_valid_utf8("\xe2\x82"), "\xef\xbf\xbd");
  EXPECT_EQ(with_valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const std::string valid = with_valid_utf8(bytes);
    RC_ASSERT(is_valid_utf8(valid));
    RC_ASSERT(with_valid_utf8(valid) == valid);
  }));
}

}  // namespace
}  // namespace tiphys
