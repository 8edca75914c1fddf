#pragma once

// Paths into a Tree, and what can be done along them. A mask is written as segments joined by '.',
// without any way to escape one; the empty text is the empty path.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tree.h"

namespace tiphys {

struct Path {
  std::vector<std::string> segments;

  [[nodiscard]] bool empty() const { return segments.empty(); }
  [[nodiscard]] Path child(std::string segment) const;
  [[nodiscard]] Path child(const Path& below) const;

  friend auto operator<=>(const Path&, const Path&) = default;
  friend bool operator==(const Path&, const Path&) = default;
};

Path parse_path(std::string_view mask);
std::string to_string(const Path& path);

// Descends maps by key and lists by decimal index.
std::optional<Tree> get(const Tree& tree, const Path& path);

// Creates missing maps on the way; fails for the empty path, for one of more than kMaxTreeDepth
// segments, and where a value on the way is no map. `empties` says what an object on the way shows
// when it becomes a map.
Result<Tree> set(const Tree& tree, const Path& path, Tree value, Empties empties = Empties::kOmit);

// The parent must be there and be a map; a missing last key is no error.
Result<Tree> remove(const Tree& tree, const Path& path, Empties empties = Empties::kOmit);

// The existing paths that a mask with '*' segments stands for: '*' is every key of a map, never an
// element of a list.
std::vector<Path> expand(const Tree& tree, const Path& mask);

// A new tree with what the masks select and nothing else. Paths that do not exist are left out; an
// empty mask fails.
Result<Tree> select(const Tree& tree, const std::vector<Path>& masks);

// One difference of two trees, at the topmost place where they differ: added when `before` is
// unset, removed when `after` is, updated else. Lists are compared as wholes.
struct Change {
  Path path;
  std::optional<Tree> before;
  std::optional<Tree> after;

  friend bool operator==(const Change&, const Change&) = default;
};

// In ascending order of the paths. What the trees share is not looked at.
std::vector<Change> difference(const Tree& before, const Tree& after);

// patch(before, difference(before, after)) == after
Tree patch(const Tree& tree, const std::vector<Change>& changes);

}  // namespace tiphys
