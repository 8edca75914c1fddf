#pragma once

// What every backend of the store port must do, as one suite of tests. A backend joins with
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(Backend{"Memory", make_it}), backend_name);
//
// The tests run on the strand: the thread that runs them is the one that runs the tasks of the strand, and it does so
// only inside wait_until() and settle(). A backend without virtual time lets real time pass there.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shell/store.h"

namespace tiphys::store {

class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;

  // An empty store, the same in every call.
  virtual shell::Store& store() = 0;
  // Runs the strand and lets time pass until it holds. False when that took far longer than it ever should.
  virtual bool wait_until(const std::function<bool()>& holds) = 0;
  // Runs what is due and what becomes due by that. What has not happened afterwards will not happen by itself.
  virtual void settle() = 0;
  // The shortest time that a lease can live.
  [[nodiscard]] virtual Duration shortest_lease() const = 0;
  // Lets that much time pass.
  virtual void pass(Duration duration) = 0;
  // Makes the store forget all history up to now.
  virtual void forget_history() = 0;
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

// Calls that wait for their answer, and a record of what a watch is told.
class StoreConformance : public testing::TestWithParam<Backend> {
 protected:
  using WatchEvents = std::shared_ptr<std::vector<shell::WatchEvent>>;

  StoreConformance() : under_test_(GetParam().make()) {}
  // Every call was answered exactly once.
  void TearDown() override;

  shell::Store& store() { return under_test_->store(); }
  StoreUnderTest& under_test() { return *under_test_; }

  // A sink for one answer, and the place where it will be.
  template <class T>
  std::pair<std::function<void(T)>, std::shared_ptr<std::optional<T>>> expect_answer();
  // What the call answers by the sink that it is given.
  template <class T>
  T answer_of(const std::function<void(std::function<void(T)>)>& call);

  Result<shell::Record> get(const std::string& key);
  Result<shell::Snapshot> list(const std::string& prefix);
  std::vector<std::string> keys_below(const std::string& prefix);
  Result<shell::Revision> commit(shell::Transaction transaction);
  // Without conditions; a refusal fails the test.
  shell::Revision put(const std::string& key, Tree value);
  shell::Revision erase(const std::string& key);
  void put_bound(const std::string& key, shell::LeaseId lease);
  shell::LeaseId grant_lease();
  Status keep_alive(shell::LeaseId lease);
  Status revoke(shell::LeaseId lease);

  // All that the watch is told, as it is told.
  WatchEvents watch(const std::string& prefix, shell::Revision after);
  // Waits for so many events; with more than those the test fails.
  void wait_for(const WatchEvents& events, std::size_t count);

 private:
  std::unique_ptr<StoreUnderTest> under_test_;
  std::vector<std::shared_ptr<int>> answers_;  // of each call
};

}  // namespace tiphys::store
