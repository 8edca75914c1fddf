// Replays what a stock Ankaios agent was seen to ask of nerdctl, and to report of what nerdctl said, against the functions
// that decide: read_container_config(), the command lines, parse_ps(), parse_inspect() and execution_state_of(). The whole agent is replayed
// elsewhere.

#include <gtest/gtest.h>

#include <string>

#include "io/runtimes/nerdctl/nerdctl_argv.h"
#include "io/runtimes/nerdctl/nerdctl_output.h"
#include "tests/vectors/ankaios-agent/engine_vectors.h"

namespace tiphys::nerdctl {
namespace {

using commands::calls_with;
using commands::has;
using commands::Json;
using commands::replay_commands;
using commands::Replayed;
using commands::reported_states;
using commands::scenarios;
using commands::written;

TEST(ContainerdVectors, TheSameWorkloadsBecomeTheSameCommands) {
  EXPECT_EQ(replay_commands("containerd_argv.json", {stop_arguments, rm_arguments}),
            (Replayed{.commands = 20, .refused = 2}));
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
