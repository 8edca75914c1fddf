#include "shell/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace tiphys::shell {
namespace {

// Runs the task on the strand and waits for it.
void on_strand(Strand& strand, const std::function<void()>& task) {
  std::promise<void> done;
  strand.post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(WorkerThreads, BeginWithTheFirstWork) {
  CoreThread core;
  const std::size_t before = thread_count();
  WorkerThreads workers(core, 2);
  EXPECT_EQ(thread_count(), before);
  std::promise<void> done;
  workers.run([] {}, [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(thread_count(), before + 2);
}

TEST(WorkerThreads, WorkElsewhereAndAnswerOnTheStrand) {
  CoreThread core;
  WorkerThreads workers(core, 1);
  std::thread::id strand;
  std::thread::id worker;
  std::thread::id answered;
  std::promise<void> done;
  on_strand(core, [&] {
    strand = std::this_thread::get_id();
    workers.run([&] { worker = std::this_thread::get_id(); },
                [&] {
                  answered = std::this_thread::get_id();
                  done.set_value();
                });
  });
  done.get_future().wait();
  EXPECT_EQ(answered, strand);
  EXPECT_NE(worker, strand);
  EXPECT_NE(worker, std::this_thread::get_id());
  core.stop();
}

TEST(WorkerThreads, DoAsMuchAtOnceAsThereAreThreads) {
  constexpr int kThreads = 3;
  constexpr int kJobs = 30;
  CoreThread core;
  WorkerThreads workers(core, kThreads);
  std::latch all_at_once(kThreads);  // opens only if that many jobs run at the same time
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  int answered = 0;
  std::promise<void> done;
  on_strand(core, [&] {
    for (int i = 0; i < kJobs; ++i)
      workers.run(
          [&, i] {
            const int now = ++running;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            if (i < kThreads) all_at_once.arrive_and_wait();
            --running;
          },
          [&] {
            if (++answered == kJobs) done.set_value();
          });
  });
  done.get_future().wait();
  EXPECT_EQ(most, kThreads);
  core.stop();
  EXPECT_EQ(answered, kJobs);
}

TEST(WorkerThreads, WorkThatWaitsKeepsItsOrder) {
  CoreThread core;
  WorkerThreads workers(core, 1);
  std::vector<int> worked;
  std::vector<int> answered;
  std::promise<void> done;
  on_strand(core, [&] {
    for (int i = 0; i < 100; ++i)
      workers.run([&, i] { worked.push_back(i); },
                  [&, i] {
                    answered.push_back(i);
                    if (i == 99) done.set_value();
                  });
  });
  done.get_future().wait();
  ASSERT_EQ(worked.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(worked[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(answered, worked);
  core.stop();
}

TEST(WorkerThreads, AnswersMayAskForMoreWork) {
  CoreThread core;
  WorkerThreads workers(core, 2);
  int rounds = 0;
  std::promise<void> done;
  std::function<void()> again = [&] {
    if (++rounds == 10) return done.set_value();
    workers.run([] {}, again);
  };
  on_strand(core, [&] { workers.run([] {}, again); });
  done.get_future().wait();
  EXPECT_EQ(rounds, 10);
  core.stop();
}

TEST(WorkerThreads, DestructionWaitsForWhatHasBegunAndDropsTheRest) {
  CoreThread core;
  auto workers = std::make_unique<WorkerThreads>(core, 2);
  std::atomic<int> begun = 0;
  std::atomic<int> finished = 0;
  const auto held = std::make_shared<int>(0);
  std::promise<void> first;
  on_strand(core, [&] {
    for (int i = 0; i < 1000; ++i)
      workers->run(
          [&, i, held] {
            ++begun;
            if (i == 0) first.set_value();
            std::this_thread::yield();
            ++finished;
          },
          [] {});
  });
  first.get_future().wait();
  on_strand(core, [&] { workers.reset(); });
  EXPECT_GT(begun, 0);
  EXPECT_EQ(begun, finished);
  EXPECT_EQ(held.use_count(), 1);
  core.stop();
}

TEST(WorkerThreads, NothingIsToldAfterDestruction) {
  CoreThread core;
  auto workers = std::make_unique<WorkerThreads>(core, 1);
  on_strand(core, [&] {
    std::promise<void> worked;
    workers->run([&] { worked.set_value(); }, [] { ADD_FAILURE() << "told after the end"; });
    worked.get_future().wait();
    workers.reset();
  });
  on_strand(core, [] {});  // what was posted before has run
  core.stop();
}

}  // namespace
}  // namespace tiphys::shell
