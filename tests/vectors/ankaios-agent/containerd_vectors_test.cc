// Replays what a stock Ankaios agent was seen to ask of nerdctl, and to report of what nerdctl said, against the functions
// that decide: read_container_config(), the command lines, parse_ps(), parse_inspect() and execution_state_of(). The whole agent is replayed
// elsewhere.

#include <gtest/gtest.h>

#include <string>

#include "io/runtimes/commands/container_config.h"
#include "io/runtimes/nerdctl/nerdctl_argv.h"
#include "io/runtimes/nerdctl/nerdctl_output.h"
#include "tests/vectors/ankaios-agent/engine_vectors.h"

namespace tiphys::nerdctl {
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

TEST(ContainerdVectors, TheSameWorkloadsBecomeTheSameCommands) {
  std::size_t commands = 0;
  std::size_t refused = 0;
  for (const auto& scenario : scenarios("containerd_argv.json")) {
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
  EXPECT_EQ(commands, 20U);
  EXPECT_EQ(refused, 2U);
}

// -- States ----------------------------------------------------------------------------------------------------------

// A nerdctl with one container of ours, as far as the recorded events describe it.
struct StandIn {
  std::string state = "running";
  int exit_code = 0;
  bool is_removed_at_its_end = false;
  bool is_gone = false;  // nerdctl then prints nothing of it

  [[nodiscard]] ExecutionState seen() const {
    const bool prints_nothing = is_gone || (is_removed_at_its_end && state == "exited");
    const Json line = {{"ID", "ours"}, {"Labels", "agent=agent_A"}};
    const auto entries = parse_ps(prints_nothing ? "" : line.dump());
    if (!entries) return ExecutionState(Phase::kFailedUnknown, kListingFailed);
    if (entries->empty())
      return workload::execution_state_of({workload::ContainerPhase::kGone, {}, 0, false});
    const Json ours = {{"Id", "ours"}, {"State", {{"Status", state}, {"ExitCode", exit_code}}}};
    const auto listed = parse_inspect(Json::array({ours}).dump(), *entries);
    return execution_state_of(listed->front().container.status);
  }
};

TEST(ContainerdVectors, TheSameListingsBecomeTheSameStates) {
  std::size_t states = 0;
  for (const auto& scenario : scenarios("containerd_states.json")) {
    SCOPED_TRACE(scenario["name"].get<std::string>());
    StandIn nerdctl;
    for (const auto& call : calls_with(scenario, "run"))
      nerdctl.is_removed_at_its_end = has(call, "--rm");
    bool has_changed = false;
    for (const auto& step : scenario["steps"]) {
      if (step.contains("set")) {
        nerdctl.state = step["set"].value("state", nerdctl.state);
        nerdctl.exit_code = step["set"].value("exit_code", nerdctl.exit_code);
        nerdctl.is_gone = step["set"].value("gone", nerdctl.is_gone);
        has_changed = true;
      }
      for (const auto& rule : step.value("rules", Json::array()))
        if (rule.contains("stdout")) {
          ASSERT_EQ(rule["stdout"], "");
          nerdctl.is_gone = true;
          has_changed = true;
        }
      if (!step.contains("expect_server_receives") || !has_changed) continue;
      has_changed = false;
      for (const auto& reported : reported_states(step["expect_server_receives"])) {
        EXPECT_EQ(written(nerdctl.seen()), written(reported));
        ++states;
      }
    }
  }
  EXPECT_EQ(states, 27U);
}

}  // namespace
}  // namespace tiphys::nerdctl
