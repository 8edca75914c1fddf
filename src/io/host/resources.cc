#include "io/host/resources.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::host {
namespace {

// The words of the line that begins with this one, without it; none if there is no such line.
std::vector<std::string_view> words_after(std::string_view text, std::string_view first) {
  for (const std::string_view line : split(text, '\n')) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.empty() || words.front() != first) continue;
    words.erase(words.begin());
    return words;
  }
  return {};
}

bool parse_number(std::string_view word, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

Result<std::string> read_proc(const char* path) { return read_file(path, FileKind::kRegular); }

}  // namespace

Result<CpuTimes> parse_cpu_times(std::string_view stat) {
  // user, nice, system, idle, iowait, irq, softirq, steal; guests follow, who are part of user and nice.
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kWaitsForDisk = 4;
  constexpr std::size_t kColumns = 8;
  constexpr std::size_t kFewest = 4;  // the oldest kernels have no more
  const auto words = words_after(stat, "cpu");
  if (words.size() < kFewest)
    return fail(Code::kInvalidArgument, "/proc/stat: no line of all processors");
  CpuTimes times;
  for (std::size_t i = 0; i < std::min(words.size(), kColumns); ++i) {
    std::uint64_t ticks = 0;
    if (!parse_number(words[i], ticks))
      return fail(Code::kInvalidArgument,
                  concat("/proc/stat: '", words[i], "' is not a number of ticks"));
    times.total += ticks;
    if (i != kIdle && i != kWaitsForDisk) times.busy += ticks;
  }
  return times;
}

Result<std::uint64_t> parse_free_memory(std::string_view meminfo) {
  const auto words = words_after(meminfo, "MemFree:");
  std::uint64_t kibibytes = 0;
  if (words.size() != 2 || words[1] != "kB" || !parse_number(words[0], kibibytes))
    return fail(Code::kInvalidArgument, "/proc/meminfo: no line `MemFree: <number> kB`");
  return kibibytes * 1024;
}

std::uint32_t cpu_usage(const CpuTimes& before, const CpuTimes& after) {
  if (after.total <= before.total || after.busy < before.busy) return 0;
  const std::uint64_t total = after.total - before.total;
  const std::uint64_t busy = std::min(after.busy - before.busy, total);
  return static_cast<std::uint32_t>((busy * 100 + total / 2) / total);
}

Result<AgentStatus> ResourceMonitor::sample() {
  TIPHYS_TRY(const std::string stat, read_proc("/proc/stat"));
  TIPHYS_TRY(const CpuTimes times, parse_cpu_times(stat));
  TIPHYS_TRY(const std::string meminfo, read_proc("/proc/meminfo"));
  TIPHYS_TRY(const std::uint64_t free_memory, parse_free_memory(meminfo));
  const CpuTimes before = std::exchange(last_, times);
  return AgentStatus{.cpu_usage = cpu_usage(before, times), .free_memory = free_memory};
}

}  // namespace tiphys::host
