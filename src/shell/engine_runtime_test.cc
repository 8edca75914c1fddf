#include "shell/engine_runtime.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::shell {
namespace {

using std::chrono::milliseconds;
using workload::ContainerPhase;
using workload::Token;

using Lines = std::vector<std::string>;
using Containers = std::vector<Container>;

// An engine that only writes down what it is asked; the test answers, when it wants and as it wants.
class ScriptedEngine final : public Engine {
 public:
  void create(const Owner& owner, ContainerSpec spec, bool start,
              std::function<void(Result<ContainerId>)> sink) override {
    calls.push_back((start ? "create and start " : "create ") + spec.name);
    owners.push_back(owner);
    specs.push_back(std::move(spec));
    creates.push_back(std::move(sink));
  }
  void start(ContainerId container, std::vector<std::string> general_options,
             std::function<void(Status)> sink) override {
    general_options.push_back("start " + container.value);
    calls.push_back(join(general_options, " "));
    starts.push_back(std::move(sink));
  }
  void remove(ContainerId container, std::function<void(Status)> sink) override {
    calls.push_back("remove " + container.value);
    removes.push_back(std::move(sink));
  }
  void list(const Owner& owner, std::function<void(Result<Containers>)> sink) override {
    calls.emplace_back("list");
    owners.push_back(owner);
    lists.push_back(std::move(sink));
  }
  EngineWatch watch(const Owner& owner, std::function<void(EngineEvent)> sink) override {
    calls.emplace_back("watch");
    owners.push_back(owner);
    changes = std::move(sink);
    return ++last_watch_;
  }
  void unwatch(EngineWatch) override { calls.emplace_back("unwatch"); }
  void signal(ContainerId, int, std::function<void(Status)>) override { unexpected(); }
  void stats(ContainerId, std::function<void(Result<ContainerStats>)>) override { unexpected(); }
  LogStream logs(ContainerId, LogOptions, std::function<void(LogEvent)>) override {
    unexpected();
    return 0;
  }
  void continue_logs(LogStream) override { unexpected(); }
  void end_logs(LogStream) override { unexpected(); }

  // Answers the oldest open call of that kind.
  template <class T, class Value>
  static void answer(std::deque<std::function<void(T)>>& open, Value&& value) {
    ASSERT_FALSE(open.empty()) << "nobody asked";
    const auto sink = std::move(open.front());
    open.pop_front();
    sink(std::forward<Value>(value));
  }
  void answer_list(Result<Containers> containers) { answer(lists, std::move(containers)); }

  // What it was asked since the last look.
  Lines taken_calls() { return std::exchange(calls, {}); }

  Lines calls;
  std::vector<Owner> owners;
  std::vector<ContainerSpec> specs;
  std::deque<std::function<void(Result<ContainerId>)>> creates;
  std::deque<std::function<void(Status)>> starts;
  std::deque<std::function<void(Status)>> removes;
  std::deque<std::function<void(Result<Containers>)>> lists;
  std::function<void(EngineEvent)> changes;

 private:
  static void unexpected() { ADD_FAILURE() << "a runtime for workloads does not need this"; }
  EngineWatch last_watch_ = 0;
};

ContainerStatus running() { return {ContainerPhase::kRunning, "running", 0, false}; }
ContainerStatus exited(int code) { return {ContainerPhase::kExited, "exited", code, false}; }

WorkloadSpecPtr spec_of(const std::string& name) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "agent_A";
  workload->runtime = "podman";
  workload->runtime_config = "image: nginx";
  return *WorkloadSpec::make(name, workload);
}

Container container_of(const std::string& id, const InstanceName& instance,
                       ContainerStatus status) {
  return {ContainerId{id}, "some-name", {{"name", to_string(instance)}}, std::move(status)};
}

class EngineRuntimeTest : public testing::Test {
 protected:
  void pass(Duration duration) {
    world.run_until(world.now() + duration, [] {});
  }

  // Watches the container; what is told goes to told as "TOKEN STATE".
  void watch(Token token, const std::string& container) {
    runtime.watch(token, instance, ContainerId{container},
                  [this, token](const ExecutionState& state) {
                    told.push_back(std::to_string(token) + " " + to_string(state));
                    if (on_told) on_told(token);
                  });
  }
  Lines taken() { return std::exchange(told, {}); }

