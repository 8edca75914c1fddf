// `ank` as a whole against a real connection: what it says to the server, and what it makes of answers and silence.

#include "cli/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "cli/ank.h"
#include "cli/talk.h"
#include "cli/test_console.h"
#include "cli/test_server.h"
#include "io/host/test_certificates.h"

namespace tiphys::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kManifest =
    "apiVersion: v1\nworkloads:\n  w: {agent: a, runtime: r, runtimeConfig: c}\n";

struct Outcome {
  int exit;
  std::string out;
  std::string err;
};

Outcome ank(const std::string& url, Words words, const std::string& input = {}) {
  RecordingConsole console;
  console.input = input;
  words.insert(words.begin(), {"-k", "-s", url});
  const int exit = run_ank(words, {{"HOME", "/nowhere"}}, console);
  return {exit, console.out, console.err};
}

Tree state_of_w(Phase phase) {
  WorkloadStates states;
  states.update({{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}}, ExecutionState(phase)});
  return Tree::Map()
      .set("agents", Tree::Map().set("a", Tree::Map()))
      .set("workloadStates", states.tree());
}

// Answers questions for the state with w in that phase, and every update with w as added.
Script adding_w(Phase phase) {
  Script script;
  script.on_request = [phase](Visitor& visitor, const Request& request) {
    if (std::holds_alternative<CompleteStateRequest>(request.content))
      visitor.send(Response{request.id, CompleteStateResponse{state_of_w(phase), {}}});
    else
      visitor.send(Response{request.id, UpdateStateSuccess{{"w.1.a"}, {}}});
  };
  return script;
}

TEST(Session, AsksForTheStateUpdatesAsksAgainAndLeaves) {
  const ScriptedServer server(adding_w(Phase::kRunningOk));
  const Outcome outcome = ank(server.url(), {"apply", "-"}, kManifest);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "Successfully applied the manifest(s).\n"
            "Waiting for workload(s) to reach desired states (press Ctrl+C to interrupt).\n\n"
            "WORKLOAD NAME   AGENT   RUNTIME     EXECUTION STATE   ADDITIONAL INFO\n"
            "w               a                   Running(Ok)                      \n\n");
  const auto heard = server.heard();
  ASSERT_EQ(heard.size(), 4U);
  const auto& update = std::get<UpdateStateRequest>(std::get<Request>(heard[1]).content);
  EXPECT_TRUE(std::holds_alternative<CompleteStateRequest>(std::get<Request>(heard[0]).content));
  EXPECT_EQ(update.update_masks, (Words{"desiredState.workloads.w"}));
  EXPECT_TRUE(std::holds_alternative<CompleteStateRequest>(std::get<Request>(heard[2]).content));
  EXPECT_TRUE(std::holds_alternative<Goodbye>(heard[3]));
  EXPECT_NE(std::get<Request>(heard[0]).id, std::get<Request>(heard[2]).id);
  EXPECT_EQ(std::get<Request>(heard[0]).id.size(), 36U);
}

TEST(Session, WaitsUntilTheWorkloadIsThere) {
  Script script = adding_w(Phase::kPendingInitial);
  script.on_request = [answer = script.on_request, questions = 0](Visitor& visitor,
                                                                  const Request& request) mutable {
    answer(visitor, request);
    if (!std::holds_alternative<CompleteStateRequest>(request.content) || ++questions < 2) return;
    const InstanceName w{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}};
    visitor.send(UpdateWorkloadState{{{w, ExecutionState(Phase::kPendingStarting)}}});
    visitor.send(UpdateWorkloadState{{{w, ExecutionState(Phase::kFailedLost, "gone")}}});
  };
  const ScriptedServer server(script);
  const Outcome outcome = ank(server.url(), {"apply", "-"}, kManifest);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("| Pending(Initial)"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("Pending(Starting)"), std::string::npos);
  EXPECT_TRUE(outcome.out.ends_with("  Failed(Lost)      gone           \n\n")) << outcome.out;
}

