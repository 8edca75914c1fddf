// B1, B2, B4 and B9: how the programs that get installed do as a user meets them.
//
//   tools/podman-env … system-bench [--rounds N] [--json FILE] [--peer-dir DIR] [--image IMAGE]
//
// With --peer-dir the same is measured once more with another system's ank-server, ank-agent and ank in the floor's
// column. Where the budget is an absolute figure, it stands in the floor's column.

#include <yaml.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "bench/harness.h"
#include "bench/process.h"
#include "bench/system/cluster.h"
#include "bench/system/measuring.h"

namespace tiphys::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kWorkloads = 1000;
constexpr int kKills = 20;
constexpr auto kSettle = std::chrono::seconds(3);
constexpr auto kIdle = std::chrono::seconds(10);

// --- B1: start ---

std::string large_manifest() {
  std::string text = "apiVersion: v1\nworkloads:\n";
  for (int i = 0; i < kWorkloads; ++i)
    text += concat("  workload_", std::to_string(i),
                   ":\n    agent: agent_A\n    runtime: podman\n    restartPolicy: ALWAYS\n"
                   "    tags:\n      owner: team_",
                   std::to_string(i % 10),
                   "\n    runtimeConfig: |\n      image: registry.example/application:1.",
                   std::to_string(i),
                   "\n      commandOptions: [\"--net=host\", \"-e\", \"LEVEL=info\"]\n"
                   "      commandArgs: [\"--listen\", \"127.0.0.1\"]\n");
  return text;
}

Round time_of(const std::vector<std::string>& command) {
  return [=]() -> Figures {
    TIPHYS_TRY(const double seconds, seconds_of(command));
    return std::vector{seconds * 1000};
  };
}

// From its start until it has answered a request.
Result<double> start_up(const fs::path& programs, const std::vector<std::string>& more) {
  const std::uint16_t port = free_port();
  std::vector<std::string> command{programs / "ank-server", "-k", "-a",
                                   concat("127.0.0.1:", std::to_string(port))};
  command.insert(command.end(), more.begin(), more.end());
  const auto began = Clock::now();
  TIPHYS_TRY(const MeasuredProcess server, MeasuredProcess::start(command));
  TIPHYS_TRY(const auto commander, Commander::connect(port));
  TIPHYS_TRY(const Tree state, commander->state({"desiredState.apiVersion"}));
  return ms_since(began);
}

Round first_answer(const fs::path& programs) {
  return [=]() -> Figures {
    TIPHYS_TRY(const double time, start_up(programs, {}));
    return std::vector{time};
  };
}

// What a manifest of that many workloads adds to it.
Round manifest_read(const fs::path& programs, const std::string& manifest) {
  return [=]() -> Figures {
    TIPHYS_TRY(const double without, start_up(programs, {}));
    TIPHYS_TRY(const double with, start_up(programs, {"-m", manifest}));
    return std::vector{with - without};
  };
}

// The same bytes through the YAML library, events only.
Round bare_parse(std::string text) {
  return [text = std::move(text)]() -> Figures {
    const auto began = Clock::now();
    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
    bool is_over = false;
    while (!is_over) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser, &event) == 0)
        return fail(Code::kInternal, "the manifest of the benchmark is broken");
      is_over = event.type == YAML_STREAM_END_EVENT;
      yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return std::vector{ms_since(began)};
  };
}

// --- B2: idle ---

Round idle(const fs::path& programs, bool has_tls) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto cluster, Cluster::start({.programs = programs, .has_tls = has_tls}));
    std::this_thread::sleep_for(kSettle);
    TIPHYS_TRY(const auto server_before, cluster->server().threads());
    TIPHYS_TRY(const auto agent_before, cluster->agent().threads());
    std::this_thread::sleep_for(kIdle);
    TIPHYS_TRY(const auto server_after, cluster->server().threads());
    TIPHYS_TRY(const auto agent_after, cluster->agent().threads());
    TIPHYS_TRY(const auto server, cluster->server().memory());
    TIPHYS_TRY(const auto agent, cluster->agent().memory());
    const double seconds = std::chrono::duration<double>(kIdle).count();
    return std::vector{(server.all_bytes + agent.all_bytes) / 1024,
                       (server_after.wake_ups - server_before.wake_ups) / seconds,
                       (agent_after.wake_ups - agent_before.wake_ups) / seconds,
                       server_after.count + agent_after.count};
  };
}