  void change(const std::string& container, ContainerStatus status) {
    engine.changes(ContainerChanged{ContainerId{container}, std::move(status)});
  }
  [[nodiscard]] Container listed(const std::string& id, ContainerStatus status) const {
    return container_of(id, instance, std::move(status));
  }

  // The answers to a creation: "created ID", or "failed CAUSE" with what else is known.
  void create(std::optional<ContainerId> reuse = std::nullopt) {
    runtime.create(nginx, std::move(reuse), equipment, [this](CreateResult<ContainerId> created) {
      if (created) return told.push_back("created " + created->value);
      const CreateError& error = created.error();
      told.push_back("failed " + error.cause + (error.may_succeed_later ? "" : ", for ever") +
                     (error.left_something ? ", left something" : ""));
    });
  }

  void remove(std::optional<ContainerId> container) {
    runtime.remove(instance, std::move(container), [this](const Status& status) {
      told.push_back(status ? "removed" : status.error().message);
    });
  }

  sim::World world{1, false};
  sim::Process process{world};
  ScriptedEngine engine;
  const Owner owner{"ankaios", AgentName{"agent_A"}};
  const WorkloadSpecPtr nginx = spec_of("nginx");
  const InstanceName instance = nginx->instance();
  const Error unavailable{Code::kUnavailable, "engine is away"};
  EngineRuntime runtime{{.name = "podman", .owner = owner, .listing_failed = "Listing failed"},
                        engine,
                        process,
                        [this](const WorkloadSpec& spec) { return read_config(spec); }};
  Equipment equipment;
  std::optional<CreateError> config_error;
  std::vector<std::string> general_options;
  Lines told;
  std::function<void(Token)> on_told;

 private:
  CreateResult<ContainerSpec> read_config(const WorkloadSpec& spec) {
    if (config_error) return tl::unexpected(*config_error);
    ContainerSpec container;
    container.image = spec.workload().runtime_config;
    container.general_options = general_options;
    container.labels = {{"of the user", "kept"}, {"name", "not for the user to set"}};
    return container;
  }
};

// -- Creating and removing -------------------------------------------------------------------------------------------

TEST_F(EngineRuntimeTest, CreatesAContainerThatIsFoundAgainByItsLabels) {
  create();
  EXPECT_EQ(engine.taken_calls(), (Lines{"create and start " + to_string(instance)}));
  EXPECT_EQ(engine.owners, (std::vector<Owner>{owner}));
  EXPECT_EQ(engine.specs.front().image, "image: nginx");
  EXPECT_EQ(engine.specs.front().labels,
            (std::map<std::string, std::string>{
                {"name", to_string(instance)}, {"agent", "agent_A"}, {"of the user", "kept"}}));
  EXPECT_EQ(taken(), Lines{});
  engine.answer(engine.creates, ContainerId{"c1"});
  EXPECT_EQ(taken(), (Lines{"created c1"}));
  EXPECT_EQ(engine.taken_calls(), Lines{});
}

// [utest->swdd~podman-create-workload-mounts-fifo-files~1]
TEST_F(EngineRuntimeTest, MountsTheControlInterfaceAndThenTheFiles) {
  equipment = {"/run/a/nginx.id/control_interface",
               {{"/run/a/nginx.id/files/etc/x", "/etc/x", true}}};
  create();
  EXPECT_EQ(engine.specs.front().mounts,
            (std::vector<Mount>{
                {"/run/a/nginx.id/control_interface", "/run/ankaios/control_interface", false},
                {"/run/a/nginx.id/files/etc/x", "/etc/x", true}}));
}

TEST_F(EngineRuntimeTest, AConfigThatCannotBeReadReachesNoEngine) {
  config_error = CreateError{"no image", false};
  create();
  EXPECT_EQ(engine.taken_calls(), Lines{});
  EXPECT_EQ(taken(), (Lines{"failed no image, for ever"}));
}

TEST_F(EngineRuntimeTest, StartsAnEndedContainerAgain) {
  create(ContainerId{"c1"});
  EXPECT_EQ(engine.taken_calls(), (Lines{"start c1"}));
  engine.answer(engine.starts, Status());
  EXPECT_EQ(taken(), (Lines{"created c1"}));
}

TEST_F(EngineRuntimeTest, StartsWithTheGeneralOptionsOfTheConfig) {
  general_options = {"--log-level", "debug"};
  create(ContainerId{"c1"});
  EXPECT_EQ(engine.taken_calls(), (Lines{"--log-level debug start c1"}));
}

