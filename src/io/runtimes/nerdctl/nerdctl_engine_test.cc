#include "io/runtimes/nerdctl/nerdctl_engine.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <optional>

#include "io/host/process.h"
#include "io/runtimes/commands/container_config.h"
#include "io/runtimes/commands/test_engine.h"
#include "shell/engine_runtime.h"

namespace tiphys::nerdctl {
namespace {

using namespace std::chrono_literals;
using commands::error_of;
using commands::Lines;
using shell::ContainerId;
using shell::Owner;

const Owner kOwner = commands::kTestOwner;
constexpr const char* kPs = "ps --all --no-trunc --format=json";

class NerdctlEngineTest : public commands::StandInTest<NerdctlEngine> {
 protected:
  NerdctlEngineTest() {
    on("ps", ":");
    on("inspect", "echo '[]'");
  }

  // What both commands say of one container of ours.
  void there_is(std::string_view state, std::string_view name = "web.aaa.agent_A") {
    on("ps", concat(R"(echo '{"ID":"c1","Names":"web","Labels":"agent=agent_A,name=)", name,
                    R"(","Status":"Up"}')"));
    on("inspect", concat(R"(echo '[{"Id": "c1", "State": )", state, "}]'"));
  }
};

// -- Commands --------------------------------------------------------------------------------------------------------

TEST_F(NerdctlEngineTest, CreatesAndAnswersWithTheId) {
  on("run", "echo '  c1  '");
  list();
  taken_calls();
  EXPECT_EQ(create().value().value, "c1");
  EXPECT_EQ(taken_calls(),
            (Lines{"run --detach --name=web.aaa.agent_A --label=name=web.aaa.agent_A "
                   "--label=agent=agent_A img one"}));
}

TEST_F(NerdctlEngineTest, RemovesByStopAndRm) {
  EXPECT_EQ(error_of(remove()), "no error");
  EXPECT_EQ(taken_calls(), (Lines{"stop c1", "rm c1"}));
}

TEST_F(NerdctlEngineTest, WhatIsNotThereCountsAsRemoved) {
  constexpr const char* kNoSuch =
      R"(printf 'level=fatal msg="1 errors:\\nno such container: c1"' >&2; exit 1)";
  on("stop", kNoSuch);
  EXPECT_EQ(error_of(remove()), "no error");
  EXPECT_EQ(taken_calls(), (Lines{"stop c1", "rm c1"}));
  on("rm", kNoSuch);
  EXPECT_EQ(error_of(remove()), "no error");
  on("stop", ":");
  EXPECT_EQ(error_of(remove()), "no error");
}

TEST_F(NerdctlEngineTest, ARemovalThatFailsHalfwaySaysSo) {
  on("stop", "echo 'no stop' >&2; exit 1");
  EXPECT_EQ(error_of(remove()), "no stop" + execution_of("\"stop\" \"c1\""));
  EXPECT_EQ(taken_calls(), (Lines{"stop c1"}));
  on("stop", ":");
  on("rm", "echo 'is in running status' >&2; exit 1");
  EXPECT_EQ(error_of(remove()), "is in running status" + execution_of("\"rm\" \"c1\""));
}

TEST_F(NerdctlEngineTest, AMissingContainerIsAFailureOfAnythingElse) {
  on("start", "echo 'no such container: c1' >&2; exit 1");
  EXPECT_EQ(error_of(start()), "no such container: c1" + execution_of("\"--g\" \"start\" \"c1\""));
}

TEST_F(NerdctlEngineTest, AMissingNerdctlIsToldWithTheNextStep) {
  settings_.program = "nerdctl-that-is-not-there";
  EXPECT_EQ(
      error_of(start()),
      "Error: 'cannot start 'nerdctl-that-is-not-there': No such file or directory'. Could not "
      "spawn command 'nerdctl-that-is-not-there \"--g\" \"start\" \"c1\"'. Is nerdctl installed "
      "and in PATH?");
  EXPECT_TRUE(listed().front().starts_with("Error: 'cannot start"));
  EXPECT_EQ(loop_.logged, Lines{});
}

// As in an agent, which names no program.
TEST_F(NerdctlEngineTest, IsFoundInPathForCommandsAndForLogs) {
  folder_.write("nerdctl", commands::kStandIn, 0755);
  settings_.program = "";
  settings_.environment["PATH"] = concat(folder_.path(), ":/bin:/usr/bin");
  on("start", "echo c1");
  on("logs", "echo one; echo two >&2");
  EXPECT_EQ(error_of(start()), "no error");
  Lines lines;
  std::optional<Status> end;
  engine().logs({"c1"}, {.follow = true, .tail = 3, .since = "1h", .until = {}},
                [&](shell::LogEvent event) {
                  match(
                      std::move(event),
                      [&](const shell::LogLines& e) {
                        lines.insert(lines.end(), e.lines.begin(), e.lines.end());
                      },
                      [&](const shell::LogEnd& e) { end = e.status; });
                });
  ASSERT_TRUE(loop_.await([&] { return end.has_value(); }));
  EXPECT_EQ(error_of(*end), "no error");
  std::sort(lines.begin(), lines.end());  // of two pipes
  EXPECT_EQ(lines, (Lines{"one", "two"}));
  EXPECT_EQ(taken_calls(), (Lines{"--g start c1", "logs -f --since 1h --tail 3 c1"}));
}

TEST_F(NerdctlEngineTest, IsCalledByItsNameInMessages) {
  settings_.command_deadline = 1s;
  on("start", "exec sleep 1000");
  EXPECT_EQ(error_of(start()), "nerdctl did not answer within 1 s and was ended" +
                                   execution_of("\"--g\" \"start\" \"c1\""));
  on("run", "echo 'two words'");
  EXPECT_EQ(error_of(create()), "nerdctl printed no container id, but 'two words'");
}

// -- Listings --------------------------------------------------------------------------------------------------------

TEST_F(NerdctlEngineTest, ListsByPsAndInspectWhatBelongsToTheOwner) {
  on("ps", R"(cat <<'.'
{"ID":"c1","Names":"a","Labels":"agent=agent_A,name=a","Status":"Exited (3) 1 second ago"}
{"ID":"c2","Names":"b","Labels":"agent=agent_A","Status":"Created"}
{"ID":"c3","Names":"c","Labels":"agent=agent_B","Status":"Exited (0) 1 second ago"}
{"ID":"c4","Names":"d","Labels":"nerdctl/name=d","Status":"Up"}
.)");
  on("inspect", R"(cat <<'.'
[{"Id": "c1", "State": {"Status": "exited", "ExitCode": 3}},
 {"Id": "c2", "State": {"Status": ""}},
 {"Id": "c3", "State": {"Status": "exited", "ExitCode": 0}}]
.)");
  EXPECT_EQ(listed(),
            (Lines{"c1 Failed(ExecFailed): 'Exit code: '3''", "c2 Pending(Starting): 'created'"}));
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1 c2 c3"}));
  EXPECT_EQ(listed({"ankaios", AgentName{"agent_B"}}), (Lines{"c3 Succeeded(Ok)"}));
  EXPECT_EQ(list()->front().labels.at("name"), "a");
}

TEST_F(NerdctlEngineTest, WithoutContainersNothingIsInspected) {
  EXPECT_EQ(listed(), Lines{});
  on("ps", R"(echo '{"ID":"c4","Names":"d","Labels":"nerdctl/name=d"}')");
  start();
  EXPECT_EQ(listed(), Lines{});
  EXPECT_EQ(taken_calls(), (Lines{kPs, "--g start c1", kPs}));
}

// All that nerdctl is asked about fails when one of them is not there; how it says so depends on when that went.
class NerdctlEngineThatLosesContainers : public NerdctlEngineTest {
 protected:
  NerdctlEngineThatLosesContainers() {
    on("ps",
       R"(for i in 1 2 3 4 5 22; do echo "{\"ID\":\"c$i\",\"Labels\":\"agent=agent_A\"}"; done)");
  }

  // `saying` is what a shell script prints about $missing, the ids of c2 and c4 that it was asked for.
  void lose_two(std::string_view saying) {
    on("inspect", concat(R"(shift; missing=
    for id; do case $id in c2 | c4) missing="$missing $id" ;; esac; done
    if [ "$missing" ]; then)",
                         saying, R"(; exit 1; fi
    printf '['
    for id; do
      printf '%s{"Id": "%s", "State": {"Status": "exited", "ExitCode": 0}}' "$comma" $id; comma=,
    done
    echo ']')"));
  }

