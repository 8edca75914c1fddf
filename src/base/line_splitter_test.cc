#include "base/line_splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace tiphys {
namespace {

using Lines = std::vector<std::string>;

Lines split_up(const std::vector<std::string>& reads) {
  LineSplitter splitter;
  Lines lines;
  for (const auto& read : reads) EXPECT_TRUE(splitter.add(read, lines));
  splitter.finish(lines);
  return lines;
}

TEST(LineSplitter, CutsAtLineFeedsWhereverTheReadsEnd) {
  const std::string replacement = "\xEF\xBF\xBD";
  for (const auto& [reads, expected] : std::vector<std::pair<std::vector<std::string>, Lines>>{
           {{}, {}},
           {{""}, {}},
           {{"one\ntwo\n"}, {"one", "two"}},
           {{"one\ntw", "o", "\n"}, {"one", "two"}},
           {{"one", "\n", "two\n"}, {"one", "two"}},
           {{"\n\nx\r\n\n"}, {"", "", "x\r", ""}},
           {{"x\r", "\n"}, {"x\r"}},
           {{"no line feed"}, {"no line feed"}},
           {{"one\n", "rest"}, {"one", "rest"}},
           {{"gr\xC3", "\xBC\xC3\x9F", "e\n"},
            {"gr\xC3\xBC\xC3\x9F"
             "e"}},
           {{"\xE2", "\x82", "\xAC\n"}, {"\xE2\x82\xAC"}},
           {{"a\xFF"
             "b\n"},
            {"a" + replacement + "b"}},
           {{"a\xE2\x82", "\nb\n"}, {"a" + replacement, "b"}},
           {{"cut \xE2\x82"}, {"cut " + replacement}},
           {{std::string("zero\0byte\n", 10)}, {std::string("zero\0byte", 9)}},
       })
    EXPECT_EQ(split_up(reads), expected) << join(reads, "|");
}

TEST(LineSplitter, GivesALineOnlyWhenItIsWhole) {
  LineSplitter splitter;
  Lines lines;
  EXPECT_TRUE(splitter.add("fi", lines));
  EXPECT_TRUE(lines.empty());
  EXPECT_TRUE(splitter.add("ve\nsi", lines));
  EXPECT_EQ(lines, (Lines{"five"}));
}

TEST(LineSplitter, DoesNotCareHowTheBytesCame) {
  rc::check([](const std::string& bytes, const std::vector<std::uint8_t>& cuts) {
    std::vector<std::string> reads;
    std::size_t from = 0;
    for (const auto cut : cuts) {
      reads.push_back(bytes.substr(from, cut));
      from = std::min(bytes.size(), from + cut);
    }
    reads.push_back(bytes.substr(from));
    RC_ASSERT(split_up(reads) == split_up({bytes}));
  });
}

TEST(LineSplitter, KeepsTheBeginningOfALongLine) {
  LineSplitter splitter;
  Lines lines;
  const std::string piece(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(splitter.add(piece, lines));
  EXPECT_EQ(splitter.kept(), kLongestKeptLine);
  EXPECT_TRUE(splitter.add("\nnext\n", lines));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], std::string(kLongestKeptLine, 'x'));
  EXPECT_EQ(lines[1], "next");
}

TEST(LineSplitter, ALineThatIsTooLongEndsTheStream) {
  for (const std::string_view last : {"x", "x\nnext\n"}) {
    LineSplitter splitter;
    Lines lines;
    const std::string piece(std::size_t{10} << 20U, 'x');
    EXPECT_TRUE(splitter.add("before\n", lines));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(splitter.add(piece, lines));
    EXPECT_FALSE(splitter.add(last, lines));
    const Lines expected{
        "before",
        "The previous log message exceeded the maximum 50 MB size. Closing the log campaign."};
    EXPECT_EQ(lines, expected);
    EXPECT_EQ(splitter.kept(), 0U);
    EXPECT_FALSE(splitter.add("more\n", lines));
    splitter.finish(lines);
    EXPECT_EQ(lines, expected);
  }
}

}  // namespace
}  // namespace tiphys
