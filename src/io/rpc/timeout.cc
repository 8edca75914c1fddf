#include "io/rpc/timeout.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace tiphys::rpc {

namespace {

constexpr std::int64_t kLargest = 99'999'999;
constexpr std::pair<char, Duration> kUnits[] = {
    {'n', std::chrono::nanoseconds(1)},  {'u', std::chrono::microseconds(1)},
    {'m', std::chrono::milliseconds(1)}, {'S', std::chrono::seconds(1)},
    {'M', std::chrono::minutes(1)},      {'H', std::chrono::hours(1)},
};

}  // namespace

std::string format_timeout(Duration timeout) {
  const Duration wanted = std::max(timeout, Duration(1));
  for (const auto& [letter, unit] : kUnits) {
    const std::int64_t count = wanted / unit + (wanted % unit != Duration::zero() ? 1 : 0);
    if (count <= kLargest) return std::to_string(count) + letter;
  }
  return std::to_string(kLargest) + 'H';
}

std::optional<Duration> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  std::int64_t count = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    count = count * 10 + (digit - '0');
  }
  for (const auto& [letter, unit] : kUnits) {
    if (letter != text.back()) continue;
    if (count > Duration::max() / unit) return Duration::max();
    return count * unit;
  }
  return std::nullopt;
}

}  // namespace tiphys::rpc
