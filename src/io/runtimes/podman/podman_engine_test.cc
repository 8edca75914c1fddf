#include "io/runtimes/podman/podman_engine.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <optional>

#include "io/runtimes/commands/container_config.h"
#include "io/runtimes/commands/test_engine.h"
#include "io/runtimes/podman/podman_output.h"
#include "shell/engine_runtime.h"

namespace tiphys::podman {
namespace {

using namespace std::chrono_literals;
using commands::error_of;
using commands::kStandIn;
using commands::Lines;
using shell::ContainerId;
using shell::Owner;

const Owner kOwner = commands::kTestOwner;

class PodmanEngineTest : public commands::StandInTest<PodmanEngine> {
 protected:
  PodmanEngineTest() { on("ps", "echo '[]'"); }
};

// -- Commands --------------------------------------------------------------------------------------------------------

// [utest->swdd~podman-uses-podman-cli~1]
// [utest->swdd~podman-create-workload-runs-workload~1]
TEST_F(PodmanEngineTest, CreatesAndAnswersWithTheId) {
  on("run", "echo '  c1  '");
  list();
  taken_calls();
  EXPECT_EQ(create().value().value, "c1");
  EXPECT_EQ(taken_calls(),
            (Lines{"run --detach --name=web.aaa.agent_A --label=name=web.aaa.agent_A "
                   "--label=agent=agent_A img one"}));
  on("create", "echo c2");
  EXPECT_EQ(create(false).value().value, "c2");
}

TEST_F(PodmanEngineTest, StartsAgainAndSignals) {
  on("start", "echo c1");
  on("kill", ":");
  EXPECT_EQ(error_of(start()), "no error");
  EXPECT_EQ(error_of(answer_of<void>([&](auto sink) { engine().signal({"c1"}, 15, sink); })),
            "no error");
  EXPECT_EQ(taken_calls(), (Lines{"--g start c1", "kill --signal=TERM c1"}));
}

// [utest->swdd~podman-delete-workload-stops-and-removes-workload~1]
TEST_F(PodmanEngineTest, RemovesByStopAndRm) {
  EXPECT_EQ(error_of(remove()), "no error");
  EXPECT_EQ(taken_calls(), (Lines{"stop --ignore c1", "rm --ignore c1"}));
}

TEST_F(PodmanEngineTest, ARemovalThatFailsHalfwaySaysSo) {
  on("stop", "echo 'no stop' >&2; exit 125");
  EXPECT_EQ(error_of(remove()), "no stop" + execution_of("\"stop\" \"--ignore\" \"c1\""));
  EXPECT_EQ(taken_calls(), (Lines{"stop --ignore c1"}));
  on("stop", ":");
  on("rm", "echo 'no rm' >&2; exit 1");
  EXPECT_EQ(error_of(remove()), "no rm" + execution_of("\"rm\" \"--ignore\" \"c1\""));
}

TEST_F(PodmanEngineTest, TheCommandsOfOneContainerKeepTheirOrderAndOthersOvertake) {
  on("stop", "[ $3 = c1 ] && until [ -e \"$folder/go\" ]; do sleep 0.01; done; :");
  on("start", "echo");
  Lines told;
  engine().remove({"c1"}, [&](const Status&) { told.emplace_back("removed c1"); });
  engine().start({"c1"}, {}, [&](const Status&) { told.emplace_back("started c1"); });
  engine().remove({"c2"}, [&](const Status&) { told.emplace_back("removed c2"); });
  ASSERT_TRUE(loop_.await([&] { return told.size() == 1; }));
  EXPECT_EQ(told, (Lines{"removed c2"}));
  folder_.write("go", "");
  ASSERT_TRUE(loop_.await([&] { return told.size() == 3; }));
  EXPECT_EQ(told, (Lines{"removed c2", "removed c1", "started c1"}));
}

TEST_F(PodmanEngineTest, RunsOnlyAFewAtOnce) {
  on("stop",
     "touch \"$folder/running-$3\"; ls \"$folder\" | grep -c running- >> \"$folder/counts\"; "
     "sleep 0.02; rm \"$folder/running-$3\"");
  std::size_t removed = 0;
  for (int i = 0; i < 12; ++i)
    engine().remove({concat("c", std::to_string(i))}, [&](const Status&) { ++removed; });
  ASSERT_TRUE(loop_.await([&] { return removed == 12; }));
  const auto counts = folder_.read("counts");
  for (const auto count : split(trim(counts), '\n'))
    EXPECT_LE(std::stoul(std::string(count)), commands::kMaxOtherCommands);
}

// -- A podman that fails ---------------------------------------------------------------------------------------------

TEST_F(PodmanEngineTest, AFailedCommandIsToldInPodmansWords) {
  on("run", "printf '  Error: no such image\\nsecond line \\n' >&2; echo c1; exit 125");
  EXPECT_EQ(error_of(create()),
            "Error: no such image\nsecond line" +
                execution_of("\"run\" \"--detach\" \"--name=web.aaa.agent_A\" "
                             "\"--label=name=web.aaa.agent_A\" \"--label=agent=agent_A\" \"img\" "
                             "\"one\""));
  on("start", "exit 1");
  EXPECT_EQ(error_of(start()), execution_of("\"--g\" \"start\" \"c1\""));
}

TEST_F(PodmanEngineTest, AMissingPodmanIsToldWithTheNextStep) {
  settings_.program = "podman-that-is-not-there";
  EXPECT_EQ(
      error_of(start()),
      "Error: 'cannot start 'podman-that-is-not-there': No such file or directory'. Could not "
      "spawn command 'podman-that-is-not-there \"--g\" \"start\" \"c1\"'. Is podman installed "
      "and in PATH?");
  EXPECT_TRUE(listed().front().starts_with("Error: 'cannot start"));
}

TEST_F(PodmanEngineTest, APodmanThatMayNotBeRunIsToldSo) {
  folder_.write("program", kStandIn, 0644);
  EXPECT_EQ(error_of(start()), concat("Error: 'cannot start '", settings_.program,
                                      "': Permission denied'. Could not "
                                      "spawn command '",
                                      settings_.program, " \"--g\" \"start\" \"c1\"'."));
}

TEST_F(PodmanEngineTest, AKilledPodmanIsToldSo) {
  on("start", "echo 'half a wo' >&2; kill -9 $$");
  EXPECT_EQ(error_of(start()), "podman was killed by signal 9 (Killed): half a wo" +
                                   execution_of("\"--g\" \"start\" \"c1\""));
}

TEST_F(PodmanEngineTest, AHungPodmanIsEndedAtItsDeadline) {
  settings_.command_deadline = 1s;
  on("start", "exec sleep 1000");
  const auto status = start();
  EXPECT_EQ(error_of(status), "podman did not answer within 1 s and was ended" +
                                  execution_of("\"--g\" \"start\" \"c1\""));
  EXPECT_EQ(status.error().code, Code::kDeadlineExceeded);
}

TEST_F(PodmanEngineTest, AnIdThatIsNoneIsAnError) {
  for (const auto* script : {":", "echo 'two words'", "printf 'a\\nb\\n'", "printf '\\377'"}) {
    on("run", script);
    EXPECT_TRUE(error_of(create()).starts_with("podman printed no container id, but '")) << script;
  }
}

TEST_F(PodmanEngineTest, AListingThatIsNoneIsAnError) {
  on("ps", ":");
  EXPECT_EQ(listed(), (Lines{"podman ps printed nothing"}));
  on("ps", "echo '[{\"Id\": \"c1\", \"Sta'");
  EXPECT_TRUE(listed().front().starts_with("podman ps printed no JSON: "));
  on("ps", "echo broken >&2; exit 125");
  EXPECT_EQ(listed(), (Lines{"broken" + execution_of("\"ps\" \"--all\" \"--format=json\"")}));
  on("ps", "echo '[]'");
  EXPECT_EQ(listed(), Lines{});
}

// -- Listings and the cache ------------------------------------------------------------------------------------------

constexpr const char* kTwoOwners = R"([
  {"Id": "c1", "Names": ["a"], "State": "exited", "ExitCode": 3, "Labels": {"agent": "agent_A", "name": "a"}},
  {"Id": "c2", "Names": ["b"], "State": "created", "Labels": {"agent": "agent_A"}},
  {"Id": "c3", "Names": ["c"], "State": "running", "Labels": {"agent": "agent_B"}},
  {"Id": "c4", "Names": ["d"], "State": "created",
   "Labels": {"tiphys.owner": "diego", "tiphys.agent": "agent_A"}},
  {"Id": "c5", "Names": ["e"], "State": "running", "Labels": null}])";

