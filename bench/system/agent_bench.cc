// B3, B4b, B5 and the unread pipe: what an agent costs while nothing happens, and how soon it does what it is told.
//
//   tools/podman-env … agent-bench [--only B3,B4b,B5,pipe] [--rounds N] [--json FILE] [--peer-dir DIR] [--image IMAGE]
//
// With --peer-dir the same is measured once more with another system's ank-server, ank-agent and ank in the floor's
// column. Where the budget is an absolute figure, it stands in the floor's column.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "bench/harness.h"
#include "bench/process.h"
#include "bench/system/cluster.h"
#include "bench/system/measuring.h"
#include "bench/system/pipes.h"

namespace tiphys::bench {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kNames{"B3", "B4b", "B5", "pipe"};

// --- B3: idle containers ---

constexpr int kManyContainers = 50;
constexpr int kFewContainers = 10;
constexpr auto kSettle = std::chrono::seconds(5);
// Ours asks podman for all containers once a minute, whatever happens: that belongs to the figure.
constexpr auto kIdle = std::chrono::seconds(60);

// In percent of a core. What keeps the containers (conmon) is no child of the agent.
Round idle_cpu(const fs::path& programs, const std::string& image, int containers) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto cluster, Cluster::start({.programs = programs}));
    const RealContainers rest(cluster->agent_name());
    const std::string manifest = cluster->folder().write(
        "manifest.yaml", manifest_of(cluster->agent_name(), containers,
                                     {.image = image, .options = {"--stop-signal=KILL"}}));
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", manifest})));
    std::this_thread::sleep_for(kSettle);
    const double before = cluster->agent().cpu_seconds_with_children();
    std::this_thread::sleep_for(kIdle);
    const double used = cluster->agent().cpu_seconds_with_children() - before;
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", "-d", manifest})));
    return std::vector{100 * used / std::chrono::duration<double>(kIdle).count()};
  };
}

// --- B4b: update ---

// It ends as soon as it is told to, so that nobody waits for it.
Service service_of(const std::string& image, int version) {
  return {.image = image,
          .options = {"--env=VERSION=" + std::to_string(version)},
          .arguments = {"syslogd", "-n", "-O", "-"}};
}

Round bare_update(const std::string& image) {
  return [=]() -> Figures {
    const std::string name = concat("tiphys-bench-", std::to_string(::getpid()));
    const auto run = [&](int version) {
      const Service service = service_of(image, version);
      std::vector<std::string> command{"podman",        "run",    "-d", "--label",
                                       "agent=" + name, "--name", name};
      command.insert(command.end(), service.options.begin(), service.options.end());
      command.push_back(service.image);
      command.insert(command.end(), service.arguments.begin(), service.arguments.end());
      return seconds_of(command);
    };
    const RealContainers rest(name);
    TIPHYS_REQUIRE(run(0));
    TIPHYS_TRY(const double stopped, seconds_of({"podman", "stop", name}));
    TIPHYS_TRY(const double removed, seconds_of({"podman", "rm", name}));
    TIPHYS_TRY(const double started, run(1));
    return std::vector{(stopped + removed + started) * 1000};
  };
}

// The instances that a message of the server says to be running.
std::set<InstanceName> running_in(const FromServer& message) {
  std::set<InstanceName> running;
  if (const auto* update = std::get_if<UpdateWorkloadState>(&message))
    for (const auto& state : update->states)
      if (state.state.phase == Phase::kRunningOk) running.insert(state.instance);
  return running;
}

// Waits until that many instances which are not known yet have been running, and adds them to the known ones.
Status await_running(Commander& commander, std::size_t count, std::set<InstanceName>& known) {
  const std::size_t wanted = known.size() + count;
  return commander.await([&](const FromServer& message) {
    known.merge(running_in(message));
    return known.size() >= wanted;
  });
}

Round update(const fs::path& programs, const std::string& image) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto cluster, Cluster::start({.programs = programs}));
    const RealContainers rest(cluster->agent_name());
    const auto manifest = [&](int version) {
      return cluster->folder().write(
          concat("manifest-", std::to_string(version), ".yaml"),
          manifest_of(cluster->agent_name(), 1, service_of(image, version)));
    };
    const std::string first = manifest(0);
    const std::string second = manifest(1);
    std::set<InstanceName> known;
    TIPHYS_REQUIRE(succeed(cluster->ank({"--no-wait", "apply", first})));
    TIPHYS_REQUIRE(await_running(cluster->commander(), 1, known));
    const auto began = Clock::now();
    TIPHYS_REQUIRE(succeed(cluster->ank({"--no-wait", "apply", second})));
    TIPHYS_REQUIRE(await_running(cluster->commander(), 1, known));
    const double time = ms_since(began);
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", "-d", second})));
    return std::vector{time};
  };
}

