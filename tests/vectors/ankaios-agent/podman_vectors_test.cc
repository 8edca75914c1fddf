// Replays what a stock Ankaios agent was seen to ask of podman, and to report of what podman said, against the functions
// that decide: read_container_config(), the command lines, parse_ps() and execution_state_of(). The whole agent is replayed
// elsewhere.
//
// Container names are those of stock, shortened; ours are the full instance name (row `container-name` of
// docs/decisions/0006-where-sources-differ.md). Everything else has to be the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/strings.h"
#include "io/runtimes/commands/container_arguments.h"
#include "io/runtimes/commands/container_config.h"
#include "io/runtimes/podman/podman_argv.h"
#include "io/runtimes/podman/podman_output.h"

namespace tiphys::podman {
namespace {

using Json = nlohmann::json;

Json scenarios(const std::string& name) {
  std::ifstream file("tests/vectors/ankaios-agent/" + name);
  return Json::parse(file);
}

// All that some key holds, over all steps.
std::vector<Json> all_of(const Json& scenario, const char* key) {
  std::vector<Json> found;
  for (const auto& step : scenario["steps"])
    if (step.contains(key))
      for (const auto& each : step[key]) found.push_back(each);
  return found;
}

std::vector<Json> added_workloads(const Json& scenario) {
  std::vector<Json> added;
  for (const auto& step : scenario["steps"])
    if (step.contains("server_sends"))
      for (const auto& message : step["server_sends"])
        for (const auto& workload : message.value("addedWorkloads", Json::array()))
          added.push_back(workload);
  return added;
}

std::vector<Json> reported_states(const Json& receives) {
  std::vector<Json> states;
  for (const auto& message : receives)
    if (message.contains("updateWorkloadState"))
      for (const auto& state : message["updateWorkloadState"]["workloadStates"])
        states.push_back(state["executionState"]);
  return states;
}

WorkloadSpecPtr spec_of(const Json& added) {
  const auto& name = added["instanceName"];
  auto workload = std::make_shared<Workload>();
  workload->agent = added["workload"]["agent"];
  workload->runtime = added["workload"]["runtime"];
  workload->runtime_config = added["workload"]["runtimeConfig"];
  auto spec = WorkloadSpec::received(
      {WorkloadName{name["workloadName"]}, WorkloadId{name["id"]}, AgentName{name["agentName"]}},
      std::move(workload));
  EXPECT_TRUE(spec);
  return *spec;
}

// What the agent's own files would be mounted from, as the recordings show it.
std::vector<shell::Mount> mounts_of(const Json& added) {
  const auto& name = added["instanceName"];
  const auto folder = concat("{{dir}}/run/", std::string(name["agentName"]), "_io/",
                             std::string(name["workloadName"]), ".", std::string(name["id"]));
  std::vector<shell::Mount> mounts;
  if (added["workload"].contains("controlInterfaceAccess"))
    mounts.push_back({folder + "/control_interface", "/run/ankaios/control_interface", false});
  if (added["workload"].contains("files"))
    for (const auto& file : added["workload"]["files"]["files"]) {
      const std::string mount_point = file["mountPoint"];
      mounts.push_back({concat(folder, "/files", mount_point), mount_point, true});
    }
  return mounts;
}

bool has(const Arguments& arguments, const char* word) {
  return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

// The recorded commands with that word, without the program's name.
std::vector<Arguments> calls_with(const Json& scenario, const char* word) {
  std::vector<Arguments> calls;
  for (const auto& call : all_of(scenario, "expect_engine_calls")) {
    Arguments arguments = call.get<Arguments>();
    arguments.erase(arguments.begin());
    if (has(arguments, word)) calls.push_back(std::move(arguments));
  }
  return calls;
}

// And in one argument, so that it is none of its own whatever it begins with.
Arguments with_full_name(Arguments arguments, const std::string& name) {
  const auto option = std::find(arguments.begin(), arguments.end(), "--name");
  if (option == arguments.end()) return arguments;
  *option = concat("--name=", name);
  arguments.erase(std::next(option));
  return arguments;
}

bool reports_failed_start(const Json& scenario) {
  for (const auto& step : scenario["steps"])
    if (step.contains("expect_server_receives"))
      for (const auto& state : reported_states(step["expect_server_receives"]))
        if (state.value("pending", "") == "PENDING_STARTING_FAILED") return true;
  return false;
}

TEST(PodmanVectors, TheSameWorkloadsBecomeTheSameCommands) {
  std::size_t commands = 0;
  std::size_t refused = 0;
  for (const auto& scenario : scenarios("podman_argv.json")) {
    SCOPED_TRACE(scenario["name"].get<std::string>());
    const auto runs = calls_with(scenario, "run");
    std::size_t next_run = 0;
    for (const auto& added : added_workloads(scenario)) {
      const auto spec = spec_of(added);
      auto container = commands::read_container_config(*spec);
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
      EXPECT_EQ(commands::run_arguments({"ankaios", spec->instance().agent}, *container),
                with_full_name(runs[next_run++], container->name));
      ++commands;
      const shell::ContainerId id{"{{cid:web#1}}"};
      for (const auto& call : calls_with(scenario, "start"))
        EXPECT_EQ(commands::start_arguments(container->general_options, id), call);
      for (const auto& call : calls_with(scenario, "stop")) EXPECT_EQ(stop_arguments(id), call);
      for (const auto& call : calls_with(scenario, "rm")) EXPECT_EQ(rm_arguments(id), call);
    }
    EXPECT_EQ(next_run, runs.size());
  }
  EXPECT_EQ(commands, 22U);
  EXPECT_EQ(refused, 9U);
}

// -- States ----------------------------------------------------------------------------------------------------------

// An execution state as the recordings write it: the word and the additional information.
std::pair<std::string, std::string> written(const ExecutionState& state) {
  static const std::map<Phase, std::string> kWords = {
      {Phase::kPendingStarting, "PENDING_STARTING"},
      {Phase::kRunningOk, "RUNNING_OK"},
      {Phase::kSucceededOk, "SUCCEEDED_OK"},
      {Phase::kFailedExecFailed, "FAILED_EXEC_FAILED"},
      {Phase::kFailedUnknown, "FAILED_UNKNOWN"},
      {Phase::kFailedLost, "FAILED_LOST"},
      {Phase::kStopping, "STOPPING"}};
  return {kWords.at(state.phase), state.additional_info};
}

std::pair<std::string, std::string> written(const Json& state) {
  for (const auto& [key, value] : state.items())
    if (key != "additionalInfo") return {value, state["additionalInfo"]};
  return {};
}

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