// [utest->swdd~podman-list-of-existing-workloads-uses-labels~1]
TEST_F(PodmanEngineTest, ListsWhatBelongsToTheOwner) {
  on("ps", concat("echo '", kTwoOwners, "'"));
  EXPECT_EQ(listed(),
            (Lines{"c1 Failed(ExecFailed): 'Exit code: '3''", "c2 Pending(Starting): 'created'"}));
  EXPECT_EQ(listed({"diego", AgentName{"agent_A"}}), (Lines{"c4 Pending(Starting): 'created'"}));
  EXPECT_EQ(listed({"diego", AgentName{"agent_B"}}), Lines{});
  EXPECT_EQ(list()->front().labels.at("name"), "a");
}

// [utest->swdd~podmancli-container-state-cache-all-containers~1]
// [utest->swdd~podmancli-uses-container-state-cache~1]
// [utest->swdd~podmancli-container-state-cache-refresh~1]
TEST_F(PodmanEngineTest, AnswersFromTheCacheWhileAllProcessesAreWatched) {
  on("ps", concat("echo '", kTwoOwners, "'"));
  listed();
  listed();
  EXPECT_EQ(listed().size(), 2U);
  EXPECT_EQ(taken_calls(), (Lines{"ps --all --format=json"}));
}

TEST_F(PodmanEngineTest, ManyWhoAskAtOnceShareOneListing) {
  int answers = 0;
  for (int i = 0; i < 10; ++i) engine().list(kOwner, [&](const auto&) { ++answers; });
  ASSERT_TRUE(loop_.await([&] { return answers == 10; }));
  EXPECT_LE(taken_calls().size(), 2U);  // the first begins at once, the others share the second
}

