#pragma once

// What the replays of recorded engine commands and states share.
//
// Container names are those of stock, shortened; ours are the full instance name (row `container-name` of
// docs/decisions/0006-where-sources-differ.md). Everything else has to be the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/runtimes/commands/container_arguments.h"
#include "io/runtimes/commands/container_config.h"
#include "model/workload.h"

namespace tiphys::commands {

using Json = nlohmann::json;

inline Json scenarios(const std::string& name) {
  std::ifstream file("tests/vectors/ankaios-agent/" + name);
  return Json::parse(file);
}

// All that some key holds, over all steps.
inline std::vector<Json> all_of(const Json& scenario, const char* key) {
  std::vector<Json> found;
  for (const auto& step : scenario["steps"])
    if (step.contains(key))
      for (const auto& each : step[key]) found.push_back(each);
  return found;
}

inline std::vector<Json> added_workloads(const Json& scenario) {
  std::vector<Json> added;
  for (const auto& step : scenario["steps"])
    if (step.contains("server_sends"))
      for (const auto& message : step["server_sends"])
        for (const auto& workload : message.value("addedWorkloads", Json::array()))
          added.push_back(workload);
  return added;
}

inline std::vector<Json> reported_states(const Json& receives) {
  std::vector<Json> states;
  for (const auto& message : receives)
    if (message.contains("updateWorkloadState"))
      for (const auto& state : message["updateWorkloadState"]["workloadStates"])
        states.push_back(state["executionState"]);
  return states;
}

inline WorkloadSpecPtr spec_of(const Json& added) {
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
inline std::vector<shell::Mount> mounts_of(const Json& added) {
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

inline bool has(const Arguments& arguments, const char* word) {
  return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

// The recorded commands with that word, without the program's name.
inline std::vector<Arguments> calls_with(const Json& scenario, const char* word) {
  std::vector<Arguments> calls;
  for (const auto& call : all_of(scenario, "expect_engine_calls")) {
    Arguments arguments = call.get<Arguments>();
    arguments.erase(arguments.begin());
    if (has(arguments, word)) calls.push_back(std::move(arguments));
  }
  return calls;
}

// And in one argument, so that it is none of its own whatever it begins with.
inline Arguments with_full_name(Arguments arguments, const std::string& name) {
  const auto option = std::find(arguments.begin(), arguments.end(), "--name");
  if (option == arguments.end()) return arguments;
  *option = concat("--name=", name);
  arguments.erase(std::next(option));
  return arguments;
}

inline bool reports_failed_start(const Json& scenario) {
  for (const auto& step : scenario["steps"])
    if (step.contains("expect_server_receives"))
      for (const auto& state : reported_states(step["expect_server_receives"]))
        if (state.value("pending", "") == "PENDING_STARTING_FAILED") return true;
  return false;
}

// An execution state as the recordings write it: the word and the additional information.
inline std::pair<std::string, std::string> written(const ExecutionState& state) {
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

inline std::pair<std::string, std::string> written(const Json& state) {
  for (const auto& [key, value] : state.items())
    if (key != "additionalInfo") return {value, state["additionalInfo"]};
  return {};
}

// How an engine's program is asked to end and to remove a container.
struct EndArguments {
  Arguments (*stop)(const shell::ContainerId&);
  Arguments (*rm)(const shell::ContainerId&);
};

struct Replayed {
  std::size_t commands = 0;
  std::size_t refused = 0;

  friend bool operator==(const Replayed&, const Replayed&) = default;
};

// Expects every workload of the file to become the commands that were recorded for it.
inline Replayed replay_commands(const std::string& file, const EndArguments& end) {
  Replayed replayed;
  for (const auto& scenario : scenarios(file)) {
    SCOPED_TRACE(scenario["name"].get<std::string>());
    const auto runs = calls_with(scenario, "run");
    std::size_t next_run = 0;
    for (const auto& added : added_workloads(scenario)) {
      const auto spec = spec_of(added);
      auto container = read_container_config(*spec);
      EXPECT_EQ(!container.has_value(), reports_failed_start(scenario));
      if (!container) {
        EXPECT_TRUE(runs.empty());
        ++replayed.refused;
        continue;
      }
      container->name = to_string(spec->instance());
      container->labels = {{"name", container->name}};
      container->mounts = mounts_of(added);
      EXPECT_LT(next_run, runs.size());
      if (next_run == runs.size()) break;
      EXPECT_EQ(run_arguments({"ankaios", spec->instance().agent}, *container),
                with_full_name(runs[next_run++], container->name));
      ++replayed.commands;
      const shell::ContainerId id{"{{cid:web#1}}"};
      for (const auto& call : calls_with(scenario, "start"))
        EXPECT_EQ(start_arguments(container->general_options, id), call);
      for (const auto& call : calls_with(scenario, "stop")) EXPECT_EQ(end.stop(id), call);
      for (const auto& call : calls_with(scenario, "rm")) EXPECT_EQ(end.rm(id), call);
    }
    EXPECT_EQ(next_run, runs.size());
  }
  return replayed;
}

}  // namespace tiphys::commands
