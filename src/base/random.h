#pragma once

// A seeded generator of our own (xoshiro256**, seeded through splitmix64), so that one seed means
// the same numbers in every build and on every machine; the distributions of <random> promise that
// to nobody.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tiphys {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // Any 64-bit number, all equally likely.
  std::uint64_t next();
  // A number in [0, bound), all equally likely; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // A number in [low, high], both included; low <= high.
  std::uint64_t between(std::uint64_t low, std::uint64_t high);
  // True in `numerator` of `denominator` draws.
  bool chance(std::uint64_t numerator, std::uint64_t denominator);

  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(items.size()))];
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
  }

  // An independent generator; drawing from it leaves this one's later numbers as they are.
  Random fork();

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace tiphys
