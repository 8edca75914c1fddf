#include "base/random.h"

#include <bit>

#include "base/check.h"

namespace tiphys {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_{} {
  for (auto& word : state_) word = splitmix(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  TIPHYS_CHECK(bound > 0, "a draw needs at least one possible answer");
  // The first 2^64 mod bound numbers would be drawn once too often: they are drawn again.
  const std::uint64_t surplus = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t drawn = next();
    if (drawn >= surplus) return drawn % bound;
  }
}

std::uint64_t Random::between(std::uint64_t low, std::uint64_t high) {
  TIPHYS_CHECK(low <= high, "the lower bound of a draw lies above the upper one");
  const std::uint64_t width = high - low;
  return width == UINT64_MAX ? next() : low + below(width + 1);
}

bool Random::chance(std::uint64_t numerator, std::uint64_t denominator) {
  return below(denominator) < numerator;
}

Random Random::fork() { return Random(next()); }

}  // namespace tiphys
