// What the commands print that stock does not have, word for word: in a pipe, and on terminals of 80 and 200 columns. The
// expectations are files in tests/golden/cli; with TIPHYS_UPDATE=1 in the environment a run writes them, and the diff is
// what gets reviewed. In the files a '$' ends each line that was printed, so that blanks before it can be seen.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "cli/ank.h"
#include "cli/test_clock_zone.h"
#include "cli/test_console.h"
#include "cli/test_server.h"
#include "text/yaml.h"

namespace tiphys::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const fs::path kFolder = "tests/golden/cli";

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

const Tree& cluster() {
  static const Tree kState =
      to_tree(parse_yaml(content_of(kFolder / "state.yaml")).value()).value();
  return kState;
}

InstanceName instance(const char* workload, const char* id, const char* agent) {
  return {WorkloadName{workload}, WorkloadId{id}, AgentName{agent}};
}

DryRun planned() {
  return {{{"api", Fate::kCreated, {}, instance("api", "7a", "agent_A"), {}},
           {"db",
            Fate::kReplaced,
            instance("db", "1d", "agent_A"),
            instance("db", "2d", "agent_B"),
            {"config item 'passwords' changes", "agent changes from 'agent_A' to 'agent_B'",
             "runtimeConfig changes"}},
           {"job",
            Fate::kUnchanged,
            instance("job", "3f", "agent_B"),
            instance("job", "3f", "agent_B"),
            {}},
           {"old", Fate::kDeleted, instance("old", "4c", "agent_A"), {}, {}},
           {"web",
            Fate::kUpdated,
            instance("web", "5b", "agent_A"),
            instance("web", "5b", "agent_A"),
            {"tags.owner changes from 'the people of the first floor' to 'the people of the second "
             "floor'"}}},
          {"The workload 'api' depends on 'nobody', which does not exist."},
          {"signatures"}};
}

constexpr const char* kManifest = R"(
apiVersion: v1
workloads:
  web: {agent: agent_A, runtime: podman, runtimeConfig: c}
configs:
  ports: {http: '80', https: '443'}
  banner: hello
  fresh: [a]
)";

// The cluster as it is, and what becomes of it once somebody has asked.
Script script() {
  Script script;
  script.on_request = [](Visitor& visitor, const Request& request) {
    if (!std::holds_alternative<CompleteStateRequest>(request.content)) return;
    visitor.send(Response{request.id, CompleteStateResponse{cluster(), {}}});
  };
  return script;
}

Script planning() {
  Script planning = script();
  planning.on_dry_run = [](const DryRunRequest&) { return planned(); };
  return planning;
}

Script refusing() {
  Script refusing = script();
  refusing.on_dry_run = [](const DryRunRequest&) {
    return ErrorResponse{"workload dependency 'web' is part of a cycle."};
  };
  return refusing;
}

