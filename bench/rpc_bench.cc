// B14: a unary echo on io/rpc beside the same on grpc++.
//
// Each server is a process of its own with one thread for its calls; the load is the same client for both and has the other
// core. Where the load is the slower side, calls per second say too little about the server: its processor time per
// call stands beside them.

#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"
#include "bench/process.h"
#include "bench/rpc/load.h"

namespace tiphys::bench {
namespace {

constexpr std::size_t kIdleConnections = 1000;
constexpr std::size_t kStreamConnections = 10;
constexpr std::size_t kStreamsEach = 100;
constexpr auto kWarmUp = std::chrono::milliseconds(200);
constexpr auto kTime = std::chrono::milliseconds(700);  // of one round

struct Programs {
  std::string grpcpp;
  std::string ours;
  std::string grpcpp_call;
};

Round calls(const std::string& program, std::size_t connections, std::size_t concurrent) {
  return [=]() -> Result<std::vector<double>> {
    TIPHYS_TRY(const ServerProcess server, ServerProcess::start(program));
    Load load(server.port(), connections);
    TIPHYS_REQUIRE(load.call(concurrent, kWarmUp));
    const double used = server.cpu_seconds();
    TIPHYS_TRY(const CallFigures figures, load.call(concurrent, kTime));
    const auto count = static_cast<double>(figures.calls);
    return std::vector{count / figures.seconds, (server.cpu_seconds() - used) / count * 1e6,
                       figures.p50_seconds * 1e6, figures.p99_seconds * 1e6};
  };
}

// One call at a time has no budget: two processes that wake each other measure the kernel first of all.
void compare_calls(Report& report, int rounds, const Programs& programs, std::size_t connections,
                   std::size_t concurrent) {
  const Budget budget = connections * concurrent > 1 ? at_least(2.5) : Budget{};
  const std::string shape = std::to_string(connections) + " x " + std::to_string(concurrent);
  report.compare({{.name = shape + ": calls", .unit = "1/s", .budget = budget},
                  {.name = shape + ": server's processor time a call", .unit = "us"},
                  {.name = shape + ": latency, median", .unit = "us"},
                  {.name = shape + ": latency, 99 of 100", .unit = "us"}},
                 rounds, calls(programs.grpcpp, connections, concurrent),
                 calls(programs.ours, connections, concurrent));
}

// A second opinion on the load.
Round calls_by_grpcpp(const std::string& program, const std::string& client) {
  return [=]() -> Result<std::vector<double>> {
    TIPHYS_TRY(const ServerProcess server, ServerProcess::start(program));
    const double used = server.cpu_seconds();
    const auto began = std::chrono::steady_clock::now();
    TIPHYS_TRY(const double rate, number_printed_by({client, std::to_string(server.port()), "32",
                                                     std::to_string((kWarmUp + kTime).count())}));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
    const double calls = rate * passed.count();
    return std::vector{rate, (server.cpu_seconds() - used) / calls * 1e6};
  };
}

// Of a server that does nothing: as started, and after one call.
Round idle_memory(const std::string& program) {
  return [=]() -> Result<std::vector<double>> {
    TIPHYS_TRY(const ServerProcess server, ServerProcess::start(program));
    TIPHYS_TRY(const auto started, server.memory());
    Load load(server.port(), 1);
    TIPHYS_REQUIRE(load.touch());
    TIPHYS_TRY(const auto called, server.memory());
    return std::vector{started.all_bytes / 1024, called.all_bytes / 1024, called.own_bytes / 1024};
  };
}

Round memory_per_connection(const std::string& program) {
  return [=]() -> Result<std::vector<double>> {
    TIPHYS_TRY(const ServerProcess server, ServerProcess::start(program));
    Load first(server.port(), 1);
    TIPHYS_REQUIRE(first.touch());
    TIPHYS_TRY(const auto before, server.memory());
    Load load(server.port(), kIdleConnections);
    TIPHYS_REQUIRE(load.touch());
    TIPHYS_TRY(const auto after, server.memory());
    return std::vector{(after.all_bytes - before.all_bytes) / 1024 / kIdleConnections};
  };
}

Round memory_per_stream(const std::string& program) {
  return [=]() -> Result<std::vector<double>> {
    TIPHYS_TRY(const ServerProcess server, ServerProcess::start(program));
    Load load(server.port(), kStreamConnections);
    TIPHYS_REQUIRE(load.touch());
    TIPHYS_TRY(const auto before, server.memory());
    TIPHYS_REQUIRE(load.open_streams(kStreamsEach));
    TIPHYS_TRY(const auto after, server.memory());
    return std::vector{(after.all_bytes - before.all_bytes) / 1024 /
                       (kStreamConnections * kStreamsEach)};
  };
}

// A thousand connections need more descriptors than many systems give at first.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const Options& options) {
  raise_descriptor_limit();
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const Programs programs{.grpcpp = folder / "grpcpp-echo",
                          .ours = folder / "our-echo",
                          .grpcpp_call = folder / "grpcpp-call"};
  Report report("B14: unary echo of 16 bytes over loopback, connections x concurrent calls on each",
                "grpc++, one thread on one completion queue, " TIPHYS_BENCH_LINKING,
                "io/rpc, one thread, " TIPHYS_BENCH_LINKING);
  const int rounds = options.rounds;
  compare_calls(report, rounds, programs, 1, 1);
  compare_calls(report, rounds, programs, 1, 32);
  compare_calls(report, rounds, programs, 8, 8);
  report.compare({{.name = "1 x 32 by grpc++'s client: calls", .unit = "1/s"},
                  {.name = "1 x 32 by grpc++'s client: processor time", .unit = "us"}},
                 rounds, calls_by_grpcpp(programs.grpcpp, programs.grpcpp_call),
                 calls_by_grpcpp(programs.ours, programs.grpcpp_call));
  report.compare(
      {{.name = "memory, idle, just started", .unit = "KiB", .budget = at_most(0.3)},
       {.name = "memory, idle, after a call", .unit = "KiB", .budget = at_most(0.3)},
       {.name = "memory, of that written by itself", .unit = "KiB", .budget = at_most(0.3)}},
      rounds, idle_memory(programs.grpcpp), idle_memory(programs.ours));
  report.compare({{.name = "memory, each idle connection", .unit = "KiB", .budget = at_most(0.3)}},
                 rounds, memory_per_connection(programs.grpcpp),
                 memory_per_connection(programs.ours));
  report.compare({{.name = "memory, each idle stream", .unit = "KiB", .budget = at_most(0.3)}},
                 rounds, memory_per_stream(programs.grpcpp), memory_per_stream(programs.ours));
  if (!options.json.empty()) {
    if (const Status written = report.write_json(options.json); !written) {
      std::fprintf(stderr, "rpc-bench: %s\n", written.error().message.c_str());
      return 1;
    }
  }
  return report.is_complete() ? 0 : 1;
}

}  // namespace
}  // namespace tiphys::bench

int main(int argc, char** argv) {
  const auto options = tiphys::bench::parse_options({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr, "rpc-bench: %s\n", options.error().message.c_str());
    return 2;
  }
  return tiphys::bench::run(*options);
}