// [utest->swdd~podman-state-getter-uses-podmancli~1]
// [utest->swdd~podman-state-getter-reset-cache~1]
TEST_F(PodmanEngineTest, WhateverIsDoneHereMakesTheNextListingAFreshOne) {
  on("run", "echo c9");
  on("start", "echo c9");
  listed();
  taken_calls();
  create();
  listed();
  start();
  listed();
  EXPECT_EQ(taken_calls(),
            (Lines{"run --detach --name=web.aaa.agent_A --label=name=web.aaa.agent_A "
                   "--label=agent=agent_A img one",
                   "ps --all --format=json", "--g start c1", "ps --all --format=json"}));
  on("rm", "exit 1");
  remove();
  on("ps", concat("echo '", kTwoOwners, "'"));
  EXPECT_EQ(listed().size(), 2U);
  on("rm", ":");
  remove();
  EXPECT_EQ(listed(), (Lines{"c2 Pending(Starting): 'created'"}));
}

TEST_F(PodmanEngineTest, AListingTellsWhatHasChangedSinceTheLast) {
  on("ps", concat("echo '", kTwoOwners, "'"));
  on("start", "exit 1");
  listed();
  listen();
  on("ps",
     R"(echo '[{"Id": "c1", "State": "exited", "ExitCode": 4, "Labels": {"agent": "agent_A"}}]')");
  start();
  listed();
  EXPECT_EQ(events_, (Lines{"c1 Failed(ExecFailed): 'Exit code: '4''", "c2 Failed(Lost)"}));
}

// -- Changes that cannot be told -------------------------------------------------------------------------------------

