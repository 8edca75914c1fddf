#include "cli/since_text.h"

#include <gtest/gtest.h>

#include "cli/test_clock_zone.h"

namespace tiphys::cli {
namespace {

using namespace std::chrono_literals;

TEST(SinceText, HasTheTwoLargestUnits) {
  const struct {
    std::chrono::milliseconds age;
    const char* text;
  } rows[] = {
      {0ms, "0s"},
      {999ms, "0s"},
      {1s, "1s"},
      {59'999ms, "59s"},
      {60s, "1m 0s"},
      {3min + 12s, "3m 12s"},
      {1h - 1ms, "59m 59s"},
      {1h, "1h 0m"},
      {2h + 5min + 59s, "2h 5m"},
      {24h - 1s, "23h 59m"},
      {24h, "1d 0h"},
      {24h * 41 + 5h + 59min, "41d 5h"},
      {24h * 365 * 292, "106580d 0h"},
  };
  for (const auto& [age, text] : rows) EXPECT_EQ(age_text(age), text);
}

TEST(SinceText, ShowsTheTimeOfTheReadersClock) {
  const std::chrono::system_clock::time_point now(1794802521s);
  {
    const ClockZone utc("UTC0");
    EXPECT_EQ(since_text(now, 3min + 12s), "2026-11-16 04:12:09 (3m 12s ago)");
    EXPECT_EQ(since_text(now, 1ms), "2026-11-16 04:15:20 (0s ago)");
  }
  const ClockZone east("XYZ-5:30");
  EXPECT_EQ(since_text(now, 24h), "2026-11-15 09:45:21 (1d 0h ago)");
}

}  // namespace
}  // namespace tiphys::cli
