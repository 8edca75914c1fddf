#include "core/agent/authorisation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiphys::agent {
namespace {

using Masks = std::vector<std::string>;

AccessRule state(Operation operation, Masks masks) {
  return StateRule{operation, std::move(masks)};
}
AccessRule logs(Masks names) { return LogRule{std::move(names)}; }

Request read(Masks masks) { return {"r", CompleteStateRequest{std::move(masks), false}}; }
Request write(Masks masks) {
  return {"r", UpdateStateRequest{Tree(Tree::Map()), std::move(masks)}};
}
Request logs_of(const Masks& names) {
  LogsRequest request;
  for (const auto& name : names)
    request.instances.push_back({WorkloadName{name}, WorkloadId{"1"}, AgentName{"A"}});
  return {"r", std::move(request)};
}

bool may_read(std::vector<AccessRule> allow, std::vector<AccessRule> deny, Masks masks) {
  return is_allowed(read(std::move(masks)), {std::move(allow), std::move(deny)});
}

struct Row {
  std::string pattern;
  std::string mask;
  bool allows;
  bool denies;
};

class MaskTable : public testing::TestWithParam<Row> {};

TEST_P(MaskTable, Allows) {
  const Row& row = GetParam();
  EXPECT_EQ(may_read({state(Operation::kRead, {row.pattern})}, {}, {row.mask}), row.allows);
}

TEST_P(MaskTable, Denies) {
  const Row& row = GetParam();
  EXPECT_EQ(!may_read({state(Operation::kRead, {"*"})}, {state(Operation::kRead, {row.pattern})},
                      {row.mask}),
            row.denies);
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, MaskTable,
    testing::Values(
        Row{"some.pre.fix", "some.pre.fix", true, true},
        Row{"some.pre.fix", "some.pre.fix.x", true, true},
        Row{"some.pre.fix", "some.pre", false, true}, Row{"some.pre.fix", "", false, true},
        Row{"some.pre.fix", "some.pre.fixx", false, false},
        Row{"some.pre.fix", "other", false, false}, Row{"some.*.fix", "some.a.fix", true, true},
        Row{"some.*.fix", "some.a.fix.x", true, true}, Row{"some.*.fix", "some.a", false, true},
        Row{"some.*.fix", "", false, true}, Row{"*", "anything", true, true},
        Row{"*", "any.thing", true, true}, Row{"*", "", true, true}, Row{"*.x", "", true, true},
        Row{"*.x", "desiredState", true, true}, Row{"*.x", "desiredState.x", true, true},
        Row{"*.x", "desiredState.y", false, false},
        // `*` of a request stands for what the rule denies, but is not what it allows.
        Row{"a.b", "a.*", false, true}, Row{"a.b", "*", false, true},
        Row{"a.b", "*.c", false, false}, Row{"a.b.c", "a.*.c", false, true},
        Row{"a.b.c", "a.*.d", false, false}, Row{"a.*", "a.*", true, true},
        Row{"", "", false, false}, Row{"", "a", false, false}));

TEST(Authorisation, NoMaskIsTheEmptyMask) {
  EXPECT_TRUE(may_read({state(Operation::kRead, {"*"})}, {}, {}));
  EXPECT_FALSE(may_read({state(Operation::kRead, {"desiredState"})}, {}, {}));
  EXPECT_FALSE(may_read({state(Operation::kRead, {"*"})}, {state(Operation::kRead, {"a.b"})}, {}));
}

TEST(Authorisation, EveryMaskHasToBeAllowed) {
  const std::vector<AccessRule> allow{state(Operation::kRead, {"a"}),
                                      state(Operation::kReadWrite, {"b", "c"})};
  EXPECT_TRUE(may_read(allow, {}, {"a.x", "b", "c"}));
  EXPECT_FALSE(may_read(allow, {}, {"a.x", "d"}));
  EXPECT_FALSE(may_read(allow, {state(Operation::kRead, {"a.x"})}, {"b", "a.x"}));
}

TEST(Authorisation, ReadingAndWritingAreApart) {
  struct Case {
    Operation operation;
    bool reads;
    bool writes;
  };
  for (const auto& [operation, reads, writes] :
       {Case{Operation::kNothing, false, false}, Case{Operation::kRead, true, false},
        Case{Operation::kWrite, false, true}, Case{Operation::kReadWrite, true, true}}) {
    const ControlInterfaceAccess allowed{{state(operation, {"*"})}, {}};
    EXPECT_EQ(is_allowed(read({"a"}), allowed), reads) << to_string(operation);
    EXPECT_EQ(is_allowed(write({"a"}), allowed), writes) << to_string(operation);
    const ControlInterfaceAccess denied{{state(Operation::kReadWrite, {"*"})},
                                        {state(operation, {"a"})}};
    EXPECT_EQ(is_allowed(read({"a"}), denied), !reads) << to_string(operation);
    EXPECT_EQ(is_allowed(write({"a"}), denied), !writes) << to_string(operation);
  }
}

TEST(Authorisation, NothingIsAllowedWithoutARule) {
  EXPECT_FALSE(is_allowed(read({"a"}), {}));
  EXPECT_FALSE(is_allowed(write({"a"}), {}));
  EXPECT_FALSE(is_allowed(logs_of({"web"}), {}));
  EXPECT_FALSE(is_allowed(logs_of({"web"}), {{state(Operation::kReadWrite, {"*"})}, {}}));
  EXPECT_FALSE(is_allowed(read({"a"}), {{logs({"*"})}, {}}));
}

TEST(Authorisation, WhatItBeganAWorkloadMayAlwaysEnd) {
  EXPECT_TRUE(is_allowed({"r", LogsCancelRequest{}}, {}));
  EXPECT_TRUE(is_allowed({"r", EventsCancelRequest{}}, {}));
}

TEST(Authorisation, LogsOfEachNameHaveToBeAllowed) {
  const ControlInterfaceAccess access{{logs({"web", "db*"})}, {logs({"*_secret"})}};
  EXPECT_TRUE(is_allowed(logs_of({}), access)) << "nothing is asked for";
  EXPECT_TRUE(is_allowed(logs_of({"web", "db_1", "db"}), access));
  EXPECT_FALSE(is_allowed(logs_of({"web", "other"}), access));
  EXPECT_FALSE(is_allowed(logs_of({"db_secret"}), access));
  EXPECT_FALSE(is_allowed(logs_of({"webx"}), access));
}

TEST(Authorisation, AStarInALogRuleStandsForAnyPart) {
  struct Case {
    std::string pattern;
    std::string name;
    bool matches;
  };
  for (const auto& [pattern, name, matches] : {
           Case{"*", "web", true},
           Case{"a*", "a", true},
           Case{"a*", "ba", false},
           Case{"*b", "ab", true},
           Case{"ab*bc", "abc", false},  // the two parts may not share a letter
           Case{"ab*bc", "abbc", true},
           Case{"ab*bc", "abXbc", true},
       })
    EXPECT_EQ(is_allowed(logs_of({name}), {{logs({pattern})}, {}}), matches)
        << pattern << " and " << name;
}

TEST(Authorisation, EveryPatternOfALogRuleIsTried) {
  EXPECT_TRUE(is_allowed(logs_of({"web"}), {{logs({"db*", "web"})}, {}}));
  EXPECT_FALSE(is_allowed(logs_of({"web"}), {{logs({"*"})}, {logs({"db*", "web"})}}));
}

}  // namespace
}  // namespace tiphys::agent