TEST_F(PodmanEngineTest, ChangesAreLostWhenPodmanNamesNoProcess) {
  on("ps", R"(echo '[{"Id": "c1", "State": "running", "Labels": {"agent": "agent_A"}}]')");
  listen();
  EXPECT_EQ(listed(), (Lines{"c1 Running(Ok)"}));
  EXPECT_EQ(events_, (Lines{"c1 Running(Ok)", "lost"}));
  EXPECT_EQ(loop_.logged.size(), 1U);
  listen();
  start();
  listed();
  EXPECT_EQ(events_.back(), "lost");
  EXPECT_EQ(loop_.logged.size(), 1U);
}

TEST_F(PodmanEngineTest, ChangesAreLostWhenTheProcessIsNeverTheContainers) {
  on("ps", concat(R"(echo '[{"Id": "c1", "State": "running", "Pid": )", std::to_string(::getpid()),
                  R"(, "Labels": {"agent": "agent_A"}}]')"));
  listen();
  EXPECT_EQ(listed(), (Lines{"c1 Running(Ok)"}));
  // The first doubts are looked into without anybody asking; when they stay, whoever asks is told.
  ASSERT_TRUE(loop_.await([&] { return loop_.logged.size() == 1; }));
  listed();
  EXPECT_EQ(events_.back(), "lost");
}

TEST_F(PodmanEngineTest, WhoStopsListeningIsNotToldAnyMore) {
  const auto watch = engine().watch(kOwner, [](const auto&) { FAIL() << "told"; });
  on("ps", concat("echo '", kTwoOwners, "'"));
  engine().unwatch(watch);
  listed();
}

TEST_F(PodmanEngineTest, WhatIsNotThereYetSaysSo) {
  EXPECT_EQ(
      error_of(answer_of<shell::ContainerStats>([&](auto sink) { engine().stats({"c1"}, sink); })),
      "statistics of containers are not supported by this version");
}

TEST_F(PodmanEngineTest, FollowsLogsBesideWhateverElseItIsAsked) {
  on("logs", "echo one; echo two; exec sleep 1000");
  on("start", "echo c1");
  Lines lines;
  bool has_ended = false;
  std::vector<shell::LogStream> streams;
  const std::size_t many = commands::kMaxCreates + commands::kMaxOtherCommands + 1;
  streams.reserve(many);
  for (std::size_t i = 0; i < many; ++i)
    streams.push_back(engine().logs(
        {"c1"}, {.follow = true, .tail = 2, .since = {}, .until = {}}, [&](shell::LogEvent event) {
          match(
              std::move(event),
              [&](const shell::LogLines& e) {
                lines.insert(lines.end(), e.lines.begin(), e.lines.end());
              },
              [&](const shell::LogEnd&) { has_ended = true; });
        }));
  ASSERT_TRUE(loop_.await([&] { return lines.size() == 2 * many; }));
  EXPECT_TRUE(start());
  EXPECT_FALSE(has_ended);
  auto calls = taken_calls();
  EXPECT_EQ(std::erase(calls, "logs -f --tail 2 c1"), many);
  for (const auto stream : streams) engine().end_logs(stream);
  EXPECT_TRUE(start());
  EXPECT_FALSE(has_ended);
}

TEST_F(PodmanEngineTest, TheNextLinesComeWhenTheyAreAskedFor) {
  on("logs", "seq 1 30000");  // more than one batch may hold
  std::size_t lines = 0;
  bool has_ended = false;
  const auto stream = engine().logs({"c1"}, {}, [&](shell::LogEvent event) {
    match(
        std::move(event), [&](const shell::LogLines& e) { lines += e.lines.size(); },
        [&](const shell::LogEnd&) { has_ended = true; });
  });
  ASSERT_TRUE(loop_.await([&] { return lines > 0; }));
  EXPECT_LT(lines, 30000U);
  ASSERT_TRUE(loop_.await([&] {
    engine().continue_logs(stream);
    return has_ended;
  }));
  EXPECT_EQ(lines, 30000U);
}

// -- As a runtime ----------------------------------------------------------------------------------------------------

