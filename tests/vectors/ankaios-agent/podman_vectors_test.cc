// Replays what a stock Ankaios agent was seen to ask of podman, and to report of what podman said, against the functions
// that decide: read_container_config(), the command lines, parse_ps() and execution_state_of(). The whole agent is replayed
// elsewhere.

#include <gtest/gtest.h>

#include <string>

#include "io/runtimes/podman/podman_argv.h"
#include "io/runtimes/podman/podman_output.h"
#include "tests/vectors/ankaios-agent/engine_vectors.h"

namespace tiphys::podman {
namespace {

using commands::calls_with;
using commands::has;
using commands::Json;
using commands::replay_commands;
using commands::Replayed;
using commands::reported_states;
using commands::scenarios;
using commands::written;

TEST(PodmanVectors, TheSameWorkloadsBecomeTheSameCommands) {
  EXPECT_EQ(replay_commands("podman_argv.json", {stop_arguments, rm_arguments}),
            (Replayed{.commands = 22, .refused = 9}));
}

// -- States ----------------------------------------------------------------------------------------------------------

// A podman with one container of ours, as far as the recorded events describe it.
struct StandIn {
  std::string state = "running";
  int exit_code = 0;
  bool is_removed_at_its_end = false;
  std::string output;  // instead of a listing

  [[nodiscard]] ExecutionState seen() const {
    if (is_removed_at_its_end && state == "exited") return state_of("[]");
    const Json ours = {{"Id", "ours"}, {"State", state}, {"ExitCode", exit_code}};
    return state_of(output.empty() ? Json::array({ours}).dump() : output);
  }
  static ExecutionState state_of(const std::string& text) {
    const auto listed = parse_ps(text);
    if (!listed) return ExecutionState(Phase::kFailedUnknown, kListingFailed);
    if (listed->empty())
      return workload::execution_state_of({workload::ContainerPhase::kGone, {}, 0, false});
    return execution_state_of(listed->front().container.status);
  }
};

TEST(PodmanVectors, TheSameListingsBecomeTheSameStates) {
  std::size_t states = 0;
  for (const auto& scenario : scenarios("podman_states.json")) {
    SCOPED_TRACE(scenario["name"].get<std::string>());
    StandIn podman;
    for (const auto& call : calls_with(scenario, "run"))
      podman.is_removed_at_its_end = has(call, "--rm");
    bool has_changed = false;
    for (const auto& step : scenario["steps"]) {
      if (step.contains("set")) {
        podman.state = step["set"].value("state", podman.state);
        podman.exit_code = step["set"].value("exit_code", podman.exit_code);
        has_changed = true;
      }
      for (const auto& rule : step.value("rules", Json::array()))
        if (rule.contains("stdout")) {
          // A program that prints nothing gives an empty listing, which is no listing.
          podman.output = rule["stdout"].get<std::string>() + "\n";
          has_changed = true;
        }
      if (!step.contains("expect_server_receives") || !has_changed) continue;
      has_changed = false;
      for (const auto& reported : reported_states(step["expect_server_receives"])) {
        EXPECT_EQ(written(podman.seen()), written(reported));
        ++states;
      }
    }
  }
  EXPECT_EQ(states, 29U);
}

}  // namespace
}  // namespace tiphys::podman
