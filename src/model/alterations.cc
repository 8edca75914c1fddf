#include "model/alterations.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tiphys {
namespace {

using Segments = std::span<const std::string>;

constexpr std::string_view kAny = "*";

bool is_empty_list(const Tree& tree) { return tree.list() != nullptr && tree.list()->empty(); }

// Where the mask leads to inside something that came or went as a whole.
void match_inside(const Tree& tree, Segments mask, Path& walked, std::vector<Path>& found) {
  if (mask.empty()) {
    found.push_back(walked);
    return;
  }
  const auto descend = [&](const std::string& key, const Tree& child) {
    walked.segments.push_back(key);
    match_inside(child, mask.subspan(1), walked, found);
    walked.segments.pop_back();
  };
  if (mask.front() == kAny)
    tree.entries().for_each(descend);
  else if (const auto child = tree.child(mask.front()))
    descend(mask.front(), *child);
}

// `differences` all lie below the same path of `depth` segments, which the mask has led to.
template <class Difference>
void match_below(std::span<const Difference> differences, std::size_t depth, Segments mask,
                 std::vector<Path>& found) {
  if (differences.empty()) return;
  if (mask.empty()) {
    for (const auto& difference : differences)
      if (difference.has_own_line) found.push_back(difference.path);
    return;
  }
  if (differences.front().path.segments.size() == depth) {
    Path walked = differences.front().path;
    return match_inside(differences.front().value, mask, walked, found);
  }
  const auto segment = [depth](const Difference& difference) -> const std::string& {
    return difference.path.segments[depth];
  };
  const auto descend = [&](auto begin, auto end) {
    match_below(std::span<const Difference>(begin, end), depth + 1, mask.subspan(1), found);
  };
  const auto end_of = [&](auto begin, const std::string& key) {
    return std::partition_point(begin, differences.end(),
                                [&](const Difference& d) { return segment(d) <= key; });
  };
  if (mask.front() != kAny) {
    const auto begin =
        std::partition_point(differences.begin(), differences.end(),
                             [&](const Difference& d) { return segment(d) < mask.front(); });
    return descend(begin, end_of(begin, mask.front()));
  }
  for (auto begin = differences.begin(); begin != differences.end();) {
    const auto end = end_of(begin, segment(*begin));
    descend(begin, end);
    begin = end;
  }
}

}  // namespace

Masks::Masks(std::vector<std::string> masks) {
  std::sort(masks.begin(), masks.end());
  for (auto begin = masks.begin(); begin != masks.end();) {
    const auto end = std::upper_bound(begin, masks.end(), *begin);
    masks_.push_back({parse_path(*begin), static_cast<std::size_t>(end - begin)});
    begin = end;
  }
}

// [impl->swdd~server-calculates-state-differences~1]
Alterations::Alterations(const Tree& before, const Tree& after) {
  for (auto& [path, old_value, new_value] : difference(before, after)) {
    const bool came = !old_value || (is_empty_list(*old_value) && new_value && new_value->list());
    const bool went = !new_value || (is_empty_list(*new_value) && old_value && old_value->list());
    if (came) {
      added_.push_back({std::move(path), *std::move(new_value)});
    } else if (went) {
      removed_.push_back({std::move(path), *std::move(old_value)});
    } else {
      if (old_value->is_map()) removed_.push_back({path, *std::move(old_value), false});
      if (new_value->is_map()) added_.push_back({path, *std::move(new_value), false});
      updated_.push_back({std::move(path), Tree()});
    }
  }
}

std::vector<Path> Alterations::matching(const Differences& differences, const Masks& masks) {
  std::vector<Path> all;
  const std::span<const Difference> span(differences);
  if (masks.all().empty()) match_below(span, 0, Segments{}, all);
  for (const auto& [path, times] : masks.all()) {
    std::vector<Path> found;
    match_below(span, 0, path.segments, found);
    for (std::size_t i = 1; i < times && all.size() + found.size() <= kMaxRepeatedPaths; ++i)
      all.insert(all.end(), found.begin(), found.end());
    all.insert(all.end(), std::make_move_iterator(found.begin()),
               std::make_move_iterator(found.end()));
  }
  return all;
}

// [impl->swdd~event-handler-creates-altered-fields-and-filter-masks~1]
// [impl->swdd~event-handler-expands-subscriber-field-mask-using-altered-field-masks~1]
AlteredPaths Alterations::matching(const Masks& masks) const {
  return {matching(added_, masks), matching(updated_, masks), matching(removed_, masks)};
}

}  // namespace tiphys