TEST_F(EngineRuntimeTest, AFailedCreationTakesAwayWhatItLeftBehindBeforeItIsTold) {
  create();
  engine.answer(engine.creates, fail(unavailable));
  engine.taken_calls();
  EXPECT_EQ(taken(), Lines{});
  engine.answer_list(Containers{listed("half-made", running()), listed("copy", exited(1)),
                                container_of("other", spec_of("other")->instance(), running()),
                                Container{ContainerId{"nameless"}, "x", {}, running()}});
  EXPECT_EQ(engine.taken_calls(), (Lines{"remove half-made", "remove copy"}));
  engine.answer(engine.removes, Status());
  EXPECT_EQ(taken(), Lines{});
  engine.answer(engine.removes, Status());
  EXPECT_EQ(taken(), (Lines{"failed engine is away"}));
}

TEST_F(EngineRuntimeTest, AFailedStartTakesTheContainerAway) {
  create(ContainerId{"c1"});
  engine.answer(engine.starts, fail(unavailable));
  engine.answer_list(Containers{listed("c1", exited(0))});
  engine.answer(engine.removes, Status());
  EXPECT_EQ(engine.taken_calls(), (Lines{"start c1", "list", "remove c1"}));
  EXPECT_EQ(taken(), (Lines{"failed engine is away"}));
}

TEST_F(EngineRuntimeTest, AFailedCreationSaysWhenSomethingMayBeLeft) {
  const auto create_in_vain = [this] {
    create();
    engine.answer(engine.creates, fail(unavailable));
  };
  create_in_vain();
  engine.answer_list(Containers{});
  EXPECT_EQ(taken(), (Lines{"failed engine is away"}));
  create_in_vain();
  engine.answer_list(fail(Code::kUnavailable, "still away"));
  EXPECT_EQ(taken(), (Lines{"failed engine is away, left something"}));
  create_in_vain();
  engine.answer_list(Containers{listed("c1", running()), listed("c2", running())});
  engine.answer(engine.removes, fail(unavailable));
  engine.answer(engine.removes, Status());
  EXPECT_EQ(taken(), (Lines{"failed engine is away, left something"}));
}

TEST_F(EngineRuntimeTest, AnAnswerThatComesTwiceIsActedUponOnce) {
  create();
  const auto created = engine.creates.front();
  engine.answer(engine.creates, fail(unavailable));
  created(fail(unavailable));
  EXPECT_EQ(engine.lists.size(), 1U);
  const auto listed_again = engine.lists.front();
  engine.answer_list(Containers{listed("c1", running()), listed("c2", running())});
  listed_again(Containers{listed("c1", running())});
  EXPECT_EQ(engine.removes.size(), 2U);
  const auto removed = engine.removes.front();
  engine.answer(engine.removes, Status());
  removed(Status());
  EXPECT_EQ(taken(), Lines{});
  engine.answer(engine.removes, Status());
  EXPECT_EQ(taken(), (Lines{"failed engine is away"}));

  create(ContainerId{"c1"});
  const auto started = engine.starts.front();
  engine.answer(engine.starts, Status());
  started(Status());
  EXPECT_EQ(taken(), (Lines{"created c1"}));
}

TEST_F(EngineRuntimeTest, RemovesAContainer) {
  remove(ContainerId{"c1"});
  remove(ContainerId{"c2"});
  EXPECT_EQ(engine.taken_calls(), (Lines{"remove c1", "remove c2"}));
  engine.answer(engine.removes, Status());
  engine.answer(engine.removes, fail(unavailable));
  EXPECT_EQ(taken(), (Lines{"removed", "engine is away"}));
}

TEST_F(EngineRuntimeTest, RemovesWhateverThereIsOfAnInstance) {
  remove(std::nullopt);
  engine.answer_list(Containers{listed("c1", running()), listed("c2", exited(0)),
                                container_of("other", spec_of("other")->instance(), running())});
  EXPECT_EQ(engine.taken_calls(), (Lines{"list", "remove c1", "remove c2"}));
  engine.answer(engine.removes, Status());
  EXPECT_EQ(taken(), Lines{});
  engine.answer(engine.removes, Status());
  EXPECT_EQ(taken(), (Lines{"removed"}));

  remove(std::nullopt);
  engine.answer_list(Containers{});
  EXPECT_EQ(taken(), (Lines{"removed"}));
  remove(std::nullopt);
  engine.answer_list(fail(unavailable));
  EXPECT_EQ(taken(), (Lines{"engine is away"}));
}

