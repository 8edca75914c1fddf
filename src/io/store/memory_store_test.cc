#include "io/store/memory_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "io/store/conformance.h"
#include "model/workload.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::store {
namespace {

constexpr std::size_t kHistory = 100;

// In virtual time, which passes only while somebody waits.
class MemoryUnderTest final : public StoreUnderTest {
 public:
  shell::Store& store() override { return store_; }

  bool wait_until(const std::function<bool()>& holds) override {
    const Instant too_late = world_.now() + std::chrono::minutes(10);
    while (!holds()) {
      if (world_.now() > too_late) return false;
      pass(std::chrono::milliseconds(10));
    }
    return true;
  }
  void settle() override { pass(Duration::zero()); }
  [[nodiscard]] Duration shortest_lease() const override { return std::chrono::seconds(1); }
  void pass(Duration duration) override {
    world_.run_until(world_.now() + duration, [] {});
  }

  void forget_history() override {
    std::vector<shell::StoreWrite> writes;
    for (std::size_t i = 0; i <= kHistory; ++i)
      writes.push_back({"filler" + std::to_string(i), Tree(i)});
    store_.commit({.conditions = {}, .writes = std::move(writes), .fence = {}},
                  [](const Result<shell::Revision>&) {});
    settle();
  }

 private:
  sim::World world_{1, false};
  sim::Process process_{world_};
  MemoryStore store_{process_, process_, process_, kHistory};
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(Backend{
                             "Memory", [] { return std::make_unique<MemoryUnderTest>(); }}),
                         backend_name);

class MemoryStoreTest : public testing::Test {
 protected:
  using Changes = shell::Changes;

  void settle() {
    world.run_until(world.now(), [] {});
  }

  shell::Revision put(const std::string& key, Tree value) {
    shell::Revision revision = 0;
    store.commit({.conditions = {}, .writes = {{key, std::move(value)}}, .fence = {}},
                 [&](const Result<shell::Revision>& answer) { revision = answer.value_or(0); });
    settle();
    return revision;
  }

  Tree value_of(const std::string& key) {
    Tree value;
    store.get(key, [&](Result<shell::Record> record) { value = record->value; });
    settle();
    return value;
  }

  // What a watch is told at once.
  std::vector<shell::WatchEvent> told_after(shell::Revision after) {
    std::vector<shell::WatchEvent> events;
    const auto id = store.watch(
        "", after, [&](shell::WatchEvent event) { events.push_back(std::move(event)); });
    settle();
    store.unwatch(id);
    return events;
  }

  sim::World world{1, false};
  sim::Process process{world};
  MemoryStore store{process, process, process, 4};
};

TEST_F(MemoryStoreTest, KeepsTheValueItIsGiven) {
  const auto workload = std::make_shared<const Workload>();
  put("a", workload);
  EXPECT_EQ(value_of("a").object<Workload>(), workload);
}

TEST_F(MemoryStoreTest, CountsItsCommits) {
  EXPECT_EQ(put("a", 1U), 1U);
  EXPECT_EQ(put("b", 2U), 2U);
  EXPECT_EQ(put("a", 1U), 3U);
}

TEST_F(MemoryStoreTest, HoldsTheNewestWritesInItsHistory) {
  for (std::uint64_t i = 1; i <= 6; ++i) put("a", i);
  EXPECT_EQ(told_after(1), (std::vector<shell::WatchEvent>{shell::Compacted{2}}));
  EXPECT_EQ(told_after(2).size(), 4U);
  EXPECT_EQ(told_after(6).size(), 0U);
}

TEST_F(MemoryStoreTest, ForgetsWholeCommits) {
  put("a", 1U);
  store.commit({.conditions = {},
                .writes = {{"a", Tree(2U)}, {"b", Tree(2U)}, {"c", Tree(2U)}},
                .fence = {}},
               [](const Result<shell::Revision>&) {});
  EXPECT_EQ(told_after(0).size(), 2U);
  put("a", 3U);
  put("a", 4U);
  EXPECT_EQ(told_after(0), (std::vector<shell::WatchEvent>{shell::Compacted{2}}));
  EXPECT_EQ(told_after(2).size(), 2U);
}

TEST_F(MemoryStoreTest, TellsAWatchOfMoreNewCommitsThanItsHistoryHolds) {
  std::size_t told = 0;
  store.watch("", 0, [&](const shell::WatchEvent& event) {
    EXPECT_TRUE(std::holds_alternative<Changes>(event));
    ++told;
  });
  for (std::uint64_t i = 0; i < 20; ++i)
    store.commit({.conditions = {}, .writes = {{"a", Tree(i)}}, .fence = {}},
                 [](const Result<shell::Revision>&) {});
  settle();
  EXPECT_EQ(told, 20U);
}

TEST_F(MemoryStoreTest, TellsAWatchFromALaterRevisionNothingBeforeIt) {
  std::vector<shell::WatchEvent> events;
  store.watch("", 2, [&](shell::WatchEvent event) { events.push_back(std::move(event)); });
  for (std::uint64_t i = 1; i <= 3; ++i) put("a", i);
  EXPECT_EQ(events, (std::vector<shell::WatchEvent>{Changes{3, {{"a", Tree(3U)}}}}));
}

// A strand that is busy runs the timers late; a leader must not slip through in between.
class LateTimers final : public shell::Timers {
 public:
  void after(Duration, std::function<void()> task) override { tasks.push_back(std::move(task)); }
  std::vector<std::function<void()>> tasks;
};

TEST_F(MemoryStoreTest, ALeaseEndsInTimeEvenWhenItsTimerIsLate) {
  LateTimers timers;
  MemoryStore late(process, process, timers);
  shell::LeaseId lease = 0;
  late.grant_lease(std::chrono::seconds(1), [&](Result<shell::LeaseId> id) { lease = *id; });
  settle();
  const auto commit = [&] {
    bool accepted = false;
    late.commit(
        {.conditions = {}, .writes = {{"a", Tree("x")}}, .fence = lease, .bind_to_lease = true},
        [&](const Result<shell::Revision>& revision) { accepted = revision.has_value(); });
    settle();
    return accepted;
  };
  EXPECT_TRUE(commit());
  world.run_until(world.now() + std::chrono::seconds(1), [] {});
  EXPECT_FALSE(commit());
  bool there = true;
  late.get("a", [&](const Result<shell::Record>& record) { there = record.has_value(); });
  settle();
  EXPECT_FALSE(there);
  // The timer finds nothing to do any more, and is not set again.
  const auto tasks = std::exchange(timers.tasks, {});
  ASSERT_EQ(tasks.size(), 1U);
  tasks.front()();
  EXPECT_TRUE(timers.tasks.empty());
}

}  // namespace
}  // namespace tiphys::store
