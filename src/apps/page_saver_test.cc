#include "apps/page_saver.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <utility>

namespace tiphys::apps {
namespace {

class PageSaverTest : public testing::Test, shell::Timers {
 protected:
  // The period of the one timer that runs ends.
  void period_ends() {
    ASSERT_EQ(timers_.size(), 1U);
    const auto task = std::move(timers_.front());
    timers_.pop_front();
    task();
  }
  [[nodiscard]] bool is_armed() const { return !timers_.empty(); }

  int releases = 0;
  PageSaver saver{*this, [this] { ++releases; }};

 private:
  void after(Duration duration, std::function<void()> task) override {
    EXPECT_EQ(duration, PageSaver::kPeriod);
    timers_.push_back(std::move(task));
  }

  std::deque<std::function<void()>> timers_;
};

TEST_F(PageSaverTest, ReleasesOnceAfterWorkAndThenRests) {
  EXPECT_FALSE(is_armed());
  saver.worked();
  EXPECT_EQ(releases, 0);
  period_ends();
  EXPECT_EQ(releases, 1);
  EXPECT_FALSE(is_armed()) << "an idle program is not woken";
}

TEST_F(PageSaverTest, ReleasesAgainAfterTheLastWorkOfABurst) {
  for (int i = 0; i < 100; ++i) saver.worked();
  period_ends();
  EXPECT_EQ(releases, 1);
  period_ends();
  EXPECT_EQ(releases, 2);
  EXPECT_FALSE(is_armed());
}

}  // namespace
}  // namespace tiphys::apps
