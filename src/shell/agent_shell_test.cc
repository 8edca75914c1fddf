#include "shell/agent_shell.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::shell {
namespace {

using workload::ContainerId;
using workload::Token;

using Lines = std::vector<std::string>;
using Found = std::vector<agent::FoundWorkload>;

// A runtime that only writes down what it is asked; the test answers, when it wants and as it wants.
class ScriptedRuntime final : public Runtime {
 public:
  void list(const AgentName& agent, std::function<void(Result<Found>)> sink) override {
    calls.push_back("list " + agent.value);
    lists.push_back(std::move(sink));
  }
  void create(WorkloadSpecPtr spec, std::optional<ContainerId> reuse, Equipment equipment,
              std::function<void(CreateResult<ContainerId>)> sink) override {
    std::string call =
        "create " + spec->instance().workload.value + (reuse ? " from " + reuse->value : "");
    if (equipment.control_interface) call += " with " + *equipment.control_interface;
    for (const auto& mount : equipment.files) call += " with " + mount.container_path;
    calls.push_back(std::move(call));
    creates.push_back(std::move(sink));
  }
  void remove(const InstanceName& instance, std::optional<ContainerId> container,
              std::function<void(Status)> sink) override {
    calls.push_back("remove " + (container ? container->value : instance.workload.value));
    removes.push_back(std::move(sink));
  }
  void watch(Token token, const InstanceName& instance, ContainerId container,
             std::function<void(ExecutionState)> sink) override {
    calls.push_back("watch " + instance.workload.value + " " + container.value);
    watched[token] = container.value;
    states = std::move(sink);
  }
  void unwatch(Token token) override {
    calls.push_back("unwatch " + watched.at(token));
    watched.erase(token);
  }
  LogStream logs(ContainerId container, LogOptions options,
                 std::function<void(LogEvent)> sink) override {
    calls.push_back("logs " + container.value + (options.follow ? " follow" : "") +
                    (options.tail ? " tail " + std::to_string(*options.tail) : "") +
                    (options.since ? " since " + *options.since : "") +
                    (options.until ? " until " + *options.until : ""));
    if (logs_end_at_once) sink(LogEnd{});
    logs_told = std::move(sink);
    return ++last_stream;
  }
  void continue_logs(LogStream stream) override {
    calls.push_back("continue logs " + std::to_string(stream));
  }
  void end_logs(LogStream stream) override {
    calls.push_back("end logs " + std::to_string(stream));
  }

  template <class T, class Value>
  static void answer(std::deque<std::function<void(T)>>& open, Value&& value) {
    ASSERT_FALSE(open.empty()) << "nobody asked";
    const auto sink = std::move(open.front());
    open.pop_front();
    sink(std::forward<Value>(value));
  }
  Lines taken_calls() { return std::exchange(calls, {}); }

  Lines calls;
  std::deque<std::function<void(Result<Found>)>> lists;
  std::deque<std::function<void(CreateResult<ContainerId>)>> creates;
  std::deque<std::function<void(Status)>> removes;
  std::map<Token, std::string> watched;
  std::function<void(ExecutionState)> states;  // of the newest watch
  bool logs_end_at_once = false;
  LogStream last_stream = 10;
  std::function<void(LogEvent)> logs_told;
};

// The same for control interfaces.
class ScriptedInterfaces final : public ControlInterfaces {
 public:
  void open(InterfaceNumber number, const InstanceName& instance,
            std::function<void(Result<std::string>)> opened,
            std::function<void(InterfaceEvent)> sink) override {
    note("open", number, " of " + instance.workload.value);
    openings.push_back(std::move(opened));
    says = std::move(sink);
  }
  void send(InterfaceNumber number, FromAnkaios message) override {
    note("send", number,
         match(
             message, [](const Response& m) { return " response " + m.id; },
             [](const ControlInterfaceAccepted&) { return std::string(" accepted"); },
             [](const ConnectionClosed&) { return std::string(" closed"); }));
  }
  void read_on(InterfaceNumber number) override { note("read on", number); }
  void stop_reading(InterfaceNumber number) override { note("stop reading", number); }
  void close(InterfaceNumber number) override { note("close", number); }

  Lines taken_calls() { return std::exchange(calls, {}); }

  Lines calls;
  std::deque<std::function<void(Result<std::string>)>> openings;
  std::function<void(InterfaceEvent)> says;  // of the newest

