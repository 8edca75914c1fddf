#include "model/access_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiphys {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

const Path kHere = parse_path("rules.0");

std::string message_of(const Status& status) {
  return status ? "no error" : status.error().message;
}

std::string error_of(const Tree& tree) {
  const auto rule = read_access_rule(tree, kHere);
  return rule ? "no error" : to_string(rule.error());
}

TEST(Operation, IsReadAsItWasWritten) {
  for (const auto& [operation, text] :
       std::vector<std::pair<Operation, std::string>>{{Operation::kNothing, "Nothing"},
                                                      {Operation::kRead, "Read"},
                                                      {Operation::kWrite, "Write"},
                                                      {Operation::kReadWrite, "ReadWrite"}}) {
    EXPECT_EQ(to_string(operation), text);
    EXPECT_EQ(parse_operation(text), operation);
  }
  EXPECT_EQ(parse_operation("read").error().message,
            "unknown value 'read', expected one of Nothing, Read, Write, ReadWrite");
}

// [utest->swdd~api-access-rules-filter-mask-convention~1]
TEST(FilterMask, IsSegmentsOfNamesAndWildcards) {
  for (const char* mask : {"*", "a", "a.b", "*.*", "a.*.c", "a.b.c.d.e-_0", "desiredState"})
    EXPECT_TRUE(check_filter_mask(mask).has_value()) << mask;
}

// [utest->swdd~api-access-rules-filter-mask-convention~1]
TEST(FilterMask, MustNotBeEmpty) {
  EXPECT_EQ(check_filter_mask("").error(),
            (Error{Code::kInvalidArgument,
                   "Empty filter masks are not allowed in Control Interface access rules"}));
}

// [utest->swdd~api-access-rules-filter-mask-convention~1]
TEST(FilterMask, HasNothingElse) {
  for (const std::string mask : {"a.", ".a", "a..b", "a*", "**", "a b", "ä", ".", "a.b*", " "})
    EXPECT_EQ(message_of(check_filter_mask(mask)),
              "Unsupported filter mask '" + mask +
                  "'. Only \".\" separated sequences allowed where each part is either a wildcard "
                  "\"*\" or chars in [a-zA-Z0-9_-]");
}

// [utest->swdd~api-access-rules-logs-workload-names-convention~1]
TEST(LogRuleName, IsAWorkloadNameWithAtMostOneWildcard) {
  for (const std::string& name :
       {std::string("w"), std::string("*"), std::string("a*"), std::string("*a"),
        std::string("a*b"), std::string(63, 'a'), std::string(63, 'a') + "*",
        "*" + std::string(63, 'a'), std::string(31, 'a') + "*" + std::string(32, 'a')})
    EXPECT_TRUE(check_log_rule_name(name).has_value()) << name;
}

// [utest->swdd~api-access-rules-logs-workload-names-convention~1]
TEST(LogRuleName, MustBeAbleToMatchAWorkload) {
  const std::string long_name(64, 'b');
  const std::string long_filter = std::string(32, 'a') + "*" + std::string(32, 'a');
  const std::string characters = "Expected to have characters in [a-zA-Z0-9_-].";
  for (const auto& [name, error] :
       Rows{{"", "Log rule validation filed: Unsupported workload name ''. Is empty."},
            {"ä", "Log rule validation filed: Unsupported workload name 'ä'. " + characters},
            {"no k", "Log rule validation filed: Unsupported workload name 'no k'. " + characters},
            {long_name, "Log rule validation filed: Unsupported workload name '" + long_name +
                            "'. Length 64 exceeds the maximum limit of 63 characters."},
            {"a b*",
             "Log rule validation filed: Unsupported workload name filter with wildcard 'a b*'. " +
                 characters},
            {"*a.b",
             "Log rule validation filed: Unsupported workload name filter with wildcard '*a.b'. " +
                 characters},
            {long_filter,
             "Log rule validation filed: Unsupported workload name filter with wildcard '" +
                 long_filter + "'. Filter length 65 exceeds the maximum limit of 64 characters."},
            {"a*b*", "Expected at most one '*' symbol."},
            {"**", "Expected at most one '*' symbol."}}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(message_of(check_log_rule_name(name)), error);
  }
}

