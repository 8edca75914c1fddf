#pragma once

// Monotonic time as an argument. An Instant counts from a start that only its clock knows; wall
// time never hides in it.

#include <chrono>
#include <compare>
#include <cstdint>

namespace tiphys {

using Duration = std::chrono::nanoseconds;

struct Instant {
  Duration since_start{};

  friend auto operator<=>(const Instant&, const Instant&) = default;
  friend Instant operator+(Instant instant, Duration duration) {
    return {instant.since_start + duration};
  }
  friend Duration operator-(Instant later, Instant earlier) {
    return later.since_start - earlier.since_start;
  }
};

}  // namespace tiphys