TEST(Session, DoesNotWaitWhenToldSo) {
  const ScriptedServer server(adding_w(Phase::kPendingInitial));
  const Outcome outcome = ank(server.url(), {"--no-wait", "delete", "workload", "w"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(server.heard().size(), 3U);  // state, update, goodbye
}

TEST(Session, SaysNothingToABadManifestsServer) {
  const ScriptedServer server(adding_w(Phase::kRunningOk));
  const Outcome outcome = ank(server.url(), {"apply", "-"}, "apiVersion: v1\nworkloads: {w: 5}\n");
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "error: Command failed: 'Manifest schema validation failed:\n"
            "stdin:2:16: workloads.w: expected a map, found a number (5)'\n");
  EXPECT_TRUE(server.heard().empty());
}

TEST(Session, ShowsAServersErrorInsteadOfWaitingForAnAnswer) {
  Script script;
  script.on_request = [](Visitor& visitor, const Request& request) {
    visitor.send(Response{request.id, ErrorResponse{"first\nsecond"}});
  };
  const ScriptedServer server(script);
  EXPECT_EQ(ank(server.url(), {"get", "state"}).err,
            "error: Could not retrieve state. first, second\n");
  EXPECT_EQ(ank(server.url(), {"get", "agents"}).err,
            "error: Failed to get agents: 'Command failed: 'first\nsecond''\n");
  EXPECT_EQ(ank(server.url(), {"delete", "config", "c"}).err,
            "error: Failed to delete configs: 'Command failed: 'SetState failed with: 'first, "
            "second'''\n");
}

TEST(Session, WatchesUntilTheConnectionEnds) {
  const InstanceName w{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}};
  const InstanceName v{WorkloadName{"v"}, WorkloadId{"2"}, AgentName{"a"}};
  Script script;
  script.on_request = [w, v, questions = 0](Visitor& visitor, const Request& request) mutable {
    visitor.send(Response{request.id, CompleteStateResponse{state_of_w(Phase::kRunningOk), {}}});
    if (++questions == 1) {
      visitor.send(UpdateWorkloadState{{{w, ExecutionState(Phase::kFailedLost)}}});
      visitor.send(UpdateWorkloadState{{{v, ExecutionState(Phase::kRunningOk)}}});  // unknown
    } else {
      visitor.send(UpdateWorkloadState{{{w, ExecutionState(Phase::kRemoved)}}});
      visitor.end({});
    }
  };
  const ScriptedServer server(script);
  const Outcome outcome = ank(server.url(), {"get", "workloads", "-w"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.err,
            "error: Failed to watch workloads: 'Command failed: 'Connection to server "
            "interrupted''\n");
  const std::string header =
      "WORKLOAD NAME   AGENT   RUNTIME   EXECUTION STATE   ADDITIONAL INFO\n";
  const std::string beginning = "w               a                 ";
  EXPECT_EQ(outcome.out, header + beginning + "Running(Ok)                      \n\n" +  //
                             header + beginning + "Failed(Lost)                     \n\n" + header +
                             beginning + "Running(Ok)                      \n\n" +  //
                             header + "\n");
}

TEST(Session, WatchesInTheFormatThatIsAskedFor) {
  Script script;
  script.on_request = [](Visitor& visitor, const Request& request) {
    const InstanceName w{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}};
    visitor.send(Response{request.id, CompleteStateResponse{state_of_w(Phase::kRunningOk), {}}});
    visitor.send(UpdateWorkloadState{{{w, ExecutionState(Phase::kSucceededOk)}}});
    visitor.end({});
  };
  const ScriptedServer server(script);
  const Outcome outcome =
      ank(server.url(), {"get", "workloads", "-w", "-o", "wide", "--no-headers"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out,
            "w   a      Running(Ok)            1   \n\n"
            "w   a      Succeeded(Ok)            1   \n\n");
}

TEST(Session, WaitsUntilTheGoalIsReachedOrTheServerGoes) {
  const InstanceName w{WorkloadName{"w"}, WorkloadId{"1"}, AgentName{"a"}};
  Script script;
  script.on_request = [w](Visitor& visitor, const Request& request) {
    const Tree wanted = Tree::Map().set("agent", "a").set("runtime", "r").set("runtimeConfig", "c");
    const Tree desired = Tree::Map().set("workloads", Tree::Map().set("w", wanted));
    const Tree state = state_of_w(Phase::kPendingInitial).entries().set("desiredState", desired);
    visitor.send(Response{request.id, CompleteStateResponse{state, {}}});
    visitor.send(UpdateWorkloadState{{{w, ExecutionState(Phase::kSucceededOk)}}});
    visitor.end({});
  };
  const ScriptedServer server(script);
  const Outcome there = ank(server.url(), {"wait", "workload", "--for=succeeded", "w"});
  EXPECT_EQ(there.exit, 0) << there.err;
  EXPECT_EQ(there.out, "w has succeeded\n");
  EXPECT_EQ(ank(server.url(), {"-q", "wait", "workload", "--for=succeeded", "w"}).out, "");
  const Outcome gone = ank(server.url(), {"wait", "workload", "--for=removed", "w"});
  EXPECT_EQ(gone.exit, 1);
  EXPECT_EQ(gone.out, "");
  EXPECT_EQ(gone.err,
            "error: the server has ended the connection (Connection to server interrupted); is "
            "ank-server still running?\n");
}

TEST(Session, PlansWhatApplySendsAndChangesNothing) {
  const MachineServer server(kManifest);
  const Outcome planned = ank(server.url(), {"plan", "-"}, kManifest);
  EXPECT_EQ(planned.exit, 1) << "that server has no planner";
  EXPECT_NE(planned.err.find("needs a Tiphys server"), std::string::npos) << planned.err;

  Script script = adding_w(Phase::kRunningOk);
  std::vector<DryRunRequest> asked;
  script.on_dry_run = [&asked](const DryRunRequest& request) {
    asked.push_back(request);
    return DryRun{};
  };
  const ScriptedServer planner(script);
  for (const Words& more : {Words{}, Words{"-d"}, Words{"--agent", "b"}}) {
    SCOPED_TRACE(join(more, " "));
    Words applied{"--no-wait", "apply", "-"};
    Words dry{"apply", "--dry-run", "-"};
    Words plan{"plan", "-"};
    for (auto* words : {&applied, &dry, &plan})
      words->insert(words->end(), more.begin(), more.end());
    asked.clear();
    EXPECT_EQ(ank(planner.url(), applied, kManifest).exit, 0);
    const auto heard = planner.heard();
    EXPECT_EQ(ank(planner.url(), plan, kManifest).exit, 0);
    EXPECT_EQ(ank(planner.url(), dry, kManifest).exit, 0);
    // state, update and goodbye of apply are the last that it heard
    const auto& update = std::get<Request>(heard.at(heard.size() - 2));
    ASSERT_EQ(asked.size(), 2U);
    for (const auto& request : asked)
      EXPECT_EQ(request.update, std::get<UpdateStateRequest>(update.content));
    const auto all = planner.heard();
    for (std::size_t i = heard.size(); i < all.size(); ++i) {
      const auto* request = std::get_if<Request>(&all[i]);
      EXPECT_TRUE(request == nullptr ||
                  std::holds_alternative<CompleteStateRequest>(request->content));
    }
  }
}

TEST(Session, AsksNobodyForThePlanOfAnEmptyManifest) {
  const Outcome outcome =
      ank("http://127.0.0.1:9", {"plan", "--detailed-exitcode", "-"}, "apiVersion: v1\n");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("No workload would change.\n")) << outcome.out;
}