// -- Listing ---------------------------------------------------------------------------------------------------------

TEST_F(EngineRuntimeTest, ListsTheInstancesThatTheLabelsName) {
  std::optional<Result<std::vector<agent::FoundWorkload>>> found;
  runtime.list(AgentName{"agent_B"}, [&](auto answer) { found = std::move(answer); });
  EXPECT_EQ(engine.owners, (std::vector<Owner>{{"ankaios", AgentName{"agent_B"}}}));
  const InstanceName other = spec_of("other")->instance();
  engine.answer_list(Containers{listed("c1", running()),
                                Container{ContainerId{"c2"}, to_string(instance), {}, running()},
                                Container{ContainerId{"c3"}, "x", {{"name", "no.instance"}}, {}},
                                container_of("c4", other, exited(3))});
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found,
            (std::vector<agent::FoundWorkload>{
                {"podman", instance, ExecutionState(Phase::kRunningOk), ContainerId{"c1"}},
                {"podman", other, ExecutionState(Phase::kFailedExecFailed, "Exit code: '3'"),
                 ContainerId{"c4"}}}));
}

TEST_F(EngineRuntimeTest, AFailedListingIsToldAsItIs) {
  std::optional<Result<std::vector<agent::FoundWorkload>>> found;
  runtime.list(owner.agent, [&](auto answer) { found = std::move(answer); });
  engine.answer_list(fail(unavailable));
  ASSERT_TRUE(found.has_value());
  ASSERT_FALSE(found->has_value());
  EXPECT_EQ(found->error(), unavailable);
}

TEST_F(EngineRuntimeTest, AnEngineThatMayBeMissingHasNothingWhenItIs) {
  EngineRuntime optional({.name = "containerd",
                          .owner = owner,
                          .listing_failed = "Listing failed",
                          .may_be_missing = true},
                         engine, process, [](const WorkloadSpec&) { return ContainerSpec{}; });
  const Error missing{Code::kNotFound, "no such program"};
  std::optional<Result<std::vector<agent::FoundWorkload>>> found;
  const auto list = [&](EngineRuntime& asked, const Error& error) {
    asked.list(owner.agent, [&](auto answer) { found = std::move(answer); });
    engine.answer_list(fail(error));
  };
  list(optional, missing);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ(found->value().size(), 0U);
  list(optional, unavailable);
  EXPECT_FALSE(found->has_value());
  list(runtime, missing);
  EXPECT_FALSE(found->has_value());

  // Nor has a failed creation left anything.
  optional.create(nginx, std::nullopt, {}, [&](CreateResult<ContainerId> created) {
    ASSERT_FALSE(created);
    told.push_back(created.error().cause + (created.error().left_something ? ", left" : ""));
  });
  engine.answer(engine.creates, Result<ContainerId>(fail(missing)));
  engine.answer_list(fail(missing));
  EXPECT_EQ(taken(), (Lines{"no such program"}));
}

// -- Watching --------------------------------------------------------------------------------------------------------

// [utest->swdd~generic-state-checker-sends-workload-state~2]
TEST_F(EngineRuntimeTest, AWatchIsToldTheStateAtOnceAndThenEveryChange) {
  watch(1, "c1");
  EXPECT_EQ(engine.taken_calls(), (Lines{"watch", "list"})) << "nothing falls between the two";
  EXPECT_EQ(engine.owners, (std::vector<Owner>{owner, owner}));
  engine.answer_list(Containers{listed("c0", exited(9)), listed("c1", running())});
  EXPECT_EQ(taken(), (Lines{"1 Running(Ok)"}));
  change("c1", running());
  change("c0", exited(9));
  EXPECT_EQ(taken(), Lines{}) << "nothing differs";
  change("c1", exited(7));
  EXPECT_EQ(taken(), (Lines{"1 Failed(ExecFailed): 'Exit code: '7''"}));
  change("c1", {ContainerPhase::kGone, "", 0, false});
  EXPECT_EQ(taken(), (Lines{"1 Failed(Lost)"}));
}

TEST_F(EngineRuntimeTest, AContainerThatIsNotListedIsLost) {
  watch(1, "c1");
  engine.answer_list(Containers{listed("c2", running())});
  EXPECT_EQ(taken(), (Lines{"1 Failed(Lost)"}));
}