 private:
  void note(const std::string& what, InterfaceNumber number, const std::string& more = "") {
    calls.push_back(what + " " + std::to_string(number) + more);
  }
};

// Likewise.
class ScriptedFolders final : public WorkloadFolders {
 public:
  void write_files(WorkloadSpecPtr spec,
                   std::function<void(Result<std::vector<Mount>>)> sink) override {
    calls.push_back("write " + spec->instance().workload.value);
    writes.push_back(std::move(sink));
  }
  void remove_files(const InstanceName& instance, std::function<void(Status)> sink) override {
    calls.push_back("remove files of " + instance.workload.value);
    removes.push_back(std::move(sink));
  }
  void remove(const InstanceName& instance, std::function<void(Status)> sink) override {
    calls.push_back("remove " + instance.workload.value);
    removes.push_back(std::move(sink));
  }
  Lines taken_calls() { return std::exchange(calls, {}); }

  Lines calls;
  std::deque<std::function<void(Result<std::vector<Mount>>)>> writes;
  std::deque<std::function<void(Status)>> removes;
};

class RecordingLink final : public AgentLink {
 public:
  void send(const ToServer& message) override {
    sent.push_back(match(
        message,
        [](const UpdateWorkloadState& m) {
          std::string text;
          for (const auto& state : m.states)
            text += (text.empty() ? "" : ", ") + state.instance.workload.value + " " +
                    to_string(state.state);
          return text;
        },
        [](const Request& m) { return "request " + m.id; },
        [](const AgentLoadStatus& m) { return "load " + std::to_string(m.status.cpu_usage); },
        [](const LinkLogEntries& m) {
          std::string text = m.request_id + ":";
          for (const auto& entry : m.entries.entries) text += " " + entry.message;
          return text;
        },
        [](const LinkLogsStop& m) {
          return m.request_id + ": " + m.stop.instance.workload.value + " stopped";
        },
        [](const auto&) { return std::string("something else"); }));
  }

  void send(const ToServer& message, std::function<void()> taken) override {
    send(message);
    receipts.push_back(std::move(taken));
  }

  Lines sent;
  std::vector<std::function<void()>> receipts;
};

class RecordingLog final : public Log {
 public:
  void write(Level level, std::string_view text, Fields) override {
    EXPECT_EQ(level, Level::kWarn);
    lines.emplace_back(text);
  }

  Lines lines;
};

class AgentShellTest : public testing::Test {
 protected:
  static WorkloadSpecPtr spec_of(const std::string& name, const std::string& runtime,
                                 std::vector<File> files = {}) {
    auto workload = std::make_shared<Workload>();
    workload->agent = "agent_A";
    workload->runtime = runtime;
    workload->runtime_config = "image: " + name;
    workload->files = std::move(files);
    return *WorkloadSpec::make(name, workload);
  }
  static WorkloadSpecPtr speaking_spec_of(const std::string& name) {
    auto workload = std::make_shared<Workload>(spec_of(name, "podman")->workload());
    workload->access.edit().allow_rules = {StateRule{Operation::kRead, {"*"}}};
    return *WorkloadSpec::make(name, workload);
  }

  void run() {
    world.run_until(world.now(), [] {});
  }
  void pass(Duration duration) {
    world.run_until(world.now() + duration, [] {});
  }
  void receive(FromServer message) {
    ASSERT_TRUE(node.received(std::move(message)));
    run();
  }
  // Connects; the server wants these workloads, and no runtime has anything.
  void arrive(std::vector<WorkloadSpecPtr> wanted) {
    node.connected();
    receive(ServerHello{std::move(wanted)});
    ScriptedRuntime::answer(podman.lists, Found{});
    ScriptedRuntime::answer(kube.lists, Found{});
    run();
  }
  Lines sent() { return std::exchange(link.sent, {}); }

  sim::World world{1, false};
  sim::Process process{world};
  ScriptedRuntime podman;
  ScriptedRuntime kube;
  ScriptedInterfaces interfaces;
  ScriptedFolders folders;
  RecordingLink link;
  RecordingLog log;
  AgentShell node{{.name = AgentName{"agent_A"}, .runtimes = {"podman", "podman-kube"}},
                  process,
                  process,
                  process,
                  world,
                  log,
                  link,
                  interfaces,
                  {{"podman", &podman}, {"podman-kube", &kube}},
                  folders};
};

TEST_F(AgentShellTest, AsksEveryRuntimeWhatIsThereBeforeItStartsAnything) {
  node.connected();
  run();
  EXPECT_EQ(sent(), Lines{});
  receive(ServerHello{{spec_of("nginx", "podman")}});
  EXPECT_EQ(podman.taken_calls(), (Lines{"list agent_A"}));
  EXPECT_EQ(kube.taken_calls(), (Lines{"list agent_A"}));
  ScriptedRuntime::answer(podman.lists, Found{});
  run();
  EXPECT_EQ(podman.taken_calls(), Lines{});
  ScriptedRuntime::answer(kube.lists, Found{});
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"create nginx"}));
  EXPECT_EQ(kube.taken_calls(), Lines{});
}

