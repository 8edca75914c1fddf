#pragma once

// Hands what a link received to a machine, in order. When the machine's mailbox is full, the rest waits here and is tried
// again after each thing that the strand does; the links bound how much that can be by not reading on.

#include <deque>
#include <functional>

#include "shell/strand.h"

namespace tiphys::link {

// Lives on the strand.
class Intake {
 public:
  // False when the machine could not take it and it has to be tried again.
  using Delivery = std::function<bool()>;

  explicit Intake(shell::Strand& strand) : strand_(strand) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void add(Delivery delivery) {
    if (waiting_.empty() && delivery()) return;
    waiting_.push_back(std::move(delivery));
    if (waiting_.size() == 1) try_again_later();
  }

 private:
  void try_again_later() {
    strand_.post([this] {
      while (!waiting_.empty() && waiting_.front()()) waiting_.pop_front();
      if (!waiting_.empty()) try_again_later();
    });
  }

  shell::Strand& strand_;
  std::deque<Delivery> waiting_;
};

}  // namespace tiphys::link
