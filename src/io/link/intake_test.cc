#include "io/link/intake.h"

#include <gtest/gtest.h>

#include <string>

#include "io/link/test_link.h"

namespace tiphys::link {
namespace {

TEST(Intake, DeliversAtOnceWhenItCan) {
  QueuedStrand strand;
  Intake intake(strand);
  std::string delivered;
  intake.add([&] { return delivered += "a", true; });
  intake.add([&] { return delivered += "b", true; });
  EXPECT_EQ(delivered, "ab");
  EXPECT_EQ(strand.waiting(), 0U);
}

// [utest->swdd~server-uses-async-channels~1]
TEST(Intake, KeepsTheOrderWhenTheMailboxIsFull) {
  QueuedStrand strand;
  Intake intake(strand);
  std::string delivered;
  bool is_full = true;
  intake.add([&] { return !is_full && (delivered += "a", true); });
  intake.add([&] { return delivered += "b", true; });
  EXPECT_EQ(delivered, "");
  EXPECT_TRUE(strand.run_one());
  EXPECT_EQ(delivered, "");
  EXPECT_EQ(strand.waiting(), 1U) << "one attempt waits, however much is to be delivered";
  is_full = false;
  EXPECT_TRUE(strand.run_one());
  EXPECT_EQ(delivered, "ab");
  EXPECT_EQ(strand.waiting(), 0U);
  intake.add([&] { return delivered += "c", true; });
  EXPECT_EQ(delivered, "abc");
}

}  // namespace
}  // namespace tiphys::link