TEST_F(AgentShellTest, ARuntimeThatCannotListIsWarnedAboutAndCountsAsEmpty) {
  node.connected();
  receive(ServerHello{{spec_of("nginx", "podman")}});
  ScriptedRuntime::answer(kube.lists, Found{});
  ScriptedRuntime::answer(podman.lists, fail(Code::kUnavailable, "no podman"));
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"list agent_A"}));
  pass(agent::kListAgain);
  ScriptedRuntime::answer(podman.lists, fail(Code::kUnavailable, "no podman yet"));
  run();
  EXPECT_EQ(log.lines, (Lines{"Could not get reusable running workloads: 'no podman'",
                              "Could not get reusable running workloads: 'no podman yet'"}));
  EXPECT_EQ(podman.taken_calls(), (Lines{"list agent_A", "create nginx"}));
}

TEST_F(AgentShellTest, ResumesWhatItsRuntimeFound) {
  const auto spec = spec_of("nginx", "podman-kube");
  node.connected();
  receive(ServerHello{{spec}});
  ScriptedRuntime::answer(podman.lists, Found{});
  ScriptedRuntime::answer(kube.lists,
                          Found{{"podman-kube", spec->instance(), ExecutionState(Phase::kRunningOk),
                                 ContainerId{"pod1"}}});
  run();
  EXPECT_EQ(kube.taken_calls(), (Lines{"list agent_A", "watch nginx pod1"}));
  kube.states(ExecutionState(Phase::kRunningOk));
  run();
  EXPECT_EQ(sent(), (Lines{"nginx Running(Ok)"}));
}

TEST_F(AgentShellTest, CreatesWatchesAndReports) {
  arrive({spec_of("nginx", "podman")});
  EXPECT_EQ(sent(), (Lines{"nginx Pending(Starting): 'Triggered at runtime.'"}));
  podman.taken_calls();
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  EXPECT_EQ(podman.taken_calls(), Lines{}) << "an answer is an event and waits for its turn";
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"watch nginx c1"}));
  podman.states(ExecutionState(Phase::kRunningOk));
  podman.states(ExecutionState(Phase::kSucceededOk));
  run();
  EXPECT_EQ(sent(), (Lines{"nginx Running(Ok)", "nginx Succeeded(Ok)"}));
  EXPECT_EQ(node.states().of_agent(AgentName{"agent_A"}).size(), 1U);
}

TEST_F(AgentShellTest, TriesAFailedCreationAgainAfterAPause) {
  arrive({spec_of("nginx", "podman")});
  podman.taken_calls();
  sent();
  ScriptedRuntime::answer(podman.creates, tl::unexpected(CreateError{"no image", true, false}));
  run();
  EXPECT_EQ(sent(), (Lines{"nginx Pending(Starting): 'Retry 1 of 20: no image'"}));
  pass(workload::kRetryPause - Duration(1));
  EXPECT_EQ(podman.taken_calls(), Lines{});
  pass(Duration(1));
  EXPECT_EQ(podman.taken_calls(), (Lines{"create nginx"}));
  ScriptedRuntime::answer(podman.creates, tl::unexpected(CreateError{"bad config", false, false}));
  run();
  EXPECT_EQ(sent(), (Lines{"nginx Pending(StartingFailed): 'bad config'"}));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(podman.taken_calls(), Lines{});
}

TEST_F(AgentShellTest, WhatAFailedCreationLeftIsRemovedByItsInstance) {
  const auto spec = spec_of("nginx", "podman");
  arrive({spec});
  ScriptedRuntime::answer(podman.creates, tl::unexpected(CreateError{"half made", true, true}));
  run();
  podman.taken_calls();
  receive(UpdateWorkload{{}, {{spec->instance(), {}}}});
  EXPECT_EQ(podman.taken_calls(), (Lines{"remove nginx"}));
}