TEST(AccessRules, AreCheckedOneByOneAllowRulesFirst) {
  const AccessRule good_state = StateRule{Operation::kRead, {"*", "a.b"}};
  const AccessRule bad_state = StateRule{Operation::kRead, {"ok", "not ok"}};
  const AccessRule empty_mask = StateRule{Operation::kWrite, {""}};
  const AccessRule good_log = LogRule{{"w", "*"}};
  const AccessRule bad_log = LogRule{{"ok", "*a*"}};
  const std::string mask_error =
      "Unsupported filter mask 'not ok'. Only \".\" separated sequences allowed where each part is "
      "either a wildcard \"*\" or chars in [a-zA-Z0-9_-]";
  for (const auto& [access, error] : std::vector<std::pair<ControlInterfaceAccess, std::string>>{
           {{}, "no error"},
           {{{StateRule{}, LogRule{}}, {}}, "no error"},
           {{{good_state, good_log}, {good_state}}, "no error"},
           {{{bad_state}, {}}, mask_error},
           {{{good_state}, {empty_mask}},
            "Empty filter masks are not allowed in Control Interface access rules"},
           {{{good_log}, {bad_log}}, "Expected at most one '*' symbol."},
           {{{bad_state}, {empty_mask}}, mask_error}})
    EXPECT_EQ(message_of(check_access_rules(access)), error);
}

TEST(AccessRules, AreEmptyWithoutAnyRule) {
  EXPECT_TRUE(ControlInterfaceAccess{}.empty());
  EXPECT_FALSE((ControlInterfaceAccess{{LogRule{}}, {}}).empty());
  EXPECT_FALSE((ControlInterfaceAccess{{}, {LogRule{}}}).empty());
}

TEST(AccessRule, IsReadAsItWasWritten) {
  for (const AccessRule& rule :
       std::vector<AccessRule>{StateRule{}, StateRule{Operation::kReadWrite, {"a.*", "b"}},
                               StateRule{Operation::kWrite, {}}, LogRule{}, LogRule{{"w", "x*"}}})
    EXPECT_EQ(read_access_rule(to_tree(rule), kHere), rule);
}

TEST(AccessRule, LooksLikeAMapWithItsType) {
  EXPECT_EQ(to_tree(StateRule{Operation::kRead, {"a"}}),
            Tree(Tree::Map()
                     .set("type", "StateRule")
                     .set("operation", "Read")
                     .set("filterMasks", Tree::List{"a"})));
  EXPECT_EQ(to_tree(LogRule{{"w"}}),
            Tree(Tree::Map().set("type", "LogRule").set("workloadNames", Tree::List{"w"})));
}

TEST(AccessRule, NamesThePlaceAndTheOffence) {
  const auto state = Tree::Map().set("type", "StateRule");
  const auto operation = state.set("operation", "Read");
  const auto log = Tree::Map().set("type", "LogRule");
  for (const auto& [tree, error] : std::vector<std::pair<Tree, std::string>>{
           {"text", "rules.0: expected a map, found a string"},
           {Tree::Map(), "rules.0: missing field `type`"},
           {Tree::Map().set("type", 1U), "rules.0.type: expected a string, found a number"},
           {Tree::Map().set("type", "NoRule"),
            "rules.0.type: unknown value 'NoRule', expected one of StateRule, LogRule"},
           {state, "rules.0: missing field `operation`"},
           {state.set("operation", 4U), "rules.0.operation: unknown enumeration value 4"},
           {state.set("operation", true), "rules.0.operation: expected a string, found a boolean"},
           {state.set("operation", "Look"),
            "rules.0.operation: unknown value 'Look', expected one of Nothing, Read, Write, "
            "ReadWrite"},
           {operation, "rules.0: missing field `filterMasks`"},
           {operation.set("filterMasks", "a"),
            "rules.0.filterMasks: expected a list, found a string"},
           {operation.set("filterMasks", Tree::List{"a", Tree()}),
            "rules.0.filterMasks.1: expected a string, found null"},
           {log, "rules.0: missing field `workloadNames`"},
           {log.set("workloadNames", Tree::List{Tree::List{}}),
            "rules.0.workloadNames.0: expected a string, found a list"}})
    EXPECT_EQ(error_of(tree), error);
}

}  // namespace
}  // namespace tiphys