  const Lines others_{"c1 Succeeded(Ok)", "c22 Succeeded(Ok)", "c3 Succeeded(Ok)",
                      "c5 Succeeded(Ok)"};
};

TEST_F(NerdctlEngineThatLosesContainers, AsksAgainWithoutThoseThatItNames) {
  lose_two(R"(
      printf 'level=fatal msg="2 errors: [' >&2
      for id in $missing; do printf 'no such object %s ' $id >&2; done; echo ']"' >&2)");
  EXPECT_EQ(listed(), others_);
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1 c2 c3 c4 c5 c22", "inspect c1 c3 c5 c22"}));
}

TEST_F(NerdctlEngineThatLosesContainers, AsksAgainWithoutTheOneThatGoesWhileItLooks) {
  lose_two(R"(
      set -- $missing
      printf 'level=fatal msg="1 errors: [1 errors:\\nno such container: %s]"' $1 >&2)");
  EXPECT_EQ(listed(), others_);
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1 c2 c3 c4 c5 c22", "inspect c1 c3 c4 c5 c22",
                                  "inspect c1 c3 c5 c22"}));
}

// `ps` looks at each of them, too, and says no more than that.
constexpr const char* kGoesDuringPs =
    R"(level=fatal msg="container \"c2\" in namespace \"default\": not found")";

