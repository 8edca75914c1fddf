#pragma once

// Virtual time and everything that happens in it: one queue of tasks in order of their instants, one generator that
// draws all chance, one trace whose hash says whether two runs were the same.

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/random.h"
#include "shell/log.h"

namespace tiphys::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class World final : public shell::Trace {
 public:
  World(std::uint64_t seed, bool print);

  [[nodiscard]] Instant now() const { return now_; }
  Random& random() { return random_; }

  void at(Instant instant, std::function<void()> task);
  void after(Duration duration, std::function<void()> task) {
    at(now_ + duration, std::move(task));
  }

  // Runs tasks until the instant is reached, or until something failed. After every task `check` has a look.
  void run_until(Instant end, const std::function<void()>& check);

  // Faults happen only while they are on; each kind is counted when it fires.
  void set_faults(bool on) { faults_on_ = on; }
  bool fault(std::string_view kind, std::uint64_t numerator, std::uint64_t denominator);
  void count(std::string_view kind) { ++fired_[std::string(kind)]; }
  [[nodiscard]] bool faults_on() const { return faults_on_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& fired() const { return fired_; }

  // A duration between the two, in steps of a microsecond.
  Duration draw(Duration low, Duration high);

  // The first failure ends the run.
  void fail(std::string text);
  [[nodiscard]] bool failed() const { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const { return failure_; }

  [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  void line(std::string_view text);

  [[nodiscard]] bool enabled() const override { return true; }
  void event(std::string_view machine, const std::string& event) override;
  void effect(std::string_view machine, const std::string& effect) override;

 private:
  struct Entry {
    Instant instant;
    std::uint64_t order;
    std::function<void()> task;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.instant != b.instant ? a.instant > b.instant : a.order > b.order;
    }
  };

  Instant now_{};
  std::uint64_t next_order_ = 0;
  std::priority_queue<Entry> queue_;
  Random random_;
  const bool print_;
  bool faults_on_ = false;
  std::map<std::string, std::uint64_t> fired_;
  std::string failure_;
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  std::uint64_t steps_ = 0;
};

}  // namespace tiphys::sim
