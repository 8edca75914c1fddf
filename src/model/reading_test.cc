#include "model/reading.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiphys {
namespace {

const Path kHere = parse_path("a.b");

TEST(Reading, GivesTheStringThatIsThere) {
  EXPECT_EQ(read_string("text", kHere), "text");
  EXPECT_EQ(read_string("", kHere), "");
  EXPECT_EQ(read_required_string(Tree::Map().set("k", "text"), kHere, "k"), "text");
}

TEST(Reading, GivesTheStringsOfAList) {
  EXPECT_EQ(read_strings(Tree::List{"x", "y"}, kHere), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(read_strings(Tree::List{}, kHere), std::vector<std::string>{});
}

TEST(Reading, SaysWhatItFoundInsteadOfAString) {
  for (const auto& [tree, kind] :
       std::vector<std::pair<Tree, std::string>>{{Tree(), "null"},
                                                 {true, "a boolean"},
                                                 {7U, "a number"},
                                                 {Tree::List{}, "a list"},
                                                 {Tree::Map(), "a map"}})
    EXPECT_EQ(read_string(tree, kHere).error(),
              (FieldError{kHere, "expected a string, found " + kind}));
}

TEST(Reading, NamesTheElementThatIsNoString) {
  EXPECT_EQ(read_strings(Tree::List{"x", 1U}, kHere).error(),
            (FieldError{parse_path("a.b.1"), "expected a string, found a number"}));
  EXPECT_EQ(read_strings("x", kHere).error(),
            (FieldError{kHere, "expected a list, found a string"}));
}

TEST(Reading, NamesTheFieldThatIsMissing) {
  EXPECT_EQ(read_required_string(Tree::Map(), kHere, "k").error(),
            (FieldError{kHere, "missing field `k`"}));
  EXPECT_EQ(read_required_string(Tree::Map().set("k", Tree()), kHere, "k").error(),
            (FieldError{parse_path("a.b.k"), "expected a string, found null"}));
}

TEST(FieldError, IsWrittenAsPlaceAndOffence) {
  EXPECT_EQ(to_string(FieldError{kHere, "missing field `agent`"}), "a.b: missing field `agent`");
  EXPECT_EQ(to_string(FieldError{{}, "missing field `agent`"}), "missing field `agent`");
}

}  // namespace
}  // namespace tiphys
