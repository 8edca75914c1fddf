// What one masked read and one masked update cost in the server's machine at 10 and at 10,000 workloads. What they cost a
// client, and the bytes of a workload, are server-bench's.
//
// Both sizes are measured in one run, in turns; the best of many rounds counts, because the machine does other things
// too. The ratios are what matters: the work must follow the change, not the size of the state.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "core/server/server_machine.h"

namespace tiphys::bench {
namespace {

constexpr server::ConnectionNumber kCommander = 1;
constexpr std::size_t kSpecBytes = 420;
constexpr int kRounds = 2'000;
constexpr int kCallsPerRound = 20;

std::string name_of(std::size_t number) { return concat("workload_", std::to_string(number)); }

State state_of(std::size_t workloads) {
  State state;
  for (std::size_t i = 0; i < workloads; ++i) {
    auto workload = std::make_shared<Workload>();
    workload->agent = concat("agent_", std::to_string(i % 10));
    workload->runtime = "podman";
    workload->runtime_config = concat("image: ", name_of(i), "\n# ");
    workload->runtime_config.resize(kSpecBytes, 'x');
    state.workloads = state.workloads.set(name_of(i), WorkloadPtr(std::move(workload)));
  }
  return state;
}

// A server that answers itself for its store.
class Server {
 public:
  explicit Server(std::size_t workloads) : size_(workloads) {
    run(server::Start{state_of(workloads)});
    run(server::Opened{kCommander, server::CommanderPeer{}});
  }

  void read() {
    run(server::Received{
        kCommander,
        Request{"r", CompleteStateRequest{{concat("desiredState.workloads.", next(), ".agent")},
                                          false}}});
  }

  void update() {
    const std::string name = next();
    const Tree::Map tags = Tree::Map().set("owner", std::to_string(++revision_));
    const Tree::Map workload = Tree::Map().set("tags", tags);
    const Tree::Map desired =
        Tree::Map().set("apiVersion", "v1").set("workloads", Tree::Map().set(name, workload));
    UpdateStateRequest request{Tree::Map().set("desiredState", desired),
                               {concat("desiredState.workloads.", name, ".tags.owner")}};
    run(server::Received{kCommander, Request{"u", std::move(request)}});
  }

 private:
  // Ten workloads, spread over the whole state, in turns.
  std::string next() { return name_of((turn_++ % 10) * (size_ / 10)); }

  void run(const server::Event& event) {
    for (const auto& effect : machine_.step(event)) {
      if (const auto* load = std::get_if<server::Load>(&effect)) {
        run(server::Loaded{load->token, {}});
      } else if (const auto* commit = std::get_if<server::Commit>(&effect)) {
        run(server::Committed{commit->token, ++version_});
      } else if (const auto* send = std::get_if<server::Send>(&effect)) {
        const auto* response = std::get_if<Response>(&send->message);
        TIPHYS_CHECK(
            response == nullptr || !std::holds_alternative<ErrorResponse>(response->content),
            "the benchmark's requests are accepted");
      }
    }
  }

  const std::size_t size_;
  server::ServerMachine machine_;
  server::Version version_ = 0;
  std::size_t turn_ = 0;
  std::uint64_t revision_ = 0;
};

double nanoseconds_per_call(Server& server, void (Server::*call)()) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCallsPerRound; ++i) (server.*call)();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - start).count() / kCallsPerRound;
}

void compare(const char* what, Server& small, Server& large, void (Server::*call)()) {
  double best_small = std::numeric_limits<double>::max();
  double best_large = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    best_small = std::min(best_small, nanoseconds_per_call(small, call));
    best_large = std::min(best_large, nanoseconds_per_call(large, call));
  }
  std::printf("%-16s %12.0f ns %12.0f ns %10.2f\n", what, best_small, best_large,
              best_large / best_small);
}

}  // namespace
}  // namespace tiphys::bench

int main() {
  using namespace tiphys::bench;
  constexpr std::size_t kLarge = 10'000;
  Server large(kLarge);
  Server small(10);

  std::printf("%-16s %15s %15s %10s\n", "in the core", "10 workloads", "10000 workloads", "ratio");
  compare("masked read", small, large, &Server::read);
  compare("masked update", small, large, &Server::update);
}
