#pragma once

// What all benchmarks share: a floor and a subject, measured in one run and in turns, and a table of how they compare.
// Figures never fail a run, because the machine does other things too; only a benchmark that cannot finish does, and
// the others still run.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tiphys::bench {

// What the subject's figure divided by the floor's should be.
struct Budget {
  enum class Kind : std::uint8_t { kNone, kAtLeast, kAtMost };
  Kind kind = Kind::kNone;
  double ratio = 0;
};
inline Budget at_least(double ratio) { return {Budget::Kind::kAtLeast, ratio}; }
inline Budget at_most(double ratio) { return {Budget::Kind::kAtMost, ratio}; }

// One line of the table.
struct Line {
  std::string name;
  std::string unit;
  Budget budget = {};
};

// Measures once, and answers with one figure for each line.
using Round = std::function<Result<std::vector<double>>()>;

class Report {
 public:
  // Prints the head of the table.
  Report(std::string title, std::string floor, std::string subject);

  // Measures floor, subject, floor, subject, … and prints the medians at once.
  void compare(const std::vector<Line>& lines, int rounds, const Round& floor,
               const Round& subject);

  [[nodiscard]] Status write_json(const std::string& path) const;
  [[nodiscard]] bool is_complete() const;

 private:
  struct Entry {
    Line line;
    double floor = 0;
    double subject = 0;
    std::string problem;  // empty when it was measured
  };

  static std::optional<bool> is_met(const Entry& entry);
  static void print(const Entry& entry);

  std::string title_;
  std::string floor_;
  std::string subject_;
  std::vector<Entry> entries_;
};

struct Options {
  std::string json;  // a file to write; empty for none
  int rounds = 5;
};
// --json FILE, --rounds N
Result<Options> parse_options(const std::vector<std::string>& words);

}  // namespace tiphys::bench