class TestTimers : public shell::Timers {
 public:
  void after(Duration, std::function<void()>) override {}
};

class PodmanRuntimeTest : public PodmanEngineTest {
 protected:
  WorkloadSpecPtr spec_of(std::string_view config) {
    auto workload = std::make_shared<Workload>();
    workload->agent = "agent_A";
    workload->runtime = kPodmanRuntime;
    workload->runtime_config = config;
    return *WorkloadSpec::make("web", std::move(workload));
  }

  shell::EngineRuntime& runtime() {
    if (!runtime_)
      runtime_.emplace(shell::EngineRuntime::Settings{kPodmanRuntime, kOwner, kListingFailed},
                       engine(), timers_, commands::read_container_config);
    return *runtime_;
  }

  shell::CreateResult<ContainerId> create(std::string_view config) {
    std::optional<shell::CreateResult<ContainerId>> answer;
    runtime().create(spec_of(config), std::nullopt, {},
                     [&](shell::CreateResult<ContainerId> told) { answer = std::move(told); });
    EXPECT_TRUE(loop_.await([&] { return answer.has_value(); }));
    return *answer;
  }

  TestTimers timers_;
  std::optional<shell::EngineRuntime> runtime_;
};

// [utest->swdd~podman-create-workload-deletes-failed-container~1]
// [utest->swdd~podman-get-workload-id-uses-label~1]
TEST_F(PodmanRuntimeTest, AFailedCreationTakesAwayWhatItLeftByItsLabel) {
  const auto instance = to_string(spec_of("image: x")->instance());
  on("run", "echo 'it broke' >&2; exit 126");
  on("ps",
     concat(R"(echo '[{"Id": "half", "State": "created", "Labels": {"agent": "agent_A", "name": ")",
            instance, R"("}}]')"));
  const auto created = create("image: x");
  ASSERT_FALSE(created);
  EXPECT_TRUE(created.error().cause.starts_with("it broke. Execution of '"));
  EXPECT_TRUE(created.error().may_succeed_later);
  const auto calls = taken_calls();
  ASSERT_GE(calls.size(), 3U);
  EXPECT_EQ(calls.at(calls.size() - 2), "stop --ignore half");
  EXPECT_EQ(calls.back(), "rm --ignore half");
}

// [utest->swdd~podman-name-returns-podman~1]
TEST_F(PodmanRuntimeTest, IsNamedPodmanInWhatItFinds) {
  const auto instance = to_string(spec_of("image: x")->instance());
  on("ps",
     concat(
         R"(echo '[{"Id": "c1", "State": "exited", "ExitCode": 0, "Labels": {"agent": "agent_A", "name": ")",
         instance, R"("}}]')"));
  std::optional<std::string> found;
  runtime().list(kOwner.agent, [&](const auto& workloads) { found = workloads->front().runtime; });
  ASSERT_TRUE(loop_.await([&] { return found.has_value(); }));
  EXPECT_EQ(found, "podman");
}

// [utest->swdd~podman-state-getter-returns-lost-state~1]
TEST_F(PodmanRuntimeTest, AContainerWithoutAStateIsLost) {
  Lines states;
  runtime().watch(1, spec_of("image: x")->instance(), {"c1"},
                  [&](const ExecutionState& state) { states.push_back(to_string(state)); });
  ASSERT_TRUE(loop_.await([&] { return !states.empty(); }));
  EXPECT_EQ(states, (Lines{"Failed(Lost)"}));
}

TEST_F(PodmanRuntimeTest, AListingThatFailsTwiceMakesTheStateUnknown) {
  on("ps", "exit 1");
  Lines states;
  runtime().watch(1, spec_of("image: x")->instance(), {"c1"},
                  [&](const ExecutionState& state) { states.push_back(to_string(state)); });
  ASSERT_TRUE(loop_.await([&] { return !states.empty(); }));
  EXPECT_EQ(states, (Lines{"Failed(Unknown): 'Error getting state from Podman.'"}));
}

}  // namespace
}  // namespace tiphys::podman
