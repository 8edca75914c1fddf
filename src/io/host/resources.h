#pragma once

// How busy this machine is, as the agent tells its server.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/state.h"

namespace tiphys::host {

// Since the machine was started, in the kernel's ticks.
struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;

  friend bool operator==(const CpuTimes&, const CpuTimes&) = default;
};

// From the text of /proc/stat: all processors together. Waiting for a disk counts as idle; time that guests took is
// contained in that of users and counts once.
Result<CpuTimes> parse_cpu_times(std::string_view stat);
// From the text of /proc/meminfo: memory that nobody uses, in bytes; what the kernel could give back is not counted.
Result<std::uint64_t> parse_free_memory(std::string_view meminfo);

// The busy share between two samples in percent, rounded; 0 when no time has passed or a clock went backwards.
std::uint32_t cpu_usage(const CpuTimes& before, const CpuTimes& after);

class ResourceMonitor {
 public:
  // The first sample tells the share since the machine was started.
  Result<AgentStatus> sample();

 private:
  CpuTimes last_{};
};

}  // namespace tiphys::host
