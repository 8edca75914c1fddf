#include "apps/docs/roff.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace tiphys::apps {
namespace {

// What follows the title.
std::string body(const Roff& page) {
  const std::string& text = page.page();
  const std::string_view start = ".ad l\n";
  return text.substr(text.find(start) + start.size());
}

Roff empty() { return Roff({"ank-get", 1, "2026-01-31", "1.0"}); }

TEST(Roff, BeginsWithATitle) {
  EXPECT_EQ(empty().page(),
            ".TH \"ANK\\-GET\" 1 \"2026-01-31\" \"Tiphys 1.0\" \"Tiphys\"\n.nh\n.ad l\n");
}

TEST(Roff, HasParagraphsButNoneAfterAHeading) {
  EXPECT_EQ(body(empty().section("DESCRIPTION").text("One.\n\nTwo.").text("Three.")),
            ".SH DESCRIPTION\nOne.\n.PP\nTwo.\n.PP\nThree.\n");
}

TEST(Roff, HasEntriesOfSeveralParagraphs) {
  EXPECT_EQ(body(empty().section("OPTIONS").entry("-a, --all", "One.\n\nTwo.")),
            ".SH OPTIONS\n.TP\n\\fB\\-a, \\-\\-all\\fR\nOne.\n.IP\nTwo.\n");
}

TEST(Roff, TakesTheMeaningFromWhatHasOne) {
  EXPECT_EQ(body(empty().section("X").text("a\\b 'c' \"d\" ^e ~f self-made --no-wait 5-6")),
            ".SH X\na\\eb \\(aqc\\(aq \\(dqd\\(dq \\(hae \\(tif self-made \\-\\-no-wait 5\\-6\n");
  EXPECT_EQ(body(empty().section("X").text(".SH is no heading")), ".SH X\n\\&.SH is no heading\n");
  EXPECT_EQ(body(empty().section("X").example(".a\n\n'b`")),
            ".SH X\n.RS 4\n.EX\n\\&.a\n\n\\(aqb\\(ga\n.EE\n.RE\n");
}

TEST(Roff, SetsCodeInBold) {
  EXPECT_EQ(body(empty().section("X").text("see `--no-wait` or `a`.")),
            ".SH X\nsee \\fB\\-\\-no\\-wait\\fR or \\fBa\\fR.\n");
}

TEST(Roff, KeepsItsLinesShort) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  for (const auto line : split(body(empty().section("X").text(words)), '\n'))
    EXPECT_LE(line.size(), 80U);
}

}  // namespace
}  // namespace tiphys::apps
