#pragma once

// What the benchmarks of whole programs share: their options, and short words for how a figure comes about.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/harness.h"
#include "bench/system/cluster.h"

namespace tiphys::bench {

using Clock = std::chrono::steady_clock;
using Figures = Result<std::vector<double>>;

struct SystemOptions {
  Options common;
  std::string peer_dir;
  std::string image = "localhost/tiphys/busybox:1";
  std::vector<std::string> only;  // of what there is; empty for all
};
// Those of every benchmark, --peer-dir DIR, --image IMAGE, and --only NAME[,NAME...] if there are names.
Result<SystemOptions> parse_system_options(const std::vector<std::string>& words,
                                           const std::vector<std::string>& names = {});
[[nodiscard]] bool is_wanted(const SystemOptions& options, const std::string& name);

double ms_since(Clock::time_point began);
Status succeed(const std::vector<std::string>& command);
Round constant(const std::vector<double>& figures);
// Measures when it is asked for the first time, and gives the same answer ever after.
Round once(const Round& round);

// How a workload of a benchmark is run.
struct Service {
  std::string image;
  std::vector<std::string> options = {};
  std::vector<std::string> arguments = {"sleep", "600"};
  std::string more = {};  // lines of the manifest
};
// Workloads of podman by the names bench_0, bench_1, …
std::string manifest_of(const std::string& agent, int workloads, const Service& service);

// Takes away the containers of a cluster's agent that are still there when it goes.
class RealContainers {
 public:
  explicit RealContainers(std::string agent) : agent_(std::move(agent)) {}
  ~RealContainers();
  RealContainers(const RealContainers&) = delete;
  RealContainers& operator=(const RealContainers&) = delete;

 private:
  const std::string agent_;
};

// A podman that costs next to nothing, with containers of its own; they end when it goes.
class StubPodman {
 public:
  explicit StubPodman(const std::filesystem::path& programs);
  ~StubPodman();
  StubPodman(const StubPodman&) = delete;
  StubPodman& operator=(const StubPodman&) = delete;

  // For whoever shall find this podman.
  [[nodiscard]] std::vector<std::string> environment() const;
  // From here on our own children find these containers.
  void use() const;
  [[nodiscard]] std::string program() const { return program_; }

 private:
  [[nodiscard]] std::vector<pid_t> processes() const;

  Folder folder_;
  const std::filesystem::path program_;
};

}  // namespace tiphys::bench