// --- B5: many workloads ---

constexpr int kWorkloads = 1000;

// One after the other, each from its start to its end. The agent starts the stub as often, once a workload, up to four at a
// time, and a few times more to list what there is.
Round bare_spawns(const fs::path& programs) {
  return [=]() -> Figures {
    const StubPodman podman(programs);
    podman.use();
    std::vector<std::string> command{podman.program(), "run", "--detach", "", "stub", "wait"};
    constexpr std::size_t kName = 3;
    const auto began = Clock::now();
    for (int i = 0; i < kWorkloads; ++i) {
      command[kName] = concat("--name=bench_", std::to_string(i));
      TIPHYS_REQUIRE(succeed(command));
    }
    return std::vector{ms_since(began)};
  };
}

Round apply_many(const fs::path& ours, const fs::path& programs) {
  return [=]() -> Figures {
    const StubPodman podman(ours);
    TIPHYS_TRY(const auto cluster,
               Cluster::start({.programs = programs, .agent_environment = podman.environment()}));
    const std::string manifest = cluster->folder().write(
        "manifest.yaml",
        manifest_of(cluster->agent_name(), kWorkloads, {.image = "stub", .arguments = {"wait"}}));
    std::set<InstanceName> known;
    const auto began = Clock::now();
    TIPHYS_REQUIRE(succeed(cluster->ank({"--no-wait", "apply", manifest})));
    TIPHYS_REQUIRE(await_running(cluster->commander(), kWorkloads, known));
    return std::vector{ms_since(began)};
  };
}

// --- A pipe that nobody reads ---

constexpr int kRequests = 2000;
constexpr int kWarmUp = 200;

// What a second workload does meanwhile.
struct Neighbour {
  bool reads;
  std::chrono::microseconds pause;  // between its requests
};
constexpr Neighbour kUnread{.reads = false, .pause = std::chrono::milliseconds(1)};
constexpr Neighbour kUnreadFlood{.reads = false, .pause = {}};
constexpr Neighbour kReadFlood{.reads = true, .pause = {}};

const Service kTalkative{.image = "stub",
                         .arguments = {"wait"},
                         .more =
                             "    controlInterfaceAccess:\n      allowRules:\n"
                             "        - type: StateRule\n          operation: Read\n"
                             "          filterMasks: [\"desiredState\"]\n"};

Request small_request() {
  return {"r", CompleteStateRequest{.field_masks = {"desiredState.workloads.bench_0.agent"}}};
}

// Asks and asks, and listens or does not.
class Talker {
 public:
  Talker(WorkloadPipes pipes, Neighbour how)
      : pipes_(std::move(pipes)),
        how_(how),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!pipes_.say(small_request(), std::chrono::milliseconds(10))) return;
      if (how_.reads && !pipes_.discard()) return;
      if (how_.pause.count() > 0) std::this_thread::sleep_for(how_.pause);
    }
  }

  WorkloadPipes pipes_;
  const Neighbour how_;
  std::jthread thread_;
};

Result<double> ask_once(WorkloadPipes& pipes) {
  const auto began = Clock::now();
  TIPHYS_TRY(const bool said, pipes.say(small_request(), std::chrono::seconds(5)));
  if (!said) return fail(Code::kDeadlineExceeded, "the control interface takes no request");
  TIPHYS_TRY(const FromAnkaios answer, pipes.hear());
  if (!std::holds_alternative<Response>(answer))
    return fail(Code::kUnavailable, "the control interface has been closed");
  return ms_since(began);
}