// [utest->swdd~functions-required-by-runtime-connector~1]
TEST_F(AgentShellTest, DeletesThroughTheRuntimeAndEndsTheWatch) {
  const auto spec = spec_of("nginx", "podman");
  arrive({spec});
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  run();
  podman.taken_calls();
  sent();
  receive(UpdateWorkload{{}, {{spec->instance(), {}}}});
  EXPECT_EQ(podman.taken_calls(), (Lines{"remove c1"}));
  ScriptedRuntime::answer(podman.removes, fail(Code::kUnavailable, "busy"));
  run();
  pass(workload::kFirstDeletePause);
  EXPECT_EQ(podman.taken_calls(), (Lines{"remove c1"}));
  ScriptedRuntime::answer(podman.removes, Status());
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"unwatch c1"}));
  EXPECT_EQ(sent(), (Lines{"nginx Stopping(RequestedAtRuntime)",
                           "nginx Stopping(DeleteFailed): 'busy'", "nginx Removed"}));
  podman.states(ExecutionState(Phase::kRunningOk));  // the last word of a watch that has ended
  run();
  EXPECT_EQ(sent(), Lines{});
}

TEST_F(AgentShellTest, AWorkloadForARuntimeThatIsNotEnabledFails) {
  arrive({spec_of("nginx", "wasm", {{"/a", File::Encoding::kText, "x"}})});
  EXPECT_EQ(folders.taken_calls(), Lines{}) << "nobody would read its files";
  EXPECT_EQ(sent(), (Lines{"nginx Pending(Starting): 'Triggered at runtime.'",
                           "nginx Pending(StartingFailed): 'Unsupported Runtime'"}));
}

TEST_F(AgentShellTest, FilesAreThereBeforeTheContainer) {
  arrive({spec_of("nginx", "podman", {{"/a", File::Encoding::kText, "x"}})});
  podman.taken_calls();
  EXPECT_EQ(folders.taken_calls(), (Lines{"write nginx"}));
  EXPECT_EQ(podman.taken_calls(), Lines{});
  ScriptedRuntime::answer(folders.writes, std::vector<Mount>{{"/run/a", "/a", true}});
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"create nginx with /a"}));
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"watch nginx c1"}));
  EXPECT_EQ(folders.taken_calls(), Lines{});
}

TEST_F(AgentShellTest, AWorkloadWithoutFilesNeedsNoFolder) {
  arrive({spec_of("nginx", "podman")});
  EXPECT_EQ(podman.taken_calls(), (Lines{"list agent_A", "create nginx"}));
  ScriptedRuntime::answer(podman.creates, tl::unexpected(CreateError{"no image", false, false}));
  run();
  EXPECT_EQ(folders.taken_calls(), Lines{});
}

TEST_F(AgentShellTest, FilesThatCannotBeWrittenFailTheWorkloadForGood) {
  const auto spec = spec_of("nginx", "podman", {{"a", File::Encoding::kText, "x"}});
  arrive({spec});
  podman.taken_calls();
  sent();
  ScriptedRuntime::answer(folders.writes, fail(Code::kInvalidArgument, "not absolute"));
  run();
  EXPECT_EQ(sent(), (Lines{"nginx Pending(StartingFailed): 'not absolute'"}));
  pass(std::chrono::seconds(10));
  EXPECT_EQ(podman.taken_calls(), Lines{});
  receive(UpdateWorkload{{}, {{spec->instance(), {}}}});
  EXPECT_EQ(podman.taken_calls(), (Lines{"remove nginx"})) << "an earlier agent may have made one";
}

TEST_F(AgentShellTest, FilesAreGoneBeforeAFailedCreationIsToldAndWrittenAgainForTheNext) {
  arrive({spec_of("nginx", "podman", {{"/a", File::Encoding::kText, "x"}})});
  ScriptedRuntime::answer(folders.writes, std::vector<Mount>{});
  run();
  folders.taken_calls();
  sent();
  ScriptedRuntime::answer(podman.creates, tl::unexpected(CreateError{"no image", true, false}));
  run();
  EXPECT_EQ(folders.taken_calls(), (Lines{"remove files of nginx"}));
  EXPECT_EQ(sent(), Lines{});
  ScriptedRuntime::answer(folders.removes, fail(Code::kPermissionDenied, "no"));
  run();
  EXPECT_EQ(log.lines, (Lines{"What was put beside a workload could not be removed"}));
  EXPECT_EQ(sent(), (Lines{"nginx Pending(Starting): 'Retry 1 of 20: no image'"}));
  pass(workload::kRetryPause);
  EXPECT_EQ(folders.taken_calls(), (Lines{"write nginx"}));
}

