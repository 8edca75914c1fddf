#include "bench/harness.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace tiphys::bench {

namespace {

double median(std::vector<double> figures) {
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::ranges::nth_element(figures, middle);
  return *middle;
}

// Four digits say more than the machine's noise allows.
std::string shown(double figure) {
  char text[32];
  std::snprintf(text, sizeof text, figure >= 1000 ? "%.0f" : "%.4g", figure);
  return text;
}

std::string shown(const Budget& budget) {
  if (budget.kind == Budget::Kind::kNone) return "-";
  return (budget.kind == Budget::Kind::kAtLeast ? ">= " : "<= ") + shown(budget.ratio);
}

// The medians of every figure, or why one side could not be measured.
using Medians = std::pair<std::vector<double>, std::vector<double>>;

Status measure(const char* side, const Round& round, std::size_t expected,
               std::vector<std::vector<double>>& rounds) {
  auto figures = round();
  if (!figures)
    return fail(figures.error().code, std::string(side) + ": " + figures.error().message);
  if (figures->size() != expected)
    return fail(Code::kInternal, std::string(side) + ": measured another number of figures");
  rounds.push_back(std::move(*figures));
  return {};
}

std::vector<double> medians(const std::vector<std::vector<double>>& rounds, std::size_t figures) {
  std::vector<double> result;
  for (std::size_t at = 0; at < figures; ++at) {
    std::vector<double> column;
    column.reserve(rounds.size());
    for (const auto& round : rounds) column.push_back(round[at]);
    result.push_back(median(std::move(column)));
  }
  return result;
}

Result<Medians> in_turns(std::size_t figures, int rounds, const Round& floor,
                         const Round& subject) {
  std::vector<std::vector<double>> of_floor;
  std::vector<std::vector<double>> of_subject;
  for (int round = 0; round < rounds; ++round) {
    TIPHYS_REQUIRE(measure("floor", floor, figures, of_floor));
    TIPHYS_REQUIRE(measure("subject", subject, figures, of_subject));
  }
  return Medians{medians(of_floor, figures), medians(of_subject, figures)};
}

}  // namespace

Report::Report(std::string title, std::string floor, std::string subject)
    : title_(std::move(title)), floor_(std::move(floor)), subject_(std::move(subject)) {
  std::printf("%s\nfloor: %s\nsubject: %s\n\n", title_.c_str(), floor_.c_str(), subject_.c_str());
  std::printf("%-44s %-8s %12s %12s %8s %8s  %s\n", "", "unit", "floor", "subject", "ratio",
              "budget", "met");
  std::fflush(stdout);
}

void Report::compare(const std::vector<Line>& lines, int rounds, const Round& floor,
                     const Round& subject) {
  const auto result = in_turns(lines.size(), rounds, floor, subject);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    Entry entry{.line = lines[at], .problem = result ? "" : result.error().message};
    if (result) {
      entry.floor = result->first[at];
      entry.subject = result->second[at];
    }
    print(entry);
    entries_.push_back(std::move(entry));
  }
}

std::optional<bool> Report::is_met(const Entry& entry) {
  const Budget& budget = entry.line.budget;
  if (budget.kind == Budget::Kind::kNone || !entry.problem.empty()) return std::nullopt;
  const double allowed = budget.ratio * entry.floor;
  return budget.kind == Budget::Kind::kAtLeast ? entry.subject >= allowed
                                               : entry.subject <= allowed;
}

void Report::print(const Entry& entry) {
  const Line& line = entry.line;
  if (!entry.problem.empty()) {
    std::printf("%-44s did not finish: %s\n", line.name.c_str(), entry.problem.c_str());
  } else {
    const auto met = is_met(entry);
    std::printf("%-44s %-8s %12s %12s %8.2f %8s  %s\n", line.name.c_str(), line.unit.c_str(),
                shown(entry.floor).c_str(), shown(entry.subject).c_str(),
                entry.subject / entry.floor, shown(line.budget).c_str(),
                !met   ? "-"
                : *met ? "yes"
                       : "NO");
  }
  std::fflush(stdout);
}

Status Report::write_json(const std::string& path) const {
  nlohmann::ordered_json report = {{"title", title_},
                                   {"floor", floor_},
                                   {"subject", subject_},
                                   {"lines", nlohmann::json::array()}};
  for (const Entry& entry : entries_) {
    nlohmann::ordered_json line = {{"name", entry.line.name}, {"unit", entry.line.unit}};
    if (!entry.problem.empty()) {
      line["problem"] = entry.problem;
    } else {
      line["floor"] = entry.floor;
      line["subject"] = entry.subject;
      line["ratio"] = entry.subject / entry.floor;
    }
    if (entry.line.budget.kind != Budget::Kind::kNone) line["budget"] = shown(entry.line.budget);
    if (const auto met = is_met(entry)) line["met"] = *met;
    report["lines"].push_back(std::move(line));
  }
  std::ofstream file(path);
  file << report.dump(2) << "\n";
  file.close();
  if (!file) return fail(Code::kUnavailable, path + ": cannot be written");
  return {};
}

bool Report::is_complete() const {
  return std::ranges::all_of(entries_, [](const Entry& entry) { return entry.problem.empty(); });
}

Result<Options> parse_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const std::string& name = words[at];
    if (name != "--json" && name != "--rounds")
      return fail(Code::kInvalidArgument,
                  "unknown word '" + name + "'; expected --json FILE or --rounds N");
    if (at + 1 == words.size()) return fail(Code::kInvalidArgument, name + ": a value is missing");
    const std::string& value = words[at + 1];
    if (name == "--json") {
      options.json = value;
      continue;
    }
    const auto [end, problem] =
        std::from_chars(value.data(), value.data() + value.size(), options.rounds);
    if (problem != std::errc() || end != value.data() + value.size() || options.rounds < 1)
      return fail(Code::kInvalidArgument,
                  "--rounds: '" + value + "' is no number of rounds; expected 1 or more");
  }
  return options;
}

}  // namespace tiphys::bench
