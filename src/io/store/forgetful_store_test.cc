#include "io/store/forgetful_store.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::store {
namespace {

using shell::Revision;

class ForgetfulStoreTest : public testing::Test {
 protected:
  // The answer; it never comes before the call has returned.
  Result<Revision> commit(shell::Transaction transaction) {
    std::optional<Result<Revision>> answer;
    store.commit(std::move(transaction),
                 [&](Result<Revision> result) { answer = std::move(result); });
    EXPECT_FALSE(answer.has_value());
    settle();
    return answer.value();
  }
  void settle() {
    world.run_until(world.now(), [] {});
  }

  sim::World world{1, false};
  sim::Process process{world};
  ForgetfulStore store{process};
};

TEST_F(ForgetfulStoreTest, CountsCommitsAndForgetsWhatTheyWrite) {
  EXPECT_EQ(commit({.conditions = {}, .writes = {{"a", Tree(1U)}}, .fence = {}}), 1U);
  EXPECT_EQ(commit({.conditions = {}, .writes = {{"b", Tree(1U)}}, .fence = {}}), 2U);
  EXPECT_EQ(commit({.conditions = {}, .writes = {}, .fence = {}}), 2U);
  int answers = 0;
  store.get("a", [&](const Result<shell::Record>& record) {
    ++answers;
    EXPECT_EQ(record.error().code, Code::kNotFound);
  });
  store.list("", [&](const Result<shell::Snapshot>& snapshot) {
    ++answers;
    EXPECT_EQ(snapshot->revision, 2U);
    EXPECT_TRUE(snapshot->records.empty());
  });
  EXPECT_EQ(answers, 0);
  settle();
  EXPECT_EQ(answers, 2);
}

TEST_F(ForgetfulStoreTest, RefusesWhatWasDecidedOnAnOlderVersion) {
  const auto write_head = [&](Revision decided_on) {
    return commit(
        {.conditions = {{"head", decided_on}}, .writes = {{"head", Tree(1U)}}, .fence = {}});
  };
  EXPECT_EQ(write_head(0), 1U);
  EXPECT_EQ(write_head(0).error().code, Code::kAborted);
  EXPECT_EQ(write_head(0).error().message, "the key 'head' has version 1 instead of 0");
  EXPECT_EQ(write_head(1), 2U);
  EXPECT_EQ(commit({.conditions = {}, .writes = {{"head", std::nullopt}}, .fence = {}}), 3U);
  EXPECT_EQ(write_head(0), 4U);
}

TEST_F(ForgetfulStoreTest, RefusesWhatEveryStoreRefuses) {
  EXPECT_EQ(commit({.conditions = {}, .writes = {{"", Tree(1U)}}, .fence = {}}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(commit({.conditions = {}, .writes = {{"a", Tree(1U)}, {"a", Tree(2U)}}, .fence = {}})
                .error()
                .code,
            Code::kInvalidArgument);
  EXPECT_EQ(commit({.conditions = {}, .writes = {{"a", Tree(1U)}}, .fence = 7}).error().code,
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace tiphys::store
