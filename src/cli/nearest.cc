#include "cli/nearest.h"

#include <algorithm>
#include <cstddef>

#include "base/strings.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kTooDifferent = 3;
constexpr std::size_t kMostListed = 10;

// Characters to add, to take away, to replace, or to swap with their neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      auto& here = least[i][j];
      here = std::max(i, j);
      if (i == 0 || j == 0) continue;
      here = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1,
                       least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        here = std::min(here, least[i - 2][j - 2] + 1);
    }
  return least[a.size()][b.size()];
}

}  // namespace

std::optional<std::size_t> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::size_t> best;
  std::size_t least = kTooDifferent;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t size = candidates[i].size();
    if (std::max(size, word.size()) - std::min(size, word.size()) >= least) continue;
    if (const std::size_t distance = edit_distance(word, candidates[i]); distance < least) {
      least = distance;
      best = i;
    }
  }
  return least < word.size() ? best : std::nullopt;
}

std::string unknown_name(std::string_view sentence, std::string_view word, std::string_view listed,
                         const std::vector<std::string>& candidates) {
  std::string text = concat(sentence, ";");
  if (const auto meant = nearest(word, candidates); meant && candidates.size() > 1)
    text += concat(" did you mean '", candidates[*meant], "'?");
  if (candidates.empty()) return concat(text, " ", listed, ": none");
  const std::size_t shown = std::min(candidates.size(), kMostListed);
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(shown);
  text += concat(" ", listed, ": ", join({candidates.begin(), end}, ", "));
  if (candidates.size() > shown)
    text += concat(" and ", std::to_string(candidates.size() - shown), " more");
  return text;
}

}  // namespace tiphys::cli
