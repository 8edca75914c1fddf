// Replays what a stock Ankaios agent was seen to ask of podman, and to report of what podman said, against the functions
// that decide: read_container_config(), the command lines, parse_ps() and execution_state_of(). The whole agent is replayed
// elsewhere.

#include <gtest/gtest.h>

#include <string>

#include "io/runtimes/commands/container_config.h"
#include "io/runtimes/podman/podman_argv.h"
#include "io/runtimes/podman/podman_output.h"
#include "tests/vectors/ankaios-agent/engine_vectors.h"

namespace tiphys::podman {
namespace {

using commands::added_workloads;
using commands::calls_with;
using commands::has;
using commands::Json;
using commands::mounts_of;
using commands::read_container_config;
using commands::reported_states;
using commands::reports_failed_start;
using commands::run_arguments;
using commands::scenarios;
using commands::spec_of;
using commands::start_arguments;
using commands::with_full_name;
using commands::written;

TEST(PodmanVectors, TheSameWorkloadsBecomeTheSameCommands) {
  std::size_t commands = 0;
  std::size_t refused = 0;
  for (const auto& scenario : scenarios("podman_argv.json")) {
    SCOPED_TRACE(scenario["name"].get<std::string>());
    const auto runs = calls_with(scenario, "run");
    std::size_t next_run = 0;
    for (const auto& added : added_workloads(scenario)) {
      const auto spec = spec_of(added);
      auto container = read_container_config(*spec);
      EXPECT_EQ(!container.has_value(), reports_failed_start(scenario));
      if (!container) {
        EXPECT_TRUE(runs.empty());
        ++refused;
        continue;
      }
      container->name = to_string(spec->instance());
      container->labels = {{"name", container->name}};
      container->mounts = mounts_of(added);
      ASSERT_LT(next_run, runs.size());
      EXPECT_EQ(run_arguments({"ankaios", spec->instance().agent}, *container),
                with_full_name(runs[next_run++], container->name));
      ++commands;
      const shell::ContainerId id{"{{cid:web#1}}"};
      for (const auto& call : calls_with(scenario, "start"))
        EXPECT_EQ(start_arguments(container->general_options, id), call);
      for (const auto& call : calls_with(scenario, "stop")) EXPECT_EQ(stop_arguments(id), call);
      for (const auto& call : calls_with(scenario, "rm")) EXPECT_EQ(rm_arguments(id), call);
    }
    EXPECT_EQ(next_run, runs.size());
  }
  EXPECT_EQ(commands, 22U);
  EXPECT_EQ(refused, 9U);
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
