#include "shell/once.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace tiphys::shell {
namespace {

TEST(Once, CallsThroughTheFirstTimeOnly) {
  int calls = 0;
  std::string last;
  const std::function<void(std::string)> told = once([&](std::string text) {
    ++calls;
    last = std::move(text);
  });
  told("first");
  told("second");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(last, "first");
}

TEST(Once, ACopyIsTheSameAnswer) {
  int calls = 0;
  const std::function<void()> told = once([&] { ++calls; });
  const auto copy = told;
  copy();
  told();
  EXPECT_EQ(calls, 1);
}

TEST(Once, LetsGoOfWhatItHeldOnceItWasCalled) {
  const auto held = std::make_shared<int>(0);
  const std::function<void()> told = once([held] { ++*held; });
  EXPECT_EQ(held.use_count(), 2);
  told();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Once, MayBeToldAgainWhileItIsTold) {
  int calls = 0;
  std::function<void()> told;
  told = once([&] {
    ++calls;
    told();
  });
  told();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tiphys::shell