std::vector<Line> idle_lines(const std::string& how) {
  return {{.name = concat("B2 idle, ", how, ": memory of server + agent"),
           .unit = "KiB",
           .budget = at_most(1)},
          {.name = concat("B2 idle, ", how, ": wake-ups of the server"),
           .unit = "1/s",
           .budget = at_most(1)},
          {.name = concat("B2 idle, ", how, ": wake-ups of the agent"),
           .unit = "1/s",
           .budget = at_most(1)},
          {.name = concat("B2 idle, ", how, ": threads"), .unit = ""}};
}

// --- B4, B9: real containers ---

Round bare_run(const std::string& image) {
  return [=]() -> Figures {
    const std::string name = concat("tiphys-bench-", std::to_string(::getpid()));
    TIPHYS_TRY(const double seconds,
               seconds_of({"podman", "run", "-d", "--name", name, image, "sleep", "600"}));
    TIPHYS_REQUIRE(succeed({"podman", "rm", "-f", "-t", "0", name}));
    return std::vector{seconds * 1000};
  };
}

Round apply_one(const fs::path& programs, const std::string& image) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto cluster, Cluster::start({.programs = programs}));
    const std::string manifest = cluster->folder().write(
        "manifest.yaml", manifest_of(cluster->agent_name(), 1, {.image = image}));
    auto seconds = seconds_of(cluster->ank({"apply", manifest}));
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", "-d", manifest})));
    if (!seconds) return fail(seconds.error());
    return std::vector{*seconds * 1000};
  };
}

bool says_failed(const FromServer& message) {
  const auto* update = std::get_if<UpdateWorkloadState>(&message);
  if (update == nullptr) return false;
  for (const auto& state : update->states)
    if (state.state.phase == Phase::kFailedExecFailed) return true;
  return false;
}

// Kills each container's process; answers with the median and the longest time until a client hears of it.
Result<std::vector<double>> kill_all(Cluster& cluster) {
  std::vector<double> times;
  TIPHYS_TRY(const std::string ids,
             output_of({"podman", "ps", "-q", "--filter", "label=agent=" + cluster.agent_name()}));
  for (const auto id : split(ids, '\n')) {
    if (id.empty()) continue;
    TIPHYS_TRY(const double pid, number_printed_by({"podman", "inspect", "--format",
                                                    "{{.State.Pid}}", std::string(id)}));
    const auto began = Clock::now();
    if (::kill(static_cast<pid_t>(pid), SIGKILL) != 0)
      return fail(Code::kUnavailable, "a container ended by itself");
    TIPHYS_REQUIRE(cluster.commander().await(says_failed));
    times.push_back(ms_since(began));
  }
  if (times.empty()) return fail(Code::kUnavailable, "no container runs");
  std::sort(times.begin(), times.end());
  return std::vector{times[times.size() / 2], times.back()};
}

Round kill_until_heard(const fs::path& programs, const std::string& image) {
  return [=]() -> Figures {
    TIPHYS_TRY(const auto cluster, Cluster::start({.programs = programs}));
    const std::string manifest = cluster->folder().write(
        "manifest.yaml", manifest_of(cluster->agent_name(), kKills, {.image = image}));
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", manifest})));
    auto times = kill_all(*cluster);
    TIPHYS_REQUIRE(succeed(cluster->ank({"apply", "-d", manifest})));
    return times;
  };
}