TEST_F(NerdctlEngineTest, AContainerThatGoesWhileItIsListedIsListedNoMore) {
  there_is(R"({"Status": "exited", "ExitCode": 0})");
  on("ps",
     concat("cd ", folder_.path("."),
            "; if [ ! -e second ]; then [ -e first ] && touch second; touch first; echo '",
            kGoesDuringPs, R"(' >&2; exit 1; fi; echo '{"ID":"c1","Labels":"agent=agent_A"}')"));
  EXPECT_EQ(listed(), (Lines{"c1 Succeeded(Ok)"}));
  EXPECT_EQ(taken_calls(), (Lines{kPs, kPs, kPs, "inspect c1"}));
}

TEST_F(NerdctlEngineTest, AListingThatAlwaysMissesOneEnds) {
  on("ps", concat("echo '", kGoesDuringPs, "' >&2; exit 1"));
  ASSERT_EQ(listed().size(), 1U);
  EXPECT_EQ(taken_calls(), (Lines{kPs, kPs, kPs, kPs, kPs}));
}

TEST_F(NerdctlEngineThatLosesContainers, FindsThoseThatAreNotNamed) {
  lose_two(R"(
      echo 'level=fatal msg="1 errors: [container \"?\" in namespace \"default\": not found]"' >&2)");
  EXPECT_EQ(listed(), others_);
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1 c2 c3 c4 c5 c22", "inspect c4 c5 c22",
                                  "inspect c5 c22", "inspect c4", "inspect c1 c2 c3",
                                  "inspect c2 c3", "inspect c3", "inspect c2", "inspect c1"}));
}

TEST_F(NerdctlEngineThatLosesContainers, AWarningAboutOneIsNotTheReasonOfAFailure) {
  lose_two(R"(
      echo 'level=warning msg="no such object c2" error="task c2 not found" id=c2' >&2
      echo 'level=fatal msg="connection refused"' >&2)");
  ASSERT_EQ(listed().size(), 1U);
  EXPECT_NE(listed().front().find("connection refused"), std::string::npos);
}

TEST_F(NerdctlEngineTest, TheLastContainerMayGoMeanwhile) {
  there_is("{}");
  on("inspect", "echo 'no such object c1' >&2; exit 1");
  EXPECT_EQ(listed(), Lines{});
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1"}));
}

