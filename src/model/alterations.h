#pragma once

// What is different between two trees, as a subscriber of some masks is told.
//
// A difference is named at the topmost place where the trees differ: a workload that comes is one added path. A mask
// that ends there or above gets that path; a mask that goes deeper gets the places below it that the mask leads to, in
// what came or in what went. So whatever a mask selects, its subscriber hears of every change of it.
//
//   before       after          added    removed   updated
//   nothing      anything       path
//   anything     nothing                 path
//   map          map            what their entries say
//   empty list   other list     path
//   other list   empty list              path
//   anything     anything else                     path; for deeper masks a map that came is added, one that went removed

#include <cstddef>
#include <string>
#include <vector>

#include "model/path.h"
#include "model/tree.h"

namespace tiphys {

struct AlteredPaths {
  std::vector<Path> added;
  std::vector<Path> updated;
  std::vector<Path> removed;

  [[nodiscard]] bool empty() const { return added.empty() && updated.empty() && removed.empty(); }
  friend bool operator==(const AlteredPaths&, const AlteredPaths&) = default;
};

// Masks as they are matched: each once, with how often it was given.
class Masks {
 public:
  Masks() = default;
  explicit Masks(std::vector<std::string> masks);

  struct Mask {
    Path path;
    std::size_t times;
  };
  [[nodiscard]] const std::vector<Mask>& all() const { return masks_; }

 private:
  std::vector<Mask> masks_;
};

// A path that several masks lead to is told once for each, as peers do; beyond this many paths, only once for all masks
// that are the same.
inline constexpr std::size_t kMaxRepeatedPaths = 10'000;

class Alterations {
 public:
  // Costs what the change is worth: what the trees share is not looked at.
  Alterations(const Tree& before, const Tree& after);

  [[nodiscard]] bool empty() const {
    return added_.empty() && updated_.empty() && removed_.empty();
  }

  // Without masks: every difference.
  [[nodiscard]] AlteredPaths matching(const Masks& masks) const;

 private:
  struct Difference {
    Path path;
    Tree value;                // what came or went; a mask may lead into it
    bool has_own_line = true;  // false: told to deeper masks only
  };
  // In ascending order of the paths; none lies below another.
  using Differences = std::vector<Difference>;

  static std::vector<Path> matching(const Differences& differences, const Masks& masks);

  Differences added_;
  Differences updated_;
  Differences removed_;
};

}  // namespace tiphys
