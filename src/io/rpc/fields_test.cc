#include "io/rpc/fields.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tiphys::rpc {
namespace {

std::vector<std::pair<std::string, std::string>> all(const Fields& fields) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Field& field : fields) pairs.emplace_back(field.name, field.value);
  return pairs;
}

TEST(Fields, KeepTheirOrderAndEveryByte) {
  Fields fields;
  EXPECT_TRUE(fields.empty());
  fields.add("b", "1");
  fields.add("a", std::string("\0\xff", 2));
  fields.add("b", "");
  fields.add("", "value");
  EXPECT_EQ(all(fields),
            (std::vector<std::pair<std::string, std::string>>{
                {"b", "1"}, {"a", std::string("\0\xff", 2)}, {"b", ""}, {"", "value"}}));
  EXPECT_EQ(fields.count(), 4U);
}

TEST(Fields, FindTheFirstOfAName) {
  Fields fields;
  fields.add("x", "first");
  fields.add("x", "second");
  EXPECT_EQ(fields.find("x"), "first");
  EXPECT_EQ(fields.find("y"), std::nullopt);
}

TEST(Fields, MeasureTheirListAsHttpDoes) {
  Fields fields;
  EXPECT_EQ(fields.list_size(), 0U);
  fields.add("name", "value");
  EXPECT_EQ(fields.list_size(), 4U + 5U + 32U);
  fields.add("", "");
  EXPECT_EQ(fields.list_size(), 4U + 5U + 32U + 32U);
}

}  // namespace
}  // namespace tiphys::rpc
