#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/character_width.h"

namespace tiphys::cli {
namespace {

using Lines = std::vector<std::string>;

const Table kTable{{"NAME", "INFO"}, {{"a", "one two three"}, {"long_name", ""}}};

TEST(Table, PadsEveryColumnToItsWidestCell) {
  EXPECT_EQ(lines_of(kTable, LastColumn::kCut, 80),
            (Lines{"NAME        INFO         ",  //
                   "a           one two three",  //
                   "long_name                "}));
}

TEST(Table, IsItsHeaderWithoutRows) {
  EXPECT_EQ(lines_of({{"NAME", "INFO"}, {}}, LastColumn::kWrap, 80), (Lines{"NAME   INFO"}));
}

TEST(Table, WrapsTheLastColumnWhereItsHeaderFits) {
  EXPECT_EQ(lines_of(kTable, LastColumn::kWrap, 20), (Lines{"NAME        INFO    ",  //
                                                            "a           one two ",  //
                                                            "            three   ",  //
                                                            "long_name           "}));
}

TEST(Table, TruncatesTheLastColumnWhereItsHeaderFits) {
  EXPECT_EQ(lines_of(kTable, LastColumn::kTruncate, 20), (Lines{"NAME        INFO    ",  //
                                                                "a           one t...",  //
                                                                "long_name           "}));
}

TEST(Table, CutsEveryLineWhereNotEvenTheHeaderFits) {
  for (const auto last : {LastColumn::kCut, LastColumn::kWrap, LastColumn::kTruncate})
    EXPECT_EQ(lines_of(kTable, last, 15),
              (Lines{"NAME        INF", "a           one", "long_name      "}));
  EXPECT_EQ(lines_of(kTable, LastColumn::kCut, 20),
            (Lines{"NAME        INFO    ", "a           one two ", "long_name           "}));
}

TEST(Table, CountsColumnsOfATerminal) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\xc3\xa4"), 1U);                  // a with diaeresis
  EXPECT_EQ(display_width("a\xcc\x88"), 1U);                 // the same in two characters
  EXPECT_EQ(display_width("\xe6\x97\xa5\xe6\x9c\xac"), 4U);  // two wide characters
  EXPECT_EQ(display_width("\xff\xfe"), 2U);                  // no UTF-8
  EXPECT_EQ(character_width(0x0e01), 1U);                    // a Thai consonant
  EXPECT_EQ(character_width(0x0e34), 0U);                    // a vowel above it
  EXPECT_EQ(character_width(0x1160), 0U);                    // a medial vowel of Hangul
  EXPECT_EQ(character_width(0x200d), 0U);                    // joins pictographs
  EXPECT_EQ(character_width(0x2705), 2U);                    // a check mark in a box
  EXPECT_EQ(character_width(0x2713), 1U);                    // a check mark
  EXPECT_EQ(character_width(0x2500), 1U);                    // a line of a box
  EXPECT_EQ(character_width(0xac00), 2U);                    // Hangul
  EXPECT_EQ(character_width(0x302a), 0U);                    // a mark among wide characters
  EXPECT_EQ(character_width(0x1f600), 2U);                   // a face
  EXPECT_EQ(character_width(0xe0100), 0U);                   // chooses a variant
  EXPECT_EQ(character_width(0x10ffff), 1U);                  // nothing yet
  const Table wide{{"N", "I"}, {{"\xe6\x97\xa5", "x"}, {"ab", "y"}}};
  EXPECT_EQ(lines_of(wide, LastColumn::kCut, 80), (Lines{"N    I", "\xe6\x97\xa5   x", "ab   y"}));
}

TEST(Table, NeverCutsAWideCharacterInTwo) {
  const Table wide{{"I"}, {{"\xe6\x97\xa5\xe6\x9c\xac"}}};
  EXPECT_EQ(lines_of(wide, LastColumn::kWrap, 3), (Lines{"I  ", "\xe6\x97\xa5 ", "\xe6\x9c\xac "}));
  EXPECT_EQ(lines_of(wide, LastColumn::kWrap, 1), (Lines{"I", "\xe6\x97\xa5", "\xe6\x9c\xac"}));
}

TEST(Table, BreaksTextBetweenWords) {
  const auto pieces = [](const std::string& text) {
    return lines_of({{"A", "TEXT"}, {{"a", text}}}, LastColumn::kWrapText, 10);
  };
  EXPECT_EQ(pieces("one two"), (Lines{"A   TEXT  ", "a   one   ", "    two   "}));
  EXPECT_EQ(pieces("one of  it"), (Lines{"A   TEXT  ", "a   one of", "    it    "}));
  EXPECT_EQ(pieces("unbreakable it"),
            (Lines{"A   TEXT  ", "a   unbrea", "    kable ", "    it    "}));
  EXPECT_EQ(pieces("a unbreakable"),
            (Lines{"A   TEXT  ", "a   a     ", "    unbrea", "    kable "}));
  EXPECT_EQ(pieces("blanks      "), (Lines{"A   TEXT  ", "a   blanks"}));
  EXPECT_EQ(pieces(""), (Lines{"A   TEXT", "a       "}));
}

TEST(Reprinter, PrintsTablesBelowEachOtherInAPipe) {
  Reprinter reprinter(false);
  EXPECT_EQ(reprinter.print({"a", "b"}, 80), "a\nb\n\n");
  EXPECT_EQ(reprinter.print({"c"}, 80), "c\n\n");
}

TEST(Reprinter, OverwritesTheLastTableOnATerminal) {
  Reprinter reprinter(true);
  EXPECT_EQ(reprinter.print({"a", "b", "c"}, 80), "\x1b[1Ga\x1b[K\nb\x1b[K\nc\x1b[K\n");
  EXPECT_EQ(reprinter.print({"d", "e", "f"}, 80), "\x1b[1G\x1b[3Ad\x1b[K\ne\x1b[K\nf\x1b[K\n");
}

TEST(Reprinter, ClearsWhatAShrinkingTableLeaves) {
  Reprinter reprinter(true);
  reprinter.print({"a", "b", "c"}, 80);
  EXPECT_EQ(reprinter.print({"d"}, 80), "\x1b[1G\x1b[3Ad\x1b[K\n\x1b[K\n\x1b[K\n\x1b[2A");
  EXPECT_EQ(reprinter.print({"e"}, 80), "\x1b[1G\x1b[1Ae\x1b[K\n");
}

TEST(Reprinter, LeavesWhatTheTerminalGotTooNarrowFor) {
  Reprinter reprinter(true);
  reprinter.print({"wide", "line"}, 80);
  EXPECT_EQ(reprinter.print({"ab"}, 3), "\x1b[1Gab\x1b[K\n");
  EXPECT_EQ(reprinter.print({"cd"}, 2), "\x1b[1G\x1b[1Acd\x1b[K\n");
  EXPECT_EQ(reprinter.print({"wide"}, 80), "\x1b[1G\x1b[1Awide\x1b[K\n");
}

}  // namespace
}  // namespace tiphys::cli