TEST_F(AgentShellTest, TheFolderOfAWorkloadGoesBeforeItIsReportedAsRemoved) {
  const auto spec = spec_of("nginx", "podman", {{"/a", File::Encoding::kText, "x"}});
  arrive({spec});
  ScriptedRuntime::answer(folders.writes, std::vector<Mount>{});
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  run();
  folders.taken_calls();
  // Other files for the same instance.
  receive(UpdateWorkload{{spec_of("nginx", "podman", {{"/b", File::Encoding::kText, "x"}})},
                         {{spec->instance(), {}}}});
  sent();
  ScriptedRuntime::answer(podman.removes, Status());
  run();
  EXPECT_EQ(folders.taken_calls(), (Lines{"remove files of nginx"}));
  EXPECT_EQ(sent(), Lines{});
  ScriptedRuntime::answer(folders.removes, Status());
  run();
  EXPECT_EQ(folders.taken_calls(), (Lines{"write nginx"}));
  EXPECT_EQ(sent(), (Lines{"nginx Removed", "nginx Pending(Starting): 'Triggered at runtime.'"}));
  ScriptedRuntime::answer(folders.writes, std::vector<Mount>{});
  ScriptedRuntime::answer(podman.creates, ContainerId{"c2"});
  run();

  receive(UpdateWorkload{{}, {{spec->instance(), {}}}});
  ScriptedRuntime::answer(podman.removes, Status());
  run();
  sent();
  EXPECT_EQ(folders.taken_calls(), (Lines{"remove nginx"}));
  ScriptedRuntime::answer(folders.removes, fail(Code::kPermissionDenied, "no"));
  run();
  EXPECT_EQ(sent(), (Lines{"nginx Removed"}));
  EXPECT_EQ(log.lines, (Lines{"What was put beside a workload could not be removed"}));
}

TEST_F(AgentShellTest, FetchesLogsAndAsksForMoreWhenTheLinkHasTakenThem) {
  const auto spec = spec_of("nginx", "podman");
  arrive({spec});
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  run();
  podman.taken_calls();
  sent();
  LogsRequest wanted{{spec->instance()}, true, 3, "a", "b"};
  receive(LinkLogsRequest{"r", wanted});
  EXPECT_EQ(podman.taken_calls(), (Lines{"logs c1 follow tail 3 since a until b"}));
  EXPECT_EQ(node.log_campaigns(), 1U);
  podman.logs_told(LogLines{{"one", "two"}});
  run();
  EXPECT_EQ(sent(), (Lines{"r: one two"}));
  EXPECT_EQ(podman.taken_calls(), Lines{});
  link.receipts.at(0)();
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"continue logs 11"}));
  podman.logs_told(LogEnd{fail(Code::kUnknown, "exit code 125")});
  run();
  EXPECT_EQ(sent(), (Lines{"r: nginx stopped"}));
  EXPECT_EQ(log.lines, (Lines{"Collecting the logs of 'nginx' has ended: exit code 125"}));
  EXPECT_EQ(node.log_campaigns(), 0U);
}

TEST_F(AgentShellTest, ACancelEndsTheLogsOfTheRuntime) {
  const auto spec = spec_of("nginx", "podman");
  arrive({spec});
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  run();
  podman.taken_calls();
  sent();
  receive(LinkLogsRequest{"r", {{spec->instance()}, {}, {}, {}, {}}});
  podman.logs_told(LogLines{{"on its way"}});
  receive(LinkLogsCancel{"r"});
  EXPECT_EQ(podman.taken_calls(), (Lines{"logs c1", "end logs 11"}));
  sent();
  podman.logs_told(LogLines{{"late"}});
  link.receipts.at(0)();
  run();
  EXPECT_EQ(sent(), Lines{});
  EXPECT_EQ(podman.taken_calls(), Lines{});
}

TEST_F(AgentShellTest, ARuntimeWithoutLogsEndsThemAtOnce) {
  const auto spec = spec_of("nginx", "podman-kube");
  arrive({spec});
  ScriptedRuntime::answer(kube.creates, ContainerId{"pod1"});
  run();
  sent();
  kube.logs_end_at_once = true;
  receive(LinkLogsRequest{"r", {{spec->instance()}, true, {}, {}, {}}});
  EXPECT_EQ(sent(), (Lines{"r: nginx stopped"}));
  EXPECT_EQ(node.log_campaigns(), 0U);
}

