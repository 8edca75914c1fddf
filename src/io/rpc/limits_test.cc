#include "io/rpc/limits.h"

#include <gtest/gtest.h>

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;

// Peers and operators count on these.
TEST(Limits, AreWhatWasPromised) {
  const HttpLimits http;
  EXPECT_EQ(http.field_list, 16U * 1024);
  EXPECT_EQ(http.streams, 100U);
  EXPECT_EQ(http.stream_window, 1024U * 1024);
  EXPECT_EQ(http.connection_window, 4U * 1024 * 1024);
  EXPECT_EQ(http.send_queue, 1024U * 1024);
  EXPECT_EQ(http.handshake, 10s);
  EXPECT_EQ(http.keepalive, 0s);
  const CallLimits call;
  EXPECT_EQ(call.message, 64U * 1024 * 1024);
  EXPECT_EQ(call.first_message, 10s);
}

TEST(Limits, Give256MebibytesForWhatIsBeingReceived) {
  ReceiveBudget budget;
  EXPECT_TRUE(budget.take(256 * kMiB));
  EXPECT_FALSE(budget.take(1));
  budget.give_back(1);
  EXPECT_TRUE(budget.take(1));
}

}  // namespace
}  // namespace tiphys::rpc