TEST_F(NerdctlEngineTest, AListingThatIsNoneIsAnError) {
  on("ps", "echo '{\"ID\": \"c1'");
  EXPECT_TRUE(listed().front().starts_with("nerdctl ps printed no JSON: "));
  on("ps", "echo broken >&2; exit 1");
  EXPECT_EQ(listed(), (Lines{"broken" + execution_of("\"ps\" \"--all\" \"--no-trunc\" "
                                                     "\"--format=json\"")}));
  there_is("{}");
  on("inspect", "echo '[{'");
  EXPECT_TRUE(listed().front().starts_with("nerdctl inspect printed no JSON: "));
  on("inspect", "echo broken >&2; exit 1");
  EXPECT_EQ(listed(), (Lines{"broken" + execution_of("\"inspect\" \"c1\"")}));
  there_is(R"({"Status": "removing"})");
  EXPECT_EQ(listed(), (Lines{"c1 Stopping(Stopping): 'removing'"}));
}

TEST_F(NerdctlEngineTest, AnswersFromTheCacheWhileNothingRunsUnwatched) {
  there_is(R"({"Status": "exited", "ExitCode": 0})");
  listed();
  EXPECT_EQ(listed(), (Lines{"c1 Succeeded(Ok)"}));
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1"}));
}

TEST_F(NerdctlEngineTest, ManyWhoAskAtOnceShareOneListing) {
  there_is(R"({"Status": "exited", "ExitCode": 0})");
  int answers = 0;
  for (int i = 0; i < 10; ++i) engine().list(kOwner, [&](const auto&) { ++answers; });
  ASSERT_TRUE(loop_.await([&] { return answers == 10; }));
  EXPECT_LE(taken_calls().size(), 4U);  // the first begins at once, the others share the second
}

// More than one `inspect` may print, or one command line may hold.
TEST_F(NerdctlEngineTest, InspectsVeryManyInParts) {
  on("ps",
     R"(for i in $(seq 2500); do echo "{\"ID\":\"c$i\",\"Labels\":\"agent=agent_A\"}"; done)");
  on("inspect", R"(shift; printf '['
    for id; do printf '%s{"Id": "%s", "State": {"Status": "exited", "ExitCode": 0}}' "$comma" $id; comma=,; done
    echo ']')");
  EXPECT_EQ(listed().size(), 2500U);
  EXPECT_EQ(taken_calls().size(), 1U + 13U);
}

// -- Changes ---------------------------------------------------------------------------------------------------------

// A shell that calls itself containerd's shim, with one process below it.
class NerdctlExitTest : public NerdctlEngineTest {
 protected:
  pid_t run_below_shim(const std::string& id) {
    std::filesystem::create_directories(folder_.path(id));
    std::filesystem::remove(folder_.path(id + "/init.pid"));
    folder_.write("script", concat("cd ", folder_.path(id),
                                   "; sleep 1000 & echo $! > pid; mv pid init.pid; wait\n"));
    host::ProcessSpec spec{.program = "/bin/bash"};
    spec.arguments = {"-c", concat("exec -a containerd-shim-runc-v2 bash ", folder_.path("script"),
                                   " -namespace test -id ", id)};
    processes_.start(spec, [](const Result<host::ProcessEnd>&) {});
    EXPECT_TRUE(loop_.await([&] { return !folder_.read(id + "/init.pid").empty(); }));
    return std::stoi(folder_.read(id + "/init.pid"));
  }
  void runs(pid_t process) {
    there_is(
        concat(R"({"Status": "running", "ExitCode": 0, "Pid": )", std::to_string(process), "}"));
  }

  host::Processes processes_{loop_.context.get_executor()};
};

TEST_F(NerdctlExitTest, TheEndOfAProcessIsNoticedAndItsExitCodeAskedFor) {
  const auto process = run_below_shim("c1");
  runs(process);
  listen();
  EXPECT_EQ(listed(), (Lines{"c1 Running(Ok)"}));
  listed();
  EXPECT_EQ(taken_calls(), (Lines{kPs, "inspect c1"}));  // nothing is asked while it is watched
  there_is(R"({"Status": "exited", "ExitCode": 137, "Pid": 1})");
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return events_.size() == 2; }));
  EXPECT_EQ(events_, (Lines{"c1 Running(Ok)", "c1 Failed(ExecFailed): 'Exit code: '137''"}));
  EXPECT_EQ(loop_.logged, Lines{});
}

