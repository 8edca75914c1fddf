#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tiphys {
namespace {

struct Pair {
  std::string_view bytes, padded, bare;
};
constexpr Pair kPairs[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xFB\xFF\xBF", "+/+/", "+/+/"},
};

TEST(Base64, AgreesWithThePublishedPairs) {
  for (const auto& [bytes, padded, bare] : kPairs) {
    EXPECT_EQ(base64_encode(bytes, Base64Padding::kYes), padded);
    EXPECT_EQ(base64_encode(bytes, Base64Padding::kNo), bare);
    EXPECT_EQ(base64_decode(padded, Base64Padding::kYes), bytes);
    EXPECT_EQ(base64_decode(bare, Base64Padding::kNo), bytes);
  }
}

TEST(Base64, WhatIsEncodedIsDecodedAgain) {
  const bool holds = rc::check([](const std::string& bytes, bool padded) {
    const auto padding = padded ? Base64Padding::kYes : Base64Padding::kNo;
    RC_ASSERT(base64_decode(base64_encode(bytes, padding), padding) == bytes);
  });
  EXPECT_TRUE(holds);
}

TEST(Base64, WhatIsDecodedIsTheOnlyTextOfItsBytes) {
  const bool holds = rc::check([](bool padded) {
    const auto padding = padded ? Base64Padding::kYes : Base64Padding::kNo;
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("AQgw/=*\n")));
    if (const auto bytes = base64_decode(text, padding))
      RC_ASSERT(base64_encode(*bytes, padding) == text);
  });
  EXPECT_TRUE(holds);
}

TEST(Base64, RefusesAnythingElseByItsFirstOffence) {
  struct Row {
    std::string_view text;
    Base64Padding padding;
    std::string_view message;
  };
  constexpr Row kRows[] = {
      {"Z*==", Base64Padding::kYes, "Invalid symbol 42, offset 1."},
      {"Zm9v\n", Base64Padding::kYes, "Invalid symbol 10, offset 4."},
      {"Zg==Zg==", Base64Padding::kYes, "Invalid symbol 61, offset 2."},
      {"Z===", Base64Padding::kYes, "Invalid symbol 61, offset 1."},
      {"====", Base64Padding::kYes, "Invalid symbol 61, offset 0."},
      {"Zm9v=", Base64Padding::kYes, "Invalid symbol 61, offset 4."},
      {"Zg===", Base64Padding::kYes, "Invalid symbol 61, offset 2."},
      {"Zm\xC3\xA4", Base64Padding::kYes, "Invalid symbol 195, offset 2."},
      {"Zm9vY", Base64Padding::kYes, "Invalid input length: 5"},
      {"Zg", Base64Padding::kYes, "Invalid padding"},
      {"Zg=", Base64Padding::kYes, "Invalid padding"},
      {"Zg==", Base64Padding::kNo, "Invalid padding"},
      {"Zh==", Base64Padding::kYes, "Invalid last symbol 104, offset 1."},
      {"Zm9", Base64Padding::kNo, "Invalid last symbol 57, offset 2."},
  };
  for (const auto& [text, padding, message] : kRows) {
    const auto bytes = base64_decode(text, padding);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().message, message) << text;
  }
}

}  // namespace
}  // namespace tiphys
