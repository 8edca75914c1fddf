#include "base/result.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "base/instant.h"
#include "base/match.h"
#include "base/named.h"

namespace tiphys {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Code::kInvalidArgument, std::to_string(number) + " is odd");
  return number / 2;
}

Result<int> quarter(int number) {
  TIPHYS_TRY(const int halved, half(number));
  TIPHYS_TRY(const int quartered, half(halved));
  return quartered;
}

Status must_be_even(int number) {
  TIPHYS_REQUIRE(half(number));
  return {};
}

TEST(Result, TryGoesOnWithTheValueOrReturnsTheError) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error(), (Error{Code::kInvalidArgument, "3 is odd"}));
  EXPECT_TRUE(must_be_even(2).has_value());
  EXPECT_EQ(must_be_even(3).error().message, "3 is odd");
}

TEST(Result, EveryCodeHasTheNameThatGrpcGivesIt) {
  EXPECT_EQ(to_string(Code::kCancelled), "CANCELLED");
  EXPECT_EQ(to_string(Code::kResourceExhausted), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(to_string(Code::kUnauthenticated), "UNAUTHENTICATED");
  for (int number = 1; number <= 16; ++number)
    EXPECT_EQ(to_string(static_cast<Code>(number)) == "UNKNOWN", number == 2) << number;
}

TEST(Match, CallsTheCaseOfTheAlternative) {
  std::variant<int, std::string> value = std::string("text");
  const auto describe = [](const auto& v) {
    return match(v, [](int) { return "number"; }, [](const std::string&) { return "text"; });
  };
  EXPECT_STREQ(describe(value), "text");
  value = 1;
  EXPECT_STREQ(describe(value), "number");
}

TEST(Named, ComparesByValue) {
  using Name = Named<struct NameTag>;
  EXPECT_LT(Name{"a"}, Name{"b"});
  EXPECT_EQ(to_string(Name{"a"}), "a");
  EXPECT_TRUE(Name{}.empty());
}

TEST(Instant, AddsAndSubtractsDurations) {
  const Instant start{};
  const Instant later = start + std::chrono::seconds(2);
  EXPECT_EQ(later - start, std::chrono::milliseconds(2000));
  EXPECT_LT(start, later);
}

}  // namespace
}  // namespace tiphys