// containerd takes a moment to notice the end.
TEST_F(NerdctlExitTest, IsAskedAgainWhileItStillCallsTheEndedOneRunning) {
  const auto process = run_below_shim("c1");
  runs(process);
  listen();
  listed();
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return taken_calls().size() >= 2; }));
  there_is(R"({"Status": "exited", "ExitCode": 3})");
  ASSERT_TRUE(loop_.await([&] { return events_.size() == 2; }));
  EXPECT_EQ(events_.back(), "c1 Failed(ExecFailed): 'Exit code: '3''");
}

TEST_F(NerdctlExitTest, LooksAgainForOneThatIsStartedAnewAfterItsEnd) {
  const auto first = run_below_shim("c1");
  runs(first);
  listen();
  listed();
  there_is(R"({"Status": "exited", "ExitCode": 137})");
  ::kill(first, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return events_.size() == 2; }));
  const auto second = run_below_shim("c1");
  runs(second);
  ASSERT_TRUE(loop_.await([&] { return events_.size() == 3; }));
  EXPECT_EQ(events_.back(), "c1 Running(Ok)");
}

TEST_F(NerdctlExitTest, AnEndIsNotForgottenWhenTheListingFails) {
  const auto process = run_below_shim("c1");
  runs(process);
  listen();
  listed();
  on("ps", "echo broken >&2; exit 1");
  taken_calls();
  ::kill(process, SIGKILL);
  // The one at once, and the one half a second later.
  std::size_t failures = 0;
  ASSERT_TRUE(loop_.await([&] { return (failures += taken_calls().size()) >= 2; }));
  there_is(R"({"Status": "exited", "ExitCode": 3})");
  ASSERT_TRUE(loop_.await([&] { return events_.size() == 2; }));
  EXPECT_EQ(events_.back(), "c1 Failed(ExecFailed): 'Exit code: '3''");
}

TEST_F(NerdctlExitTest, ASlowListingDoesNotSwallowTheNextLook) {
  const auto process = run_below_shim("c1");
  runs(process);
  listen();
  listed();
  there_is(R"({"Status": "exited", "ExitCode": 137})");
  // Longer than the pause until the next look.
  on("ps", R"(sleep 0.8; echo '{"ID":"c1","Labels":"agent=agent_A"}')");
  taken_calls();
  ::kill(process, SIGKILL);
  ASSERT_TRUE(loop_.await([&] { return !taken_calls().empty(); }));
  on("ps", ":");  // removed meanwhile
  ASSERT_TRUE(loop_.await([&] { return events_.size() == 3; }));
  EXPECT_EQ(events_, (Lines{"c1 Running(Ok)", "c1 Failed(ExecFailed): 'Exit code: '137''",
                            "c1 Failed(Lost)"}));
}

TEST_F(NerdctlExitTest, ANewContainerIsFoundWithoutAListing) {
  run_below_shim("c1");
  on("run", "echo c1");
  list();
  taken_calls();
  create();
  EXPECT_EQ(listed(), (Lines{"c1 Running(Ok)"}));
  EXPECT_EQ(taken_calls(),
            (Lines{"run --detach --name=web.aaa.agent_A --label=name=web.aaa.agent_A "
                   "--label=agent=agent_A img one"}));
}

TEST_F(NerdctlExitTest, ChangesAreLostWhenThereIsNoShim) {
  runs(::getpid());
  listen();
  EXPECT_EQ(listed(), (Lines{"c1 Running(Ok)"}));
  ASSERT_TRUE(loop_.await([&] { return loop_.logged.size() == 1; }));
  EXPECT_EQ(loop_.logged, (Lines{"nerdctl's containers cannot be watched, their states are asked "
                                 "for every second"}));
  listed();
  EXPECT_EQ(events_.back(), "lost");
}

// -- As a runtime ----------------------------------------------------------------------------------------------------

class TestTimers : public shell::Timers {
 public:
  void after(Duration, std::function<void()>) override {}
};

class NerdctlRuntimeTest : public NerdctlEngineTest {
 protected:
  static WorkloadSpecPtr spec_of(std::string_view config) {
    auto workload = std::make_shared<Workload>();
    workload->agent = "agent_A";
    workload->runtime = kContainerdRuntime;
    workload->runtime_config = config;
    return *WorkloadSpec::make("web", std::move(workload));
  }

