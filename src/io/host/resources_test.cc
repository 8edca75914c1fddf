#include "io/host/resources.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace tiphys::host {
namespace {

// Recorded on a machine of two processors with Linux 5.10; 500 ticks of guests are part of the users'.
constexpr const char* kStat =
    "cpu  3080477 70945 429544 1035325 4094 0 16448 2114 500 0\n"
    "cpu0 1534382 35089 207130 533064 1147 0 7447 1055 250 0\n"
    "intr 1234 5 6\n"
    "btime 1769860800\n";
constexpr const char* kMeminfo =
    "MemTotal:       24684100 kB\n"
    "MemFree:        21172328 kB\n"
    "MemAvailable:   23880864 kB\n"
    "HugePages_Total:       0\n";

TEST(CpuTimes, CountsAllButIdleAndWaitingAsBusyAndGuestsOnce) {
  const auto times = parse_cpu_times(kStat);
  ASSERT_TRUE(times) << times.error().message;
  constexpr std::uint64_t kBusy = 3080477 + 70945 + 429544 + 0 + 16448 + 2114;
  EXPECT_EQ(*times, (CpuTimes{.busy = kBusy, .total = kBusy + 1035325 + 4094}));
}

TEST(CpuTimes, ReadsTheFewColumnsOfAnOldKernel) {
  EXPECT_EQ(parse_cpu_times("cpu 1 2 3 4\n"), (CpuTimes{.busy = 6, .total = 10}));
}

TEST(CpuTimes, RefusesWhatItCannotRead) {
  for (const auto& [text, message] : std::vector<std::tuple<std::string, std::string>>{
           {"", "/proc/stat: no line of all processors"},
           {"cpu0 1 2 3 4\n", "/proc/stat: no line of all processors"},
           {"cpu 1 2 3\n", "/proc/stat: no line of all processors"},
           {"cpu 1 2 3 x\n", "/proc/stat: 'x' is not a number of ticks"},
           {"cpu 1 2 3 -4\n", "/proc/stat: '-4' is not a number of ticks"}}) {
    SCOPED_TRACE(text);
    const auto times = parse_cpu_times(text);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().message, message);
  }
}

TEST(CpuUsage, IsTheBusyShareSinceTheLastSample) {
  const CpuTimes before{.busy = 1000, .total = 5000};
  for (const auto& [busy, total, percent] :
       std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>>{
           {0, 200, 0},
           {200, 200, 100},
           {50, 200, 25},
           {1, 200, 1},  // a half is rounded up
           {1, 201, 0},
           {0, 0, 0},
           {300, 200, 100}}) {
    SCOPED_TRACE(busy);
    EXPECT_EQ(cpu_usage(before, {.busy = 1000 + busy, .total = 5000 + total}), percent);
  }
  EXPECT_EQ(cpu_usage(before, {.busy = 0, .total = 10}), 0U) << "a clock that went backwards";
}

TEST(FreeMemory, IsWhatNobodyUsesInBytes) {
  EXPECT_EQ(parse_free_memory(kMeminfo), std::uint64_t{21172328} * 1024);
  for (const char* text : {"", "MemFree: 5\n", "MemFree: x kB\n", "MemAvailable: 5 kB\n"}) {
    SCOPED_TRACE(text);
    const auto memory = parse_free_memory(text);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().message, "/proc/meminfo: no line `MemFree: <number> kB`");
  }
}

TEST(ResourceMonitor, SamplesThisMachine) {
  ResourceMonitor monitor;
  for (int i = 0; i < 2; ++i) {
    const auto status = monitor.sample();
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_LE(status->cpu_usage, 100U);
    EXPECT_GT(status->free_memory, 0U);
  }
}

}  // namespace
}  // namespace tiphys::host
