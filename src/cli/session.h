#pragma once

// One command's talk with the server, from hello to goodbye.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/console.h"
#include "cli/options.h"
#include "cli/plan_task.h"
#include "cli/settings.h"
#include "io/host/tls_files.h"
#include "model/messages.h"

namespace tiphys::cli {

// A command whose files are read and found good: what is left to do needs a server.
struct ShowState {
  OutputFormat format = OutputFormat::kYaml;
  std::vector<std::string> masks;
};
struct ShowWorkloads {
  WorkloadFilter filter;
  Listing listing;
};
struct WatchWorkloads {
  WorkloadFilter filter;
  Listing listing;
};
struct ShowAgents {
  Listing listing;
};
struct ShowConfigs {
  Listing listing;
};
struct ChangeState {
  std::string wrapper;  // what an error begins with; empty for none
  UpdateStateRequest request;
};
struct RemoveConfigs {  // as ChangeState, without a look at workloads
  UpdateStateRequest request;
};

using Task = std::variant<ShowState, ShowWorkloads, WatchWorkloads, ShowAgents, ShowConfigs,
                          ChangeState, RemoveConfigs, GetEvents, Logs, PlanUpdate, WaitFor,
                          DescribeWorkloads, DescribeAgents>;

// The exit code. What went wrong has been printed.
int perform(const Task& task, const Settings& settings, const std::optional<host::TlsMaterial>& tls,
            Console& console);

// "Failed to get agents: 'Command failed: '<text>''", or without a wrapper "Command failed: '<text>'".
std::string command_error(const std::string& wrapper, const std::string& text);

}  // namespace tiphys::cli