TEST_F(AgentShellTest, OfTheLoadOnlyTheNewestSampleIsSent) {
  arrive({});
  sent();
  for (const std::uint32_t usage : {1U, 2U, 3U}) node.load_sampled({usage, 0});
  run();
  EXPECT_EQ(sent(), (Lines{"load 3"}));
  node.load_sampled({4, 0});
  run();
  EXPECT_EQ(sent(), (Lines{"load 4"}));
}

TEST_F(AgentShellTest, StopsReadingWhenTooMuchWaits) {
  std::size_t accepted = 0;
  while (accepted < 100'000 && node.received(UpdateWorkloadState{})) ++accepted;
  EXPECT_EQ(accepted, 1024U);
  // These are no messages and always get through.
  node.load_sampled({7, 0});
  node.connected();
  run();
  EXPECT_EQ(sent(), Lines{"load 7"});
  EXPECT_TRUE(node.received(UpdateWorkloadState{}));
}

TEST_F(AgentShellTest, AWorkloadIsCreatedOnceItsControlInterfaceIsOpen) {
  arrive({speaking_spec_of("nginx")});
  EXPECT_EQ(interfaces.taken_calls(), (Lines{"open 1 of nginx"}));
  EXPECT_EQ(podman.taken_calls(), (Lines{"list agent_A"}));
  ScriptedRuntime::answer(interfaces.openings, std::string("/run/nginx"));
  EXPECT_EQ(podman.taken_calls(), (Lines{"create nginx with /run/nginx"}));
  // A retry mounts it too.
  ScriptedRuntime::answer(podman.creates, tl::unexpected(CreateError{"no image", true, false}));
  run();
  pass(workload::kRetryPause);
  EXPECT_EQ(podman.taken_calls(), (Lines{"create nginx with /run/nginx"}));
}

TEST_F(AgentShellTest, AWorkloadIsCreatedWithoutAnInterfaceThatCannotBeOpened) {
  arrive({speaking_spec_of("nginx")});
  podman.taken_calls();
  ScriptedRuntime::answer(interfaces.openings, fail(Code::kUnavailable, "no space"));
  run();
  EXPECT_EQ(podman.taken_calls(), (Lines{"create nginx"}));
  EXPECT_EQ(log.lines, (Lines{"Workload 'nginx' gets no control interface: no space"}));
}

TEST_F(AgentShellTest, CarriesWhatAWorkloadSaysAndHears) {
  const auto spec = speaking_spec_of("nginx");
  arrive({spec});
  ScriptedRuntime::answer(interfaces.openings, std::string("/run/nginx"));
  interfaces.taken_calls();
  sent();
  interfaces.says(agent::Said{ControlInterfaceHello{"1.0.0"}, 9});
  run();
  EXPECT_EQ(interfaces.taken_calls(), (Lines{"send 1 accepted", "read on 1"}));
  interfaces.says(agent::Said{Request{"r", CompleteStateRequest{}}, 9});
  run();
  EXPECT_EQ(interfaces.taken_calls(), (Lines{"read on 1"}));
  EXPECT_EQ(sent(), (Lines{"request nginx@r"}));
  receive(Response{"nginx@r", CompleteStateResponse{}});
  EXPECT_EQ(interfaces.taken_calls(), (Lines{"send 1 response r"}));
  interfaces.says(agent::Said{ControlInterfaceHello{"7.0.0"}, 9});
  run();
  EXPECT_EQ(interfaces.taken_calls(), (Lines{"send 1 closed", "stop reading 1"}));
  receive(UpdateWorkload{{}, {{spec->instance(), {}}}});
  EXPECT_EQ(interfaces.taken_calls(), (Lines{"close 1"}));
}

TEST_F(AgentShellTest, KeepsItsWorkloadsWhileTheServerIsAway) {
  arrive({spec_of("nginx", "podman")});
  ScriptedRuntime::answer(podman.creates, ContainerId{"c1"});
  run();
  sent();
  podman.taken_calls();
  node.disconnected();
  podman.states(ExecutionState(Phase::kRunningOk));
  run();
  EXPECT_EQ(sent(), Lines{});
  EXPECT_EQ(podman.taken_calls(), Lines{});
  arrive({spec_of("nginx", "podman")});
  EXPECT_EQ(sent(), (Lines{"nginx Running(Ok)", "nginx Running(Ok)"}))
      << "once because it changed, once for the list";
  EXPECT_EQ(podman.taken_calls(), (Lines{"list agent_A"}));
}

}  // namespace
}  // namespace tiphys::shell
