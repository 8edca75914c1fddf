#include "sim/world.h"

#include <cstdio>
#include <utility>

#include "base/strings.h"

namespace tiphys::sim {

World::World(std::uint64_t seed, bool print) : random_(seed), print_(print) {}

void World::at(Instant instant, std::function<void()> task) {
  queue_.push(Entry{instant, next_order_++, std::move(task)});
}

void World::run_until(Instant end, const std::function<void()>& check) {
  while (!queue_.empty() && queue_.top().instant <= end && !failed()) {
    // A priority queue hands out its top unchangeable; the entry is popped right after.
    auto task = std::move(const_cast<Entry&>(queue_.top()).task);
    now_ = queue_.top().instant;
    queue_.pop();
    task();
    ++steps_;
    check();
  }
  if (!failed()) now_ = end;
}

bool World::fault(std::string_view kind, std::uint64_t numerator, std::uint64_t denominator) {
  if (!faults_on_) return false;
  std::uint64_t& fired = fired_[std::string(kind)];  // stays 0 for a kind that never fires
  if (!random_.chance(numerator, denominator)) return false;
  ++fired;
  return true;
}

Duration World::draw(Duration low, Duration high) {
  using std::chrono::microseconds;
  const auto from = std::chrono::duration_cast<microseconds>(low).count();
  const auto to = std::chrono::duration_cast<microseconds>(high).count();
  return microseconds(
      random_.between(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)));
}

void World::fail(std::string text) {
  if (failed()) return;
  failure_ = std::move(text);
  line("FAILED: " + failure_);
}

void World::line(std::string_view text) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now_.since_start).count();
  std::string stamp = std::to_string(micros);
  for (const auto piece :
       {std::string_view(stamp), std::string_view(" "), text, std::string_view("\n")})
    for (const char c : piece) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  if (print_)
    std::printf("%10lld.%06lld %.*s\n", static_cast<long long>(micros / 1'000'000),
                static_cast<long long>(micros % 1'000'000), static_cast<int>(text.size()),
                text.data());
}

void World::event(std::string_view machine, const std::string& event) {
  line(concat(machine, " > ", event));
}

void World::effect(std::string_view machine, const std::string& effect) {
  line(concat(machine, "   ", effect));
}

}  // namespace tiphys::sim
