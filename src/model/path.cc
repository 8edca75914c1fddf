#include "model/path.h"

#include <charconv>
#include <cstddef>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys {
namespace {

using Segments = std::span<const std::string>;

std::optional<std::size_t> list_index(std::string_view segment) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  if (error != std::errc{} || end != segment.data() + segment.size()) return std::nullopt;
  return index;
}

Result<Tree> set_below(const Tree& tree, Segments path, Tree&& value, Empties empties) {
  if (path.empty()) return std::move(value);
  if (!tree.is_map()) return fail(Code::kInvalidArgument, "object is not a mapping");
  const Tree::Map entries = tree.entries(empties);
  const Tree* child = entries.find(path.front());
  TIPHYS_TRY(Tree changed, set_below(child == nullptr ? Tree(Tree::Map()) : *child, path.subspan(1),
                                     std::move(value), empties));
  return Tree(entries.set(path.front(), std::move(changed)));
}

Result<Tree> remove_below(const Tree& tree, Segments path, Empties empties) {
  if (!tree.is_map()) return fail(Code::kInvalidArgument, "object is not a mapping");
  const Tree::Map entries = tree.entries(empties);
  if (path.size() == 1) return Tree(entries.erase(path.front()));
  const Tree* child = entries.find(path.front());
  if (child == nullptr) return fail(Code::kNotFound, concat("there is no '", path.front(), "'"));
  TIPHYS_TRY(Tree changed, remove_below(*child, path.subspan(1), empties));
  return Tree(entries.set(path.front(), std::move(changed)));
}

void expand_below(const Tree& tree, Segments mask, Path& walked, std::vector<Path>& found) {
  if (mask.empty()) {
    found.push_back(walked);
    return;
  }
  const auto descend = [&](const std::string& key, const Tree& child) {
    walked.segments.push_back(key);
    expand_below(child, mask.subspan(1), walked, found);
    walked.segments.pop_back();
  };
  if (mask.front() == "*") {
    tree.entries().for_each(descend);
  } else if (const auto child = tree.child(mask.front())) {
    descend(mask.front(), *child);
  }
}

void difference_below(const Tree& before, const Tree& after, Path& walked,
                      std::vector<Change>& changes) {
  if (!before.is_map() || !after.is_map()) {
    if (!(before == after)) changes.push_back(Change{walked, before, after});
    return;
  }
  const auto differ = [&](const std::string& key, const Tree* old_value, const Tree* new_value) {
    walked.segments.push_back(key);
    if (old_value == nullptr)
      changes.push_back(Change{walked, std::nullopt, *new_value});
    else if (new_value == nullptr)
      changes.push_back(Change{walked, *old_value, std::nullopt});
    else
      difference_below(*old_value, *new_value, walked, changes);
    walked.segments.pop_back();
  };
  // What is shared is skipped; everything else is compared once, where it is looked into.
  Tree::Map::difference(before.entries(), after.entries(), differ,
                        [](const Tree& a, const Tree& b) { return a.same_as(b); });
}

}  // namespace

Path Path::child(std::string segment) const {
  Path path = *this;
  path.segments.push_back(std::move(segment));
  return path;
}

Path Path::child(const Path& below) const {
  Path path = *this;
  path.segments.insert(path.segments.end(), below.segments.begin(), below.segments.end());
  return path;
}

Path parse_path(std::string_view mask) {
  Path path;
  if (mask.empty()) return path;
  for (const auto segment : split(mask, '.')) path.segments.emplace_back(segment);
  return path;
}

std::string to_string(const Path& path) { return join(path.segments, "."); }

std::optional<Tree> get(const Tree& tree, const Path& path) {
  std::optional<Tree> here = tree;
  for (const auto& segment : path.segments) {
    if (const auto* list = here->list()) {
      const auto index = list_index(segment);
      if (!index || *index >= list->size()) return std::nullopt;
      here = Tree((*list)[*index]);  // a copy first: the list lives in what is overwritten
    } else {
      here = here->child(segment);
    }
    if (!here) return std::nullopt;
  }
  return here;
}

Result<Tree> set(const Tree& tree, const Path& path, Tree value, Empties empties) {
  if (path.empty()) return fail(Code::kInvalidArgument, "The given path is empty");
  if (path.segments.size() > kMaxTreeDepth)
    return fail(Code::kInvalidArgument,
                concat("The given path has ", std::to_string(path.segments.size()),
                       " segments, at most ", std::to_string(kMaxTreeDepth), " are allowed"));
  return set_below(tree, path.segments, std::move(value), empties);
}

Result<Tree> remove(const Tree& tree, const Path& path, Empties empties) {
  if (path.empty()) return fail(Code::kInvalidArgument, "The given path is empty");
  return remove_below(tree, path.segments, empties);
}

std::vector<Path> expand(const Tree& tree, const Path& mask) {
  std::vector<Path> found;
  Path walked;
  expand_below(tree, mask.segments, walked, found);
  return found;
}

Result<Tree> select(const Tree& tree, const std::vector<Path>& masks) {
  Tree selected{Tree::Map()};
  for (const auto& mask : masks) {
    if (mask.empty()) return fail(Code::kInvalidArgument, "The given path is empty");
    for (const auto& path : expand(tree, mask)) {
      TIPHYS_TRY(selected, set(selected, path, *get(tree, path)));
    }
  }
  return selected;
}

std::vector<Change> difference(const Tree& before, const Tree& after) {
  std::vector<Change> changes;
  Path walked;
  difference_below(before, after, walked, changes);
  return changes;
}

Tree patch(const Tree& tree, const std::vector<Change>& changes) {
  Tree patched = tree;
  for (const auto& change : changes) {
    if (change.path.empty()) {
      patched = change.after ? *change.after : Tree();
      continue;
    }
    const Segments segments = change.path.segments;
    auto next = change.after ? set_below(patched, segments, Tree(*change.after), Empties::kOmit)
                             : remove_below(patched, segments, Empties::kOmit);
    TIPHYS_CHECK(next.has_value(), "a difference fits the tree that it was taken from");
    patched = *std::move(next);
  }
  return patched;
}

}  // namespace tiphys
