// tiphys-sim: runs simulated clusters, one per seed.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/cluster.h"

namespace tiphys::sim {
namespace {

constexpr const char* kUsage =
    "usage: tiphys-sim [--seed N [--trace]] [--seeds A..B] [--mutations] [--mutation NAME]\n"
    "  --seed N          run one seed and print the hash of its trace\n"
    "  --trace           with --seed: print every event and effect\n"
    "  --seeds A..B      run all seeds from A to B\n"
    "  --mutations       show that each of ten deliberate mistakes is caught by one of 50 seeds\n"
    "  --mutation NAME   run the seeds with that mistake\n";

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  bool one_seed = true;
  bool trace = false;
  bool mutations = false;
  Mutation mutation = Mutation::kNone;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--trace") {
      arguments.trace = true;
    } else if (option == "--mutations") {
      arguments.mutations = true;
    } else if (option == "--seed") {
      const auto seed = number(value);
      if (!seed) return std::nullopt;
      arguments.first = arguments.last = *seed;
      ++i;
    } else if (option == "--seeds") {
      const auto dots = value.find("..");
      const auto first = number(value.substr(0, dots));
      const auto last =
          dots == std::string_view::npos ? std::nullopt : number(value.substr(dots + 2));
      if (!first || !last || *first > *last) return std::nullopt;
      arguments.first = *first;
      arguments.last = *last;
      arguments.one_seed = false;
      ++i;
    } else if (option == "--mutation") {
      bool known = false;
      for (const auto& [name, mutation] : kMutations)
        if (name == value) {
          arguments.mutation = mutation;
          known = true;
        }
      if (!known) return std::nullopt;
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

void print_faults(const std::map<std::string, std::uint64_t>& fired) {
  constexpr std::size_t kWidth = 110;
  std::string line = "faults fired:";
  for (const auto& [kind, count] : fired) {
    const std::string entry = " " + kind + " " + std::to_string(count) + ";";
    if (line.size() + entry.size() > kWidth) {
      std::printf("%s\n", line.c_str());
      line = " ";
    }
    line += entry;
  }
  std::printf("%s\n", line.c_str());
}

int run_seeds(const Arguments& arguments) {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t steps = 0;
  std::uint64_t answered = 0;
  RunResult last;
  std::map<std::string, std::uint64_t> fired;
  for (std::uint64_t seed = arguments.first; seed <= arguments.last; ++seed) {
    last = run_cluster({seed, arguments.trace, arguments.mutation});
    steps += last.steps;
    answered += last.answered_requests;
    for (const auto& [kind, count] : last.fired_faults) fired[kind] += count;
    if (last.failure.empty()) {
      ++passed;
    } else {
      ++failed;
      std::printf("seed %llu failed: %s\n  replay: tiphys-sim --seed %llu --trace\n",
                  static_cast<unsigned long long>(seed), last.failure.c_str(),
                  static_cast<unsigned long long>(seed));
    }
  }
  print_faults(fired);
  // With so many seeds a kind of fault that never fired is one that nobody is tested against.
  if (arguments.last - arguments.first >= 19)
    for (const auto& [kind, count] : fired)
      if (count == 0) {
        ++failed;
        std::printf("never fired: %s\n", kind.c_str());
      }
  std::printf("%llu steps, %llu requests answered; seeds: %llu passed, %llu failed\n",
              static_cast<unsigned long long>(steps), static_cast<unsigned long long>(answered),
              static_cast<unsigned long long>(passed), static_cast<unsigned long long>(failed));
  if (arguments.one_seed)
    std::printf("trace hash %016llx\n", static_cast<unsigned long long>(last.trace_hash));
  return failed == 0 ? 0 : 1;
}

int run_mutations() {
  int missed = 0;
  for (const auto& [name, mutation] : kMutations) {
    RunResult result;
    std::uint64_t seed = 0;
    while (result.failure.empty() && seed < 50) result = run_cluster({++seed, false, mutation});
    if (result.failure.empty()) {
      ++missed;
      std::printf("%-16.*s not caught by 50 seeds\n", static_cast<int>(name.size()), name.data());
    } else {
      std::printf("%-16.*s caught by seed %llu: %s\n", static_cast<int>(name.size()), name.data(),
                  static_cast<unsigned long long>(seed), result.failure.c_str());
    }
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tiphys::sim

int main(int argc, char** argv) {
  const auto arguments = tiphys::sim::parse(argc, argv);
  if (!arguments) {
    std::fputs(tiphys::sim::kUsage, stderr);
    return 2;
  }
  return arguments->mutations ? tiphys::sim::run_mutations() : tiphys::sim::run_seeds(*arguments);
}