TEST_F(EngineRuntimeTest, EveryWatchIsToldOfItsOwnContainer) {
  watch(1, "c1");
  engine.answer_list(Containers{listed("c1", running())});
  watch(2, "c2");
  watch(3, "c1");
  engine.answer_list(Containers{listed("c1", running()), listed("c2", exited(0))});
  // The third watch began while that listing was under way and has one of its own.
  engine.answer_list(Containers{listed("c1", running()), listed("c2", exited(0))});
  EXPECT_EQ(taken(), (Lines{"1 Running(Ok)", "2 Succeeded(Ok)", "3 Running(Ok)"}));
  EXPECT_EQ(engine.taken_calls(), (Lines{"watch", "list", "list", "list"}));
}

TEST_F(EngineRuntimeTest, VerifiesEveryMinuteWhileChangesAreTold) {
  watch(1, "c1");
  engine.answer_list(Containers{listed("c1", running())});
  engine.taken_calls();
  pass(kStateVerifyPeriod - milliseconds(1));
  EXPECT_EQ(engine.taken_calls(), Lines{});
  pass(milliseconds(1));
  EXPECT_EQ(engine.taken_calls(), (Lines{"list"}));
  taken();
  engine.answer_list(Containers{listed("c1", exited(0))});
  EXPECT_EQ(taken(), (Lines{"1 Succeeded(Ok)"})) << "a change that the engine did not tell";
}

// [utest->swdd~agent-provides-generic-state-checker-implementation~1]
TEST_F(EngineRuntimeTest, PollsEverySecondOnceChangesAreLostUntilTheyAreTold) {
  watch(1, "c1");
  engine.answer_list(Containers{listed("c1", running())});
  engine.taken_calls();
  for (int i = 0; i < 3; ++i) {
    engine.changes(ChangesLost{});
    EXPECT_EQ(engine.taken_calls(), Lines{});
    pass(kStatePollPeriod - milliseconds(1));
    EXPECT_EQ(engine.taken_calls(), Lines{});
    pass(milliseconds(1));
    EXPECT_EQ(engine.taken_calls(), (Lines{"watch", "list"}));
    engine.answer_list(Containers{listed("c1", exited(i))});
  }
  EXPECT_EQ(taken(),
            (Lines{"1 Running(Ok)", "1 Succeeded(Ok)", "1 Failed(ExecFailed): 'Exit code: '1''",
                   "1 Failed(ExecFailed): 'Exit code: '2''"}));
  pass(kStateVerifyPeriod - milliseconds(1));
  EXPECT_EQ(engine.taken_calls(), Lines{});
}

TEST_F(EngineRuntimeTest, AnEngineThatLosesItsChangesAtOnceIsAskedOnceASecond) {
  watch(1, "c1");
  for (int second = 0; second < 10; ++second) {
    for (int call = 0; call < 5 && !engine.lists.empty(); ++call) {
      engine.changes(ChangesLost{});
      engine.answer_list(Containers{listed("c1", running())});
    }
    EXPECT_EQ(engine.taken_calls(), (Lines{"watch", "list"}));
    pass(kStatePollPeriod);
  }
}

TEST_F(EngineRuntimeTest, AListingThatIsOlderThanAChangeDoesNotOverrideIt) {
  watch(1, "c1");
  watch(2, "c2");
  change("c1", exited(0));
  EXPECT_EQ(taken(), (Lines{"1 Succeeded(Ok)"}));
  engine.answer_list(Containers{listed("c1", running()), listed("c2", running())});
  EXPECT_EQ(taken(), Lines{});
  engine.answer_list(Containers{listed("c1", exited(0)), listed("c2", running())});
  EXPECT_EQ(taken(), (Lines{"2 Running(Ok)"}));
  pass(kStateVerifyPeriod);
  engine.answer_list(Containers{listed("c1", exited(5)), listed("c2", running())});
  EXPECT_EQ(taken(), (Lines{"1 Failed(ExecFailed): 'Exit code: '5''"})) << "a later one does";
}

TEST_F(EngineRuntimeTest, AListingThatIsOlderThanAWatchDoesNotSpeakToIt) {
  watch(1, "c1");
  // The container ended, was started again and is watched anew, all while the listing is under way.
  runtime.unwatch(1);
  watch(2, "c1");
  watch(3, "c3");
  engine.answer_list(Containers{listed("c1", exited(0))});
  EXPECT_EQ(taken(), Lines{});
  engine.answer_list(Containers{listed("c1", running()), listed("c3", running())});
  EXPECT_EQ(taken(), (Lines{"2 Running(Ok)", "3 Running(Ok)"}));
}

