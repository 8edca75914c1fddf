#pragma once

// How many messages of a stream are on their way to the machine: counted up on io, down on the strand. Neither side is
// woken for it unless the reader has stopped.

#include <atomic>

#include "io/link/link_limits.h"

namespace tiphys::link {

class Untaken {
 public:
  // A message was read; true when the next one may be.
  [[nodiscard]] bool add() { return count_.fetch_add(1) + 1 < kMostUntakenMessages; }
  // The machine has one; true when the reader waits for that.
  [[nodiscard]] bool take() { return count_.fetch_sub(1) == kMostUntakenMessages; }

 private:
  std::atomic<int> count_{0};
};

}  // namespace tiphys::link
