#pragma once

// The command line of `ank`: words to a command. Pure; what is read from files comes later
// (settings.h).

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/workload_table.h"
#include "model/workload.h"

namespace tiphys::cli {

enum class OutputFormat : std::uint8_t { kYaml, kJson };
enum class ListFormat : std::uint8_t { kTable, kWide, kName, kJson, kYaml };
enum class PlanFormat : std::uint8_t { kText, kJson, kYaml };

// How a list of workloads, agents or configs is shown.
struct Listing {
  ListFormat format = ListFormat::kTable;
  bool has_headers = true;
  std::optional<std::string> sort_by{};  // the name of a column
};

struct GetState {
  OutputFormat format = OutputFormat::kYaml;
  std::vector<std::string> masks;
};
struct GetWorkloads {
  WorkloadFilter filter;
  bool watch = false;
  Listing listing;
};
struct GetAgents {
  Listing listing;
};
struct GetConfigs {
  Listing listing;
};
struct GetEvents {
  OutputFormat format = OutputFormat::kYaml;
  bool includes_current_state = false;
  std::vector<std::string> masks;
};
struct SetState {
  std::vector<std::string> masks;
  std::string file;
};
struct DeleteWorkloads {
  std::vector<std::string> names;
};
struct DeleteConfigs {
  std::vector<std::string> names;
};
struct RunWorkload {
  std::string name;
  std::string runtime;
  std::string runtime_config;
  std::string agent;
  Tags tags;
};
struct Apply {
  std::vector<std::string> files;
  std::optional<std::string> agent;
  bool deletes = false;
  bool dry_run = false;
  bool detailed_exit_code = false;
};
struct Plan {
  std::vector<std::string> files;
  std::optional<std::string> agent;
  bool deletes = false;
  bool detailed_exit_code = false;
  PlanFormat format = PlanFormat::kText;
};
struct Logs {
  std::vector<std::string> names;
  bool follow = false;
  bool shows_names = false;
  std::int32_t tail = -1;
  std::optional<std::string> since;
  std::optional<std::string> until;
};

struct WaitFor {
  enum class Goal : std::uint8_t { kRunning, kSucceeded, kFailed, kRemoved };

  std::vector<std::string> names;
  Goal goal = Goal::kRunning;
  std::optional<std::chrono::milliseconds> timeout{};  // none: for ever
};
struct DescribeWorkloads {
  std::vector<std::string> names;
};
struct DescribeAgents {
  std::vector<std::string> names;
};
struct Explain {
  std::string field;  // empty: the whole manifest
};
struct Schema {};

using Command = std::variant<GetState, GetWorkloads, GetAgents, GetConfigs, GetEvents, SetState,
                             DeleteWorkloads, DeleteConfigs, RunWorkload, Apply, Plan, Logs,
                             WaitFor, DescribeWorkloads, DescribeAgents, Explain, Schema>;

enum class Colours : std::uint8_t { kAuto, kAlways, kNever };

// What the command line and the environment say; the rest is for a config file to say.
struct GivenOptions {
  std::optional<std::string> config_path;
  std::optional<std::string> server_url;
  std::optional<std::uint64_t> response_timeout_ms;
  bool verbose = false;
  bool quiet = false;
  bool no_wait = false;
  Colours color = Colours::kAuto;
  std::optional<bool> insecure;
  std::optional<std::string> ca_pem;
  std::optional<std::string> crt_pem;
  std::optional<std::string> key_pem;
};

struct Invocation {
  GivenOptions options;
  Command command;
};

// A help text, the version, or what is wrong with the words: nothing is left to do but to print it.
struct Printout {
  enum class Kind : std::uint8_t { kHelp, kMissingCommand, kUsageError };

  Kind kind = Kind::kHelp;
  std::string text;  // a usage error without "error: "
};

constexpr int exit_code(Printout::Kind kind) { return kind == Printout::Kind::kHelp ? 0 : 2; }

using Environment = std::map<std::string, std::string>;

// The words do not begin with the program's name.
std::variant<Invocation, Printout> parse_command_line(std::vector<std::string> words,
                                                      const Environment& environment);

}  // namespace tiphys::cli
