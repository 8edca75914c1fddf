#pragma once

// What the tests of this folder share: one thread that plays io and strand, and a log that remembers.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::link {

// Tasks run when the test says so, in order.
class QueuedStrand final : public shell::Strand {
 public:
  void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  // One task; false when there is none.
  bool run_one() {
    if (tasks_.empty()) return false;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
    return true;
  }
  [[nodiscard]] std::size_t waiting() const { return tasks_.size(); }

 private:
  std::deque<std::function<void()>> tasks_;
};

class RecordingLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view text, Fields fields) override {
    std::string line(text);
    for (const auto& [name, value] : fields)
      line.append(" ").append(name).append("=").append(value);
    lines.push_back(std::move(line));
  }
  [[nodiscard]] bool has(std::string_view part) const {
    for (const auto& line : lines)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }
  std::vector<std::string> lines;
};

struct Threads {
  boost::asio::io_context io{1};
  QueuedStrand strand;
  bool strand_runs = true;

  // Before what it served goes: calls that have ended say so and let go of each other.
  void settle() {
    io.restart();
    io.poll();
  }
  // Lets everything happen until the condition holds; false if it does not within half a minute.
  template <class Condition>
  [[nodiscard]] bool until(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      if (strand_runs && strand.run_one()) continue;
      io.restart();
      io.run_one_for(std::chrono::milliseconds(10));
    }
    return true;
  }
};

}  // namespace tiphys::link