const std::vector<Line> kKillLines{
    {.name = "B9 container killed until heard: median", .unit = "ms", .budget = at_most(1)},
    {.name = "B9 container killed until heard: longest", .unit = "ms", .budget = at_most(1)}};

void against_floors(Report& report, const SystemOptions& options, const fs::path& ours,
                    const std::string& text, const std::string& file) {
  const int rounds = options.common.rounds;
  const auto spawn = time_of({ours / "bench-hello"});
  report.compare({{.name = "B1 ank-server: start to first answer; floor: start of a hello-world",
                   .unit = "ms",
                   .budget = at_most(3)}},
                 4 * rounds, spawn, first_answer(ours));
  report.compare({{.name = "B1 a manifest of 1,000 workloads on top; floor: bare parse",
                   .unit = "ms",
                   .budget = at_most(2)}},
                 rounds, bare_parse(text), manifest_read(ours, file));
  report.compare({{.name = "B1 ank --version; floor: start of a hello-world",
                   .unit = "ms",
                   .budget = at_most(2)}},
                 4 * rounds, spawn, time_of({ours / "ank", "--version"}));
  report.compare(idle_lines("plain"), 1, constant({3 * 1024, 1, 1, 0}), idle(ours, false));
  report.compare(idle_lines("mTLS"), 1, constant({6.5 * 1024, 1, 1, 0}), idle(ours, true));
  report.compare({{.name = "B4 ank apply of one container; floor: podman run -d",
                   .unit = "ms",
                   .budget = at_most(1.1)}},
                 rounds, bare_run(options.image), apply_one(ours, options.image));
  report.compare(kKillLines, 1, constant({20, 100}), kill_until_heard(ours, options.image));
}

void against_peer(Report& report, const SystemOptions& options, const fs::path& ours,
                  const std::string& file) {
  const fs::path peer = options.peer_dir;
  const int rounds = options.common.rounds;
  report.compare({{.name = "B1 ank-server: start to first answer", .unit = "ms"}}, rounds,
                 first_answer(peer), first_answer(ours));
  report.compare({{.name = "B1 a manifest of 1,000 workloads on top", .unit = "ms"}}, rounds,
                 manifest_read(peer, file), manifest_read(ours, file));
  report.compare({{.name = "B1 ank --version", .unit = "ms"}}, rounds,
                 time_of({peer / "ank", "--version"}), time_of({ours / "ank", "--version"}));
  report.compare(idle_lines("plain"), 1, idle(peer, false), idle(ours, false));
  report.compare(idle_lines("mTLS"), 1, idle(peer, true), idle(ours, true));
  report.compare({{.name = "B4 ank apply of one container", .unit = "ms"}}, rounds,
                 apply_one(peer, options.image), apply_one(ours, options.image));
  report.compare(kKillLines, 1, kill_until_heard(peer, options.image),
                 kill_until_heard(ours, options.image));
}

int run(const SystemOptions& options) {
  const fs::path ours = fs::read_symlink("/proc/self/exe").parent_path();
  const Folder folder;
  const std::string text = large_manifest();
  const std::string file = folder.write("large.yaml", text);
  Report report(options.peer_dir.empty() ? "B1, B2, B4, B9" : "B1, B2, B4, B9 beside a peer",
                options.peer_dir.empty() ? "floor, or the budget" : options.peer_dir, "tiphys");
  if (options.peer_dir.empty())
    against_floors(report, options, ours, text, file);
  else
    against_peer(report, options, ours, file);
  if (!options.common.json.empty()) {
    if (const Status written = report.write_json(options.common.json); !written) {
      std::fprintf(stderr, "system-bench: %s\n", written.error().message.c_str());
      return 1;
    }
  }
  return report.is_complete() ? 0 : 1;
}

}  // namespace
}  // namespace tiphys::bench

int main(int argc, char** argv) {
  const auto options = tiphys::bench::parse_system_options({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr, "system-bench: %s\n", options.error().message.c_str());
    return 2;
  }
  return tiphys::bench::run(*options);
}
