#include "cli/paragraphs.h"

#include <gtest/gtest.h>

namespace tiphys::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(Paragraphs, BreakBetweenWords) {
  EXPECT_EQ(wrapped("one two  three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two", 3), (Lines{"one", "two"}));
  EXPECT_EQ(wrapped("", 10), (Lines{""}));
}

TEST(Paragraphs, LeaveALongWordWhole) {
  EXPECT_EQ(wrapped("a verylongword b", 4), (Lines{"a", "verylongword", "b"}));
  EXPECT_EQ(wrapped("a b", 0), (Lines{"a", "b"}));
}

TEST(Paragraphs, CountColumnsRatherThanBytes) {
  EXPECT_EQ(wrapped("\xc3\xa4\xc3\xa4 \xc3\xb6", 4), (Lines{"\xc3\xa4\xc3\xa4 \xc3\xb6"}));
}

TEST(Paragraphs, KeepTheirDistance) {
  EXPECT_EQ(indented("a b\n\nc", 2, 80), "  a b\n\n  c\n");
  EXPECT_EQ(indented("a b", 5, 3), "     a\n     b\n");
}

TEST(Paragraphs, StandBesideTheirNameOrBelowIt) {
  EXPECT_EQ(entry("name", "some text", 10, 80), "  name    some text\n");
  EXPECT_EQ(entry("name", "some text that goes on", 10, 30),
            "  name    some text that goes\n          on\n");
  EXPECT_EQ(entry("longername", "text", 10, 80), "  longername\n      text\n");
  EXPECT_EQ(entry("name", "some text", 10, 20), "  name\n      some text\n");
}

}  // namespace
}  // namespace tiphys::cli
