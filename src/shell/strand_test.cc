#include "shell/strand.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace tiphys::shell {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Waits until all that was posted before has run.
void wait_for(CoreThread& core) {
  std::promise<void> reached;
  core.post([&] { reached.set_value(); });
  reached.get_future().wait();
}

TEST(CoreThread, RunsTasksInOrderOnOneThreadOfItsOwn) {
  CoreThread core;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 100; ++i)
    core.post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  wait_for(core);
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(threads[static_cast<std::size_t>(i)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(CoreThread, KeepsTheOrderOfEveryThreadThatPosts) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 1000;
  CoreThread core;
  std::vector<std::vector<int>> told(kThreads);
  int all = 0;  // no lock: the tasks run one at a time
  std::vector<std::thread> posters;
  posters.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    posters.emplace_back([&, thread] {
      for (int i = 0; i < kPosts; ++i)
        core.post([&, thread, i] {
          told[static_cast<std::size_t>(thread)].push_back(i);
          ++all;
        });
    });
  for (auto& poster : posters) poster.join();
  wait_for(core);
  EXPECT_EQ(all, kThreads * kPosts);
  for (const auto& numbers : told) {
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kPosts));
    for (int i = 0; i < kPosts; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
  }
}

TEST(CoreThread, ATaskThatIsPostedByATaskRunsAfterThoseThatWait) {
  CoreThread core;
  std::vector<int> order;
  std::promise<void> done;
  core.post([&] {
    core.post([&] { order.push_back(2); });
    core.post([&] {
      order.push_back(3);
      done.set_value();
    });
    order.push_back(1);
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(CoreThread, TimersFireOnceInOrderOnTheStrand) {
  CoreThread core;
  std::vector<int> fired;
  std::vector<std::thread::id> threads;
  std::promise<void> done;
  core.post([&] {
    core.after(hours(2), [&] { fired.push_back(-2); });
    core.after(hours(1), [&] { fired.push_back(-1); });
    for (int i = 0; i < 50; ++i)
      core.after(milliseconds(1), [&, i] {
        fired.push_back(i);
        threads.push_back(std::this_thread::get_id());
        if (i == 49) done.set_value();
      });
    threads.push_back(std::this_thread::get_id());
  });
  done.get_future().wait();
  wait_for(core);
  ASSERT_EQ(fired.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(fired[static_cast<std::size_t>(i)], i);
  for (const auto thread : threads) EXPECT_EQ(thread, threads[0]);
}

TEST(CoreThread, ATimerNeverFiresBeforeItsTimeAndNeverInsideTheCall) {
  CoreThread core;
  std::promise<void> done;
  bool returned = false;
  core.post([&] {
    const Instant armed = core.now();
    core.after(Duration::zero(), [&] { EXPECT_TRUE(returned); });
    core.after(-milliseconds(5), [&] { EXPECT_TRUE(returned); });
    core.after(milliseconds(2), [&, armed] {
      EXPECT_GE(core.now() - armed, milliseconds(2));
      done.set_value();
    });
    returned = true;
  });
  done.get_future().wait();
}

TEST(CoreThread, ATimeThatIsTooLongToAddIsNeverReached) {
  CoreThread core;
  std::promise<void> done;
  core.post([&] {
    core.after(Duration::max(), [] { ADD_FAILURE() << "the end of time has come"; });
    core.after(milliseconds(1), [&] { done.set_value(); });
  });
  done.get_future().wait();
}

TEST(CoreThread, ItsClockNeverGoesBack) {
  const CoreThread core;
  Instant last = core.now();
  for (int i = 0; i < 1000; ++i) {
    const Instant now = core.now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(CoreThread, StopWaitsForTheTaskThatRunsAndRunsNoOther) {
  CoreThread core;
  std::promise<void> begun;
  std::atomic<bool> finished = false;
  core.post([&] {
    begun.set_value();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    finished = true;
  });
  begun.get_future().wait();
  core.stop();
  EXPECT_TRUE(finished);
  core.post([] { ADD_FAILURE() << "a task ran after the strand stopped"; });
  core.after(Duration::zero(), [] { ADD_FAILURE() << "a timer fired after the strand stopped"; });
  core.stop();  // a second time does no harm
}

TEST(CoreThread, DestructionDropsWhatHasNotRun) {
  const auto held = std::make_shared<int>(0);
  {
    CoreThread core;
    core.after(hours(1), [held] { ++*held; });
    core.post([&core, held] { core.after(hours(1), [held] { ++*held; }); });
    wait_for(core);
    core.stop();
    core.post([held] { ++*held; });
    EXPECT_GT(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

}  // namespace
}  // namespace tiphys::shell
