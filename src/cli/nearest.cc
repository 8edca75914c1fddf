#include "cli/nearest.h"

#include <algorithm>
#include <utility>

namespace tiphys::cli {
namespace {

constexpr std::size_t kTooDifferent = 3;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::size_t> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::size_t> best;
  std::size_t least = kTooDifferent;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const std::size_t distance = edit_distance(word, candidates[i]); distance < least) {
      least = distance;
      best = i;
    }
  return least < word.size() ? best : std::nullopt;
}

}  // namespace tiphys::cli
