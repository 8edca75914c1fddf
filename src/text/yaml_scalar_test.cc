#include "text/yaml_scalar.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiphys {
namespace {

TEST(YamlScalar, OnlyNullBooleansAndNumbersAreNoStrings) {
  const std::vector<std::pair<YamlType, std::vector<std::string>>> rows{
      {YamlType::kNull, {"", "~", "null", "Null", "NULL"}},
      {YamlType::kBoolean, {"true", "True", "TRUE", "false", "False", "FALSE"}},
      {YamlType::kNumber, {"0",    "5",      "-5",   "+5",    "18446744073709551616",
                           "1.5",  ".5",     "5.",   "-.5",   "1e3",
                           "1E+3", "1.5e-3", ".inf", "-.INF", "+.Inf",
                           ".nan", "0x10",   "0xfF", "-0x1",  "+0x1",
                           "0o17", "0b101",  "00.5"}},
      {YamlType::kString,
       {"nul",   "tRUE", "yes",   "no",    "on",    "off", "y",   "2024-01-01", "1.2.3",
        "12:30", "0123", "-0123", "00",    "0x",    "0xg", "0o8", "0b2",        "0x+1",
        "++5",   "+-5",  "1_000", "e5",    ".",     "-",   "+",   "1e",         "1e+",
        ".e5",   "inf",  "nan",   "-.nan", "1e400", "1 ",  "a"}},
  };
  for (const auto& [type, texts] : rows)
    for (const auto& text : texts)
      EXPECT_EQ(kind(type_of_plain(text)), kind(type)) << "'" << text << "'";
}

TEST(YamlScalar, GivesTheValueOfUnsignedIntegers) {
  EXPECT_EQ(unsigned_value("0"), 0U);
  EXPECT_EQ(unsigned_value("+17"), 17U);
  EXPECT_EQ(unsigned_value("0x1F"), 31U);
  EXPECT_EQ(unsigned_value("0o17"), 15U);
  EXPECT_EQ(unsigned_value("0b101"), 5U);
  EXPECT_EQ(unsigned_value("18446744073709551615"), 18446744073709551615U);
  for (const char* text : {"", "-1", "18446744073709551616", "1.0", "1e3", ".inf", "0x", "x"})
    EXPECT_EQ(unsigned_value(text), std::nullopt) << text;
}

TEST(YamlScalar, KnowsDigitsAfterALeadingZero) {
  for (const char* text : {"00", "0123", "-07", "+09"}) EXPECT_TRUE(is_zero_led(text)) << text;
  for (const char* text : {"", "0", "-0", "0.1", "10", "0x1"})
    EXPECT_FALSE(is_zero_led(text)) << text;
}

}  // namespace
}  // namespace tiphys
