#include "io/rpc/timeout.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <utility>
#include <vector>

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;

TEST(Timeout, ReadsEveryUnit) {
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, Duration>>{{"1H", 1h},
                                                     {"2M", 2min},
                                                     {"3S", 3s},
                                                     {"4m", 4ms},
                                                     {"5u", 5us},
                                                     {"6n", 6ns},
                                                     {"99999999S", 99999999s},
                                                     {"0n", 0ns}})
    EXPECT_EQ(parse_timeout(text), expected) << text;
  EXPECT_EQ(parse_timeout("99999999H"), Duration::max());
}

TEST(Timeout, RefusesTheRest) {
  for (const char* text :
       {"", "S", "1", "1s", "1h", "-1S", "+1S", " 1S", "1 S", "1.5S", "123456789S", "1SS"})
    EXPECT_EQ(parse_timeout(text), std::nullopt) << text;
}

TEST(Timeout, IsWrittenInTheFinestUnitThatFits) {
  for (const auto& [timeout, expected] :
       std::vector<std::pair<Duration, std::string>>{{1ns, "1n"},
                                                     {99'999'999ns, "99999999n"},
                                                     {100ms, "100000u"},
                                                     {100'000'001ns, "100001u"},
                                                     {1h, "3600000m"},
                                                     {Duration::zero(), "1n"},
                                                     {-5s, "1n"}})
    EXPECT_EQ(format_timeout(timeout), expected);
}

TEST(Timeout, ComesBackNeverShorterAndHardlyLonger) {
  EXPECT_TRUE(rc::check([](std::uint64_t raw) {
    const Duration timeout(static_cast<Duration::rep>(raw >> 1));
    const std::string text = format_timeout(timeout);
    RC_ASSERT(text.size() <= 9);
    const auto back = parse_timeout(text);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back >= timeout || timeout == Duration::zero());
    RC_ASSERT(*back - timeout <= timeout / 100'000 + Duration(1));
  }));
}

}  // namespace
}  // namespace tiphys::rpc