TEST(Session, KeepsStdoutForThePlan) {
  Script script = adding_w(Phase::kRunningOk);
  script.on_dry_run = [](const DryRunRequest&) { return DryRun{}; };
  const ScriptedServer server(script);
  const Outcome outcome =
      ank(server.url(), {"plan", "-o", "json", "-"},
          "apiVersion: v0.1\nworkloads:\n  w: {agent: a, runtime: r, runtimeConfig: c}\n");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("{\n")) << outcome.out;
  EXPECT_NE(outcome.err.find("deprecated"), std::string::npos) << outcome.err;
}

TEST(Session, TellsWhyAServerCannotBeReachedAndWhatToDo) {
  std::string url;
  {
    const ScriptedServer gone(Script{});
    url = gone.url();
  }
  const Outcome outcome = ank(url, {"get", "agents"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_TRUE(outcome.err.starts_with(
      concat("error: Could not connect to Ankaios server on '", url, "'. Reason: ")))
      << outcome.err;
  EXPECT_NE(outcome.err.find("Connection refused"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--server-url"), std::string::npos);
}

TEST(Session, WritesDurationsAsStockDoes) {
  using std::chrono::milliseconds;
  EXPECT_EQ(duration_text(milliseconds(3000)), "3s");
  EXPECT_EQ(duration_text(milliseconds(2500)), "2.5s");
  EXPECT_EQ(duration_text(milliseconds(1234)), "1.234s");
  EXPECT_EQ(duration_text(milliseconds(61000)), "61s");
  EXPECT_EQ(duration_text(milliseconds(500)), "500ms");
  EXPECT_EQ(duration_text(milliseconds(0)), "0ns");
}

// -- With TLS

// Files of a test, in a folder of their own.
class PemFiles {
 public:
  explicit PemFiles(const host::TlsMaterial& material) {
    fs::create_directories(folder_);
    write("ca.pem", material.ca);
    write("crt.pem", material.certificate);
    write("key.pem", material.key);
  }
  ~PemFiles() { fs::remove_all(folder_); }
  PemFiles(const PemFiles&) = delete;
  PemFiles& operator=(const PemFiles&) = delete;

  [[nodiscard]] Words options() const {
    return {"--ca_pem", path("ca.pem"), "--crt_pem", path("crt.pem"), "--key_pem", path("key.pem")};
  }
  [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }

 private:
  void write(const char* name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    fs::permissions(path(name), fs::perms::owner_read | fs::perms::owner_write);
  }

  const fs::path folder_ =
      fs::temp_directory_path() / concat("tiphys-cli-pem-", std::to_string(::getpid()));
};

Outcome ank_with_tls(const std::string& url, Words options) {
  RecordingConsole console;
  options.insert(options.end(), {"-s", url, "get", "agents"});
  const int exit = run_ank(options, {{"HOME", "/nowhere"}}, console);
  return {exit, console.out, console.err};
}

TEST(Session, TalksOverTlsWithBothSidesProved) {
  const host::Authority authority = host::make_ca();
  Script script = adding_w(Phase::kRunningOk);
  script.tls = host::issue(authority, {.names = {"ank-server"}});
  const ScriptedServer server(script);
  const PemFiles files(host::issue(authority, {.names = {"ank-cli"}}));
  const Outcome outcome = ank_with_tls(server.url(), files.options());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "NAME   WORKLOADS   CPU USAGE   FREE MEMORY\n"
            "a      1                                  \n");
}

TEST(Session, TrustsNoServerOfAnotherAuthority) {
  Script script = adding_w(Phase::kRunningOk);
  script.tls = host::issue(host::make_ca(), {.names = {"ank-server"}});
  const ScriptedServer server(script);
  const PemFiles files(host::issue(host::make_ca(), {.names = {"ank-cli"}}));
  const Outcome outcome = ank_with_tls(server.url(), files.options());
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_TRUE(outcome.err.starts_with(
      concat("error: Could not connect to Ankaios server on '", server.url(), "'. Reason: ")))
      << outcome.err;
  EXPECT_TRUE(server.heard().empty());
}

TEST(Session, ShowsWhichCertificateFileCannotBeUsed) {
  const PemFiles files(host::issue(host::make_ca(), {.names = {"ank-cli"}}));
  fs::permissions(files.path("key.pem"), fs::perms::others_read, fs::perm_options::add);
  const Outcome loose = ank_with_tls("https://127.0.0.1:9", files.options());
  EXPECT_EQ(loose.exit, 1);
  EXPECT_EQ(loose.err,
            concat("error: Certificate error: 'Private key file \"", files.path("key.pem"),
                   "\" has insecure permissions 604. Private keys must have permissions "
                   "0600 or 0400. Use 'chmod 0600 <file>' to fix this.'\n"));
  const Outcome empty = ank_with_tls("https://127.0.0.1:9", {"-k", "--crt_pem", ""});
  EXPECT_EQ(empty.exit, 1);
  EXPECT_EQ(empty.err,
            "error: Certificate error: 'Error during opening the given file \"\": No such file or "
            "directory (os error 2)'\n");
  const Outcome none = ank_with_tls("https://127.0.0.1:9", {});
  EXPECT_EQ(none.exit, 1);
  EXPECT_TRUE(none.err.starts_with("error: Missing certificate files: Either provide mTLS config"));
}

// -- With the server's machine

TEST(Session, ChangesTheStateOfAServer) {
  const MachineServer server(kManifest);
  EXPECT_EQ(ank(server.url(), {"get", "workloads"}).out,
            "WORKLOAD NAME   AGENT   RUNTIME   EXECUTION STATE    ADDITIONAL INFO\n"
            "w               a       r         Pending(Initial)                  \n");
  EXPECT_EQ(ank(server.url(), {"-q", "run", "workload", "v", "--runtime", "r", "--config", "c",
                               "--agent", "b", "--tags", "k=x"})
                .err,
            "");
  EXPECT_EQ(ank(server.url(), {"set", "state", "desiredState.configs", "-"},
                "desiredState: {apiVersion: v1, configs: {k: x}}")
                .out,
            "Apply successful. No workloads updated.\n");
  EXPECT_EQ(ank(server.url(), {"get", "configs"}).out, "CONFIG\nk     \n");
  EXPECT_EQ(ank(server.url(), {"-q", "delete", "workload", "w"}).err, "");
  EXPECT_EQ(ank(server.url(), {"get", "state", "desiredState"}).out,
            "desiredState:\n"
            "  apiVersion: v1\n"
            "  workloads:\n"
            "    v:\n"
            "      agent: b\n"
            "      restartPolicy: NEVER\n"
            "      tags:\n"
            "        k: x\n"
            "      runtime: r\n"
            "      runtimeConfig: c\n"
            "  configs:\n"
            "    k: x\n\n");
}

}  // namespace
}  // namespace tiphys::cli