TEST_F(EngineRuntimeTest, AnAnswerToAnOlderListingIsStale) {
  watch(1, "c1");
  const auto doubled = engine.lists.front();
  engine.answer_list(Containers{listed("c1", running())});
  doubled(Containers{});
  watch(2, "c2");
  doubled(Containers{});
  EXPECT_EQ(taken(), (Lines{"1 Running(Ok)"}));
  engine.answer_list(Containers{listed("c1", running()), listed("c2", running())});
  EXPECT_EQ(taken(), (Lines{"2 Running(Ok)"}));
}

TEST_F(EngineRuntimeTest, AFailedListingIsTriedOnceMore) {
  watch(1, "c1");
  engine.answer_list(fail(unavailable));
  EXPECT_EQ(engine.taken_calls(), (Lines{"watch", "list", "list"}));
  EXPECT_EQ(taken(), Lines{});
  engine.answer_list(Containers{listed("c1", running())});
  EXPECT_EQ(taken(), (Lines{"1 Running(Ok)"}));
}

TEST_F(EngineRuntimeTest, AListingThatFailsTwiceMakesStatesUnknownUntilTheNextSecond) {
  watch(1, "c1");
  engine.answer_list(fail(unavailable));
  engine.answer_list(fail(unavailable));
  EXPECT_EQ(taken(), (Lines{"1 Failed(Unknown): 'Listing failed'"}));
  EXPECT_EQ(engine.taken_calls(), (Lines{"watch", "list", "list"}));
  pass(kStatePollPeriod);
  EXPECT_EQ(engine.taken_calls(), (Lines{"list"}));
  engine.answer_list(Containers{listed("c1", running())});
  EXPECT_EQ(taken(), (Lines{"1 Running(Ok)"}));
}

TEST_F(EngineRuntimeTest, AChangeIsBetterThanAFailedListing) {
  watch(1, "c1");
  change("c1", running());
  engine.answer_list(fail(unavailable));
  engine.answer_list(fail(unavailable));
  EXPECT_EQ(taken(), (Lines{"1 Running(Ok)"}));
}

TEST_F(EngineRuntimeTest, NothingIsToldAfterUnwatch) {
  watch(1, "c1");
  runtime.unwatch(1);
  engine.answer_list(Containers{listed("c1", running())});
  change("c1", exited(0));
  runtime.unwatch(1);  // a second time does no harm
  EXPECT_EQ(taken(), Lines{});
  engine.taken_calls();
  pass(2 * kStateVerifyPeriod);
  EXPECT_EQ(engine.taken_calls(), Lines{}) << "an engine without watches is left alone";
  watch(2, "c1");
  EXPECT_EQ(engine.taken_calls(), (Lines{"list"}));
}

TEST_F(EngineRuntimeTest, ASinkMayEndWatches) {
  watch(1, "c1");
  watch(2, "c1");
  watch(3, "c1");
  engine.answer_list(Containers{listed("c1", running())});
  engine.answer_list(Containers{listed("c1", running())});
  taken();
  on_told = [this](Token token) {
    runtime.unwatch(token);
    runtime.unwatch(2);
  };
  change("c1", exited(0));
  EXPECT_EQ(taken(), (Lines{"1 Succeeded(Ok)", "3 Succeeded(Ok)"}));
  change("c1", exited(1));
  EXPECT_EQ(taken(), Lines{});
}

TEST_F(EngineRuntimeTest, AWatchThatBeginsInASinkDoesNotMakeAnOldListingLookNew) {
  watch(1, "c1");
  watch(2, "c2");
  engine.answer_list(Containers{listed("c1", running()), listed("c2", running())});
  engine.answer_list(Containers{listed("c1", running()), listed("c2", running())});
  pass(kStateVerifyPeriod);
  change("c2", exited(0));
  taken();
  engine.taken_calls();
  on_told = [this](Token token) {
    runtime.unwatch(token);
    if (token == 1) watch(3, "c3");
  };
  engine.answer_list(Containers{listed("c1", exited(0)), listed("c2", running())});
  EXPECT_EQ(taken(), (Lines{"1 Succeeded(Ok)"}));
  EXPECT_EQ(engine.taken_calls(), (Lines{"list"}));
  engine.answer_list(Containers{listed("c3", running())});
  EXPECT_EQ(taken(), (Lines{"2 Failed(Lost)", "3 Running(Ok)"}));
}

}  // namespace
}  // namespace tiphys::shell