  shell::EngineRuntime& runtime() {
    if (!runtime_)
      runtime_.emplace(shell::EngineRuntime::Settings{kContainerdRuntime, kOwner, kListingFailed},
                       engine(), timers_, commands::read_container_config);
    return *runtime_;
  }

  shell::CreateResult<ContainerId> create(std::string_view config,
                                          const shell::Equipment& equipment = {}) {
    std::optional<shell::CreateResult<ContainerId>> answer;
    runtime().create(spec_of(config), std::nullopt, equipment,
                     [&](shell::CreateResult<ContainerId> told) { answer = std::move(told); });
    EXPECT_TRUE(loop_.await([&] { return answer.has_value(); }));
    return *answer;
  }

  // The first that comes.
  std::string watched_state() {
    Lines states;
    runtime().watch(1, spec_of("image: x")->instance(), {"c1"},
                    [&](const ExecutionState& state) { states.push_back(to_string(state)); });
    EXPECT_TRUE(loop_.await([&] { return !states.empty(); }));
    runtime().unwatch(1);
    return states.empty() ? "" : states.front();
  }

  TestTimers timers_;
  std::optional<shell::EngineRuntime> runtime_;
};

TEST_F(NerdctlRuntimeTest, MountsTheControlInterfaceAndFilesAfterTheOptions) {
  on("run", "echo c1");
  constexpr const char* kConfig =
      "{image: img, generalOptions: [--debug], commandOptions: [-t], commandArgs: [one]}";
  const auto instance = to_string(spec_of(kConfig)->instance());
  const shell::Equipment equipment{"/run/a_io/web/control_interface",
                                   {{"/run/a_io/web/files/etc/c", "/etc/c", true}}};
  ASSERT_TRUE(create(kConfig, equipment));
  // The listing that looks at the new container may have begun already.
  auto calls = taken_calls();
  std::erase(calls, kPs);
  EXPECT_EQ(calls.back(),
            concat("--debug run --detach --name=", instance, " -t ",
                   "--mount=type=bind,source=/run/a_io/web/control_interface,"
                   "destination=/run/ankaios/control_interface ",
                   "--mount=type=bind,source=/run/a_io/web/files/etc/c,destination=/etc/c,"
                   "readonly=true --label=name=",
                   instance, " --label=agent=agent_A img one"));
}

TEST_F(NerdctlRuntimeTest, AFailedCreationTakesAwayWhatItLeftByItsLabel) {
  const auto instance = to_string(spec_of("image: x")->instance());
  on("run", "echo 'it broke' >&2; exit 1");
  there_is(R"({"Status": ""})", instance);
  const auto created = create("image: x");
  ASSERT_FALSE(created);
  EXPECT_TRUE(created.error().cause.starts_with("it broke. Execution of '"));
  EXPECT_TRUE(created.error().may_succeed_later);
  const auto calls = taken_calls();
  ASSERT_GE(calls.size(), 3U);
  EXPECT_EQ(calls.at(calls.size() - 2), "stop c1");
  EXPECT_EQ(calls.back(), "rm c1");
}

TEST_F(NerdctlRuntimeTest, IsNamedContainerdInWhatItFinds) {
  there_is(R"({"Status": "exited", "ExitCode": 0})", to_string(spec_of("image: x")->instance()));
  std::optional<std::string> found;
  runtime().list(kOwner.agent, [&](const auto& workloads) { found = workloads->front().runtime; });
  ASSERT_TRUE(loop_.await([&] { return found.has_value(); }));
  EXPECT_EQ(found, "containerd");
}

TEST_F(NerdctlRuntimeTest, AContainerWithoutAStateIsLost) {
  EXPECT_EQ(watched_state(), "Failed(Lost)");
}

TEST_F(NerdctlRuntimeTest, AListingThatFailsTwiceMakesTheStateUnknown) {
  on("ps", "exit 1");
  EXPECT_EQ(watched_state(), "Failed(Unknown): 'Error getting state from Nerdctl.'");
}

TEST_F(NerdctlRuntimeTest, AnOddExitCodeMakesTheStateOfItsOwnContainerUnknown) {
  there_is(R"({"Status": "exited", "ExitCode": 300})");
  EXPECT_EQ(watched_state(), "Failed(Unknown): 'Error getting state from Nerdctl.'");
}

}  // namespace
}  // namespace tiphys::nerdctl