Script observing() {
  Script observing = script();
  observing.on_state_ages = [](const StateAgesRequest& request) {
    using std::chrono::milliseconds;
    EXPECT_FALSE(request.workloads.empty());
    return StateAgesResponse{
        {{instance("db", "1d0e5b6a7c8d9e0f", "agent_A"), milliseconds(192'400)},
         {instance("old", "4c0a1b2c3d4e5f60", "agent_A"), milliseconds(999)},
         {instance("lost", "of another instance", "agent_B"), milliseconds(5'000)}}};
  };
  return observing;
}

// db gets up while somebody waits.
Script moving() {
  Script moving = script();
  moving.on_request = [answer = moving.on_request](Visitor& visitor, const Request& request) {
    answer(visitor, request);
    const InstanceName db = instance("db", "1d0e5b6a7c8d9e0f", "agent_A");
    for (const Phase phase : {Phase::kPendingStarting, Phase::kRunningOk})
      visitor.send(UpdateWorkloadState{{{db, ExecutionState(phase)}}});
  };
  return moving;
}

struct Case {
  friend std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

  const char* name;
  Words words;
  Script (*script)() = cli::script;
};

// "-" is the manifest.
std::vector<Case> cases() {
  return {
      {"get_workloads", {"get", "workloads"}},
      {"get_workloads_wide", {"get", "workloads", "-o", "wide"}},
      {"get_workloads_name", {"get", "workloads", "-o", "name"}},
      {"get_workloads_json", {"get", "workloads", "-o", "json", "web", "old"}},
      {"get_workloads_yaml", {"get", "workloads", "-o", "yaml", "web"}},
      {"get_workloads_none", {"get", "workloads", "-o", "json", "nobody"}},
      {"get_workloads_sorted",
       {"get", "workloads", "--no-headers", "--sort-by", "Execution_State"}},
      {"get_workloads_wrong_column", {"get", "workloads", "--sort-by", "agnet"}},
      {"get_agents_wide", {"get", "agents", "-o", "wide"}},
      {"get_agents_json", {"get", "agents", "-o", "json"}},
      {"get_agents_sorted", {"get", "agents", "--sort-by", "free-memory"}},
      {"get_configs_wide", {"get", "configs", "-o", "wide", "--sort-by", "size"}},
      {"get_configs_yaml", {"get", "configs", "-o", "yaml"}},
      {"plan", {"plan", "-"}, planning},
      {"plan_json", {"plan", "-o", "json", "--detailed-exitcode", "-"}, planning},
      {"plan_yaml", {"plan", "-o", "yaml", "-"}, planning},
      {"plan_refused", {"plan", "--detailed-exitcode", "-"}, refusing},
      {"plan_by_stock", {"plan", "-"}},
      {"apply_dry_run", {"apply", "--dry-run", "--detailed-exitcode", "-"}, planning},
      {"apply_dry_run_by_stock", {"apply", "--dry-run", "-"}},
      {"describe_workload", {"describe", "workload", "web"}},
      {"describe_workloads", {"describe", "workload", "db", "old", "lost"}},
      {"describe_since", {"describe", "workload", "db", "old", "lost"}, observing},
      {"describe_unknown_workload", {"describe", "workload", "bd"}},
      {"describe_agent", {"describe", "agent", "agent_A"}},
      {"describe_unknown_agent", {"describe", "agent", "agent_B"}},
      {"describe_stray_agent", {"describe", "agent", "agnet_A"}},
      {"wait_at_once", {"wait", "workload", "--for", "failed", "job"}},
      {"wait_progress", {"wait", "workload", "--for", "running", "db"}, moving},
      {"wait_in_vain", {"wait", "workload", "--for", "running", "db", "job"}},
      {"wait_too_long", {"wait", "workload", "--for", "running", "--timeout", "1ms", "db", "lost"}},
      {"wait_removed", {"wait", "workload", "--for", "removed", "nobody"}},
      {"wait_unknown", {"wait", "workload", "--for", "running", "wbe"}},
      {"explain", {"explain"}},
      {"explain_workload", {"explain", "workload"}},
      {"explain_field", {"explain", "workloads.web.dependencies"}},
      {"explain_rules", {"explain", "workload.controlInterfaceAccess.allowRules"}},
      {"explain_unknown", {"explain", "workload.restartpolicy"}},
  };
}

// Addresses differ from run to run.
std::string without(std::string text, const std::string& url) {
  for (std::size_t at = text.find(url); at != std::string::npos; at = text.find(url))
    text.replace(at, url.size(), "<url>");
  return text;
}

// As in the files: ends of lines and escapes can be seen.
std::string visible(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n')
      shown += "$\n";
    else if (c == '\x1b')
      shown += "<esc>";
    else
      shown += c;
  }
  if (!text.empty() && text.back() != '\n') shown += "<no line break>\n";
  return shown;
}

std::string run_once(const Case& each, RecordingConsole console) {
  const ClockZone zone("UTC0");
  const ScriptedServer server(each.script());
  Words words{"-k", "-s", server.url()};
  words.insert(words.end(), each.words.begin(), each.words.end());
  console.input = kManifest;
  const int exit = run_ank(words, {{"HOME", "/nowhere"}}, console);
  std::string text = visible(without(console.out, server.url()));
  if (!console.err.empty())
    text += concat("-- stderr\n", visible(without(console.err, server.url())));
  return concat(text, "-- exit ", std::to_string(exit), "\n");
}

class Output : public ::testing::TestWithParam<Case> {};

TEST_P(Output, IsAsWritten) {
  const Case& each = GetParam();
  std::string text = concat("ank ", join(each.words, " "), "\n");
  text += concat("\n== in a pipe\n", run_once(each, RecordingConsole()));
  for (const std::size_t columns : {80U, 200U})
    text += concat("\n== on a terminal of ", std::to_string(columns), " columns\n",
                   run_once(each, RecordingConsole(columns)));
  const fs::path file = kFolder / concat(each.name, ".txt");
  if (std::getenv("TIPHYS_UPDATE") != nullptr) std::ofstream(file) << text;
  EXPECT_EQ(content_of(file), text) << file;
}

INSTANTIATE_TEST_SUITE_P(Cli, Output, ::testing::ValuesIn(cases()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace tiphys::cli
