#include "io/rpc/deadlines.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <vector>

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;

TEST(DeadlinesOnOneTimer, ComeInTheirOrder) {
  boost::asio::io_context context;
  Deadlines deadlines(context.get_executor());
  std::vector<int> came;
  deadlines.add(20ms, [&] { came.push_back(3); });
  deadlines.add(0ms, [&] { came.push_back(1); });
  deadlines.add(10ms, [&] { came.push_back(2); });
  context.run();
  EXPECT_EQ(came, (std::vector<int>{1, 2, 3}));
}

TEST(DeadlinesOnOneTimer, DoNotComeOnceRemoved) {
  boost::asio::io_context context;
  Deadlines deadlines(context.get_executor());
  bool came = false;
  const auto id = deadlines.add(5ms, [&] { came = true; });
  deadlines.add(10ms, [] {});
  deadlines.remove(id);
  context.run();
  EXPECT_FALSE(came);
}

TEST(DeadlinesOnOneTimer, MayAddAndRemoveEachOther) {
  boost::asio::io_context context;
  Deadlines deadlines(context.get_executor());
  std::vector<int> came;
  std::optional<Deadlines::Id> second;
  deadlines.add(1ms, [&] {
    came.push_back(1);
    deadlines.remove(*second);
    deadlines.add(1ms, [&] { came.push_back(3); });
  });
  second = deadlines.add(2ms, [&] { came.push_back(2); });
  context.run();
  EXPECT_EQ(came, (std::vector<int>{1, 3}));
}

TEST(DeadlinesOnOneTimer, MayEndWhileOneComes) {
  boost::asio::io_context context;
  auto deadlines = std::make_unique<Deadlines>(context.get_executor());
  int came = 0;
  deadlines->add(1ms, [&] {
    ++came;
    deadlines.reset();
  });
  deadlines->add(1ms, [&] { ++came; });
  context.run();
  EXPECT_EQ(came, 1);
}

TEST(DeadlinesOnOneTimer, NeverComeWhenTheyAreTooFarToSay) {
  EXPECT_EQ(Deadlines::after(Duration::max()), Deadlines::Time::max());
}

}  // namespace
}  // namespace tiphys::rpc