// The median and the 99th percentile of what a workload waits for an answer.
Round latency(const fs::path& ours, const fs::path& programs,
              const std::optional<Neighbour>& neighbour) {
  return [=]() -> Figures {
    const StubPodman podman(ours);
    TIPHYS_TRY(const auto cluster,
               Cluster::start({.programs = programs, .agent_environment = podman.environment()}));
    const std::string manifest =
        cluster->folder().write("manifest.yaml", manifest_of(cluster->agent_name(), 2, kTalkative));
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", manifest})));
    const fs::path folder = cluster->folder().path(cluster->agent_name() + "_io");
    TIPHYS_TRY(WorkloadPipes pipes, WorkloadPipes::open(folder, "bench_0"));
    TIPHYS_TRY(WorkloadPipes other, WorkloadPipes::open(folder, "bench_1"));
    std::optional<Talker> talker;
    if (neighbour) talker.emplace(std::move(other), *neighbour);
    std::vector<double> times;
    for (int i = -kWarmUp; i < kRequests; ++i) {
      TIPHYS_TRY(const double time, ask_once(pipes));
      if (i >= 0) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    return std::vector{times[times.size() / 2], times[times.size() * 99 / 100]};
  };
}

std::vector<Line> latency_lines(const std::string& what, Budget budget) {
  return {{.name = concat("pipe: ", what, ", median"), .unit = "ms", .budget = budget},
          {.name = concat("pipe: ", what, ", 99th percentile"), .unit = "ms"}};
}

// --- All of them ---

void against_floors(Report& report, const SystemOptions& options, const fs::path& ours) {
  const int rounds = options.common.rounds;
  if (is_wanted(options, "B3")) {
    const Round many = once(idle_cpu(ours, options.image, kManyContainers));
    report.compare({{.name = "B3 CPU of the agent, 50 idle containers",
                     .unit = "% core",
                     .budget = at_most(1)}},
                   1, constant({0.2}), many);
    report.compare({{.name = "B3 the same; floor: 10 idle containers", .unit = "% core"}}, 1,
                   idle_cpu(ours, options.image, kFewContainers), many);
  }
  if (is_wanted(options, "B4b"))
    report.compare({{.name = "B4b update of a container; floor: podman stop, rm, run",
                     .unit = "ms",
                     .budget = at_most(0.8)}},
                   rounds, bare_update(options.image), update(ours, options.image));
  if (is_wanted(options, "B5"))
    report.compare({{.name = "B5 apply 1,000 workloads; floor: the engine's stub 1,000 times",
                     .unit = "ms",
                     .budget = at_most(1.5)}},
                   rounds, bare_spawns(ours), apply_many(ours, ours));
  if (is_wanted(options, "pipe")) {
    report.compare(latency_lines("a request beside an unread pipe; floor: alone", at_most(1.5)),
                   rounds, latency(ours, ours, std::nullopt), latency(ours, ours, kUnread));
    report.compare(latency_lines("beside an unread flood; floor: a read one", at_most(1.5)), rounds,
                   latency(ours, ours, kReadFlood), latency(ours, ours, kUnreadFlood));
  }
}

void against_peer(Report& report, const SystemOptions& options, const fs::path& ours) {
  const fs::path peer = options.peer_dir;
  const int rounds = options.common.rounds;
  if (is_wanted(options, "B3"))
    report.compare({{.name = "B3 CPU of the agent, 50 idle containers", .unit = "% core"}}, 1,
                   idle_cpu(peer, options.image, kManyContainers),
                   idle_cpu(ours, options.image, kManyContainers));
  if (is_wanted(options, "B4b"))
    report.compare({{.name = "B4b update of a container", .unit = "ms"}}, rounds,
                   update(peer, options.image), update(ours, options.image));
  if (is_wanted(options, "B5"))
    report.compare({{.name = "B5 apply 1,000 workloads on a stub engine", .unit = "ms"}}, 1,
                   apply_many(ours, peer), apply_many(ours, ours));
  if (is_wanted(options, "pipe"))
    report.compare(latency_lines("a request beside an unread pipe", {}), rounds,
                   latency(ours, peer, kUnread), latency(ours, ours, kUnread));
}

int run(const SystemOptions& options) {
  const fs::path ours = fs::read_symlink("/proc/self/exe").parent_path();
  const bool has_peer = !options.peer_dir.empty();
  Report report(has_peer ? "B3, B4b, B5, unread pipe beside a peer" : "B3, B4b, B5, unread pipe",
                has_peer ? options.peer_dir : "floor, or the budget", "tiphys");
  if (has_peer)
    against_peer(report, options, ours);
  else
    against_floors(report, options, ours);
  if (!options.common.json.empty()) {
    if (const Status written = report.write_json(options.common.json); !written) {
      std::fprintf(stderr, "agent-bench: %s\n", written.error().message.c_str());
      return 1;
    }
  }
  return report.is_complete() ? 0 : 1;
}

}  // namespace
}  // namespace tiphys::bench

int main(int argc, char** argv) {
  const auto options =
      tiphys::bench::parse_system_options({argv + 1, argv + argc}, tiphys::bench::kNames);
  if (!options) {
    std::fprintf(stderr, "agent-bench: %s\n", options.error().message.c_str());
    return 2;
  }
  return tiphys::bench::run(*options);
}
