#include "core/workload/control_loop.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <tuple>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::workload {
namespace {

InstanceName instance(const std::string& id) {
  return {WorkloadName{"web"}, WorkloadId{id}, AgentName{"A"}};
}

WorkloadSpecPtr spec(const std::string& id, RestartPolicy policy = RestartPolicy::kNever,
                     const std::string& runtime = "podman") {
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->runtime = runtime;
  workload->restart_policy = policy;
  if (id >= "5") workload->files.edit() = {{"/etc/x", File::Encoding::kText, "text"}};
  return WorkloadSpec::received(instance(id), std::move(workload)).value();
}

template <class T>
std::optional<T> find(const Effects& effects) {
  for (const auto& effect : effects)
    if (const auto* found = std::get_if<T>(&effect)) return *found;
  return std::nullopt;
}

std::vector<std::string> texts(const Effects& effects) {
  std::vector<std::string> result;
  for (const auto& effect : effects) result.push_back(to_string(effect));
  return result;
}

// A loop whose container c1 is watched, and the token of that watch.
std::pair<ControlLoop, Token> watching(RestartPolicy policy) {
  ControlLoop loop(1, spec("1", policy));
  const auto create = find<CreateContainer>(loop.step(Create{}, {}));
  const auto watch = find<Watch>(loop.step(Created{create->token, ContainerId{"c1"}}, {}));
  return {std::move(loop), watch->token};
}

// [utest->swdd~workload-control-loop-restarts-workload-with-enabled-restart-policy~2]
// [utest->swdd~agent-supports-restart-policies~1]
TEST(ControlLoop, RestartsWhenThePolicyAsksForIt) {
  const std::set<std::tuple<RestartPolicy, Phase>> restarted{
      {RestartPolicy::kOnFailure, Phase::kFailedExecFailed},
      {RestartPolicy::kAlways, Phase::kFailedExecFailed},
      {RestartPolicy::kAlways, Phase::kSucceededOk},
  };
  for (const auto policy :
       {RestartPolicy::kNever, RestartPolicy::kOnFailure, RestartPolicy::kAlways})
    for (const auto& row : kPhases) {
      SCOPED_TRACE(concat(to_string(policy), " ", row.state, "(", row.sub_state, ")"));
      auto [loop, watch] = watching(policy);
      const Effects effects = loop.step(Observed{watch, ExecutionState(row.phase, "info")}, {});
      // Whatever the policy, what was seen is reported first.
      ASSERT_FALSE(effects.empty());
      const auto* report = std::get_if<Report>(&effects.front());
      ASSERT_NE(report, nullptr);
      EXPECT_EQ(report->state, ExecutionState(row.phase, "info"));
      EXPECT_EQ(effects.size() > 1, restarted.contains({policy, row.phase}));
    }
}

TEST(ControlLoop, WatchesALeftBehindContainerWithoutASpecAndNeverRestartsIt) {
  ControlLoop loop(1, instance("1"), "podman");
  const auto watch = find<Watch>(loop.step(Resume{ContainerId{"c1"}}, {}));
  EXPECT_EQ(texts(loop.step(Observed{watch->token, ExecutionState(Phase::kFailedExecFailed)}, {})),
            (std::vector<std::string>{"report web.1.A Failed(ExecFailed)"}));
}

// [utest->swdd~agent-workload-control-loop-limits-retry-attempts~1]
// [utest->swdd~agent-workload-control-loop-retry-limit-set-execution-state~2]
TEST(ControlLoop, GivesUpAfterOneAttemptAndTwentyRetries) {
  ControlLoop loop(1, spec("1"));
  Effects effects = loop.step(Create{}, {});
  for (int retry = 1; retry <= kMaxRetries; ++retry) {
    const auto create = find<CreateContainer>(effects);
    ASSERT_TRUE(create.has_value()) << "before retry " << retry;
    effects = loop.step(CreateFailed{create->token, "no such image", true}, {});
    EXPECT_EQ(texts(effects),
              (std::vector<std::string>{concat("report web.1.A Pending(Starting): 'Retry ",
                                               std::to_string(retry), " of 20: no such image'"),
                                        "timer +1000ms"}));
    effects = loop.step(TimerFired{find<ArmTimer>(effects)->token}, {});
  }
  const auto last = find<CreateContainer>(effects);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(texts(loop.step(CreateFailed{last->token, "no such image", true}, {})),
            (std::vector<std::string>{
                "report web.1.A Pending(StartingFailed): 'No more retries: no such image'"}));
}

TEST(ControlLoop, TriesForEverWithPausesOfChanceThatGrowWhenAsked) {
  ControlLoop loop(1, spec("1"), {.without_end = true, .seed = 7});
  Effects effects = loop.step(Create{}, {});
  Duration longest_seen{};
  std::set<Duration> pauses;
  for (int retry = 1; retry <= 100; ++retry) {
    const auto create = find<CreateContainer>(effects);
    ASSERT_TRUE(create.has_value()) << "before retry " << retry;
    effects = loop.step(CreateFailed{create->token, "no such image", true}, {});
    EXPECT_EQ(texts(effects)[0], concat("report web.1.A Pending(Starting): 'Retry ",
                                        std::to_string(retry), ": no such image'"));
    const auto timer = *find<ArmTimer>(effects);
    EXPECT_LE(timer.after, retry == 1 ? kFirstRetryPause : kLongestRetryPause);
    longest_seen = std::max(longest_seen, timer.after);
    pauses.insert(timer.after);
    effects = loop.step(TimerFired{timer.token}, {});
  }
  EXPECT_GT(longest_seen, kLongestRetryPause / 2);
  EXPECT_GT(pauses.size(), 90U);
}

TEST(ControlLoop, RemembersWhatItLastSaidOfItsInstance) {
  auto [loop, watch] = watching(RestartPolicy::kNever);
  EXPECT_EQ(loop.last_report()->phase, Phase::kPendingStarting);
  (void)loop.step(Observed{watch, ExecutionState(Phase::kRunningOk)}, {});
  EXPECT_EQ(loop.last_report()->phase, Phase::kRunningOk);
}

TEST(ControlLoop, ClearsAFolderThatAnEarlierSpecOfTheInstanceMade) {
  auto with_files = std::make_shared<Workload>(spec("1")->workload());
  with_files->files.edit() = {{"/a", File::Encoding::kText, "x"}};
  ControlLoop loop(1, WorkloadSpec::unchecked(instance("1"), with_files));
  const auto first = find<CreateContainer>(loop.step(Create{}, {}));
  (void)loop.step(Created{first->token, ContainerId{"c1"}}, {});
  const auto deleted = find<DeleteContainer>(loop.step(Update{spec("1")}, {}));
  const auto files = find<ClearFolder>(loop.step(Deleted{deleted->token}, {}));
  ASSERT_TRUE(files);
  EXPECT_EQ(files->part, ClearFolder::Part::kFiles);
  const auto second = find<CreateContainer>(loop.step(FolderCleared{files->token}, {}));
  (void)loop.step(Created{second->token, ContainerId{"c2"}}, {});
  const auto last = find<DeleteContainer>(loop.step(Delete{}, {}));
  const auto all = find<ClearFolder>(loop.step(Deleted{last->token}, {}));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->part, ClearFolder::Part::kAll);
}

TEST(ControlLoop, TellsRuntimeInstanceAndContainerApartInItsTokens) {
  ControlLoop first(1, spec("1"));
  ControlLoop second(2, spec("1"));
  const auto a = find<CreateContainer>(first.step(Create{}, {}));
  const auto b = find<CreateContainer>(second.step(Create{}, {}));
  EXPECT_EQ(loop_of(a->token), 1U);
  EXPECT_EQ(loop_of(b->token), 2U);
  EXPECT_EQ(a->runtime, "podman");
}

TEST(ControlLoop, SaysWhatItWorksTowards) {
  ControlLoop loop(1, spec("1"));
  EXPECT_EQ(loop.wanted()->instance(), instance("1"));
  const auto create = find<CreateContainer>(loop.step(Create{}, {}));
  (void)loop.step(Update{spec("2")}, {});
  EXPECT_EQ(loop.wanted()->instance(), instance("2")) << "an update that waits counts";
  EXPECT_EQ(loop.instance(), instance("1"));
  (void)loop.step(Created{create->token, ContainerId{"c1"}}, {});
  EXPECT_EQ(loop.wanted()->instance(), instance("2")) << "also while the old instance goes";
  (void)loop.step(Delete{}, {});
  EXPECT_EQ(loop.wanted(), nullptr);
}

TEST(ControlLoop, KnowsWhichContainerMayBeItsOwn) {
  ControlLoop loop(1, spec("1"));
  const ContainerId c1{"c1"};
  EXPECT_FALSE(loop.may_own("podman", instance("1"), c1));
  const auto create = find<CreateContainer>(loop.step(Create{}, {}));
  EXPECT_TRUE(loop.may_own("podman", instance("1"), c1)) << "it may be the one in the making";
  EXPECT_FALSE(loop.may_own("containerd", instance("1"), c1));
  EXPECT_FALSE(loop.may_own("podman", instance("2"), c1));
  (void)loop.step(Created{create->token, c1}, {});
  EXPECT_TRUE(loop.may_own("podman", instance("1"), c1));
  EXPECT_FALSE(loop.may_own("podman", instance("1"), ContainerId{"c2"}));
}

TEST(ControlLoopDeathTest, HearsNothingAfterItsEnd) {
  ControlLoop loop(1, spec("1"));
  const auto create = find<CreateContainer>(loop.step(Create{}, {}));
  (void)loop.step(CreateFailed{create->token, "no such image", true}, {});
  ASSERT_TRUE(find<Ended>(loop.step(Delete{}, {})).has_value());
  EXPECT_DEATH((void)loop.step(Delete{}, {}), "an ended loop is told nothing");
}

TEST(ControlLoop, WritesItsEventsForTheTrace) {
  const Token token = 1;
  for (const auto& [event, expected] : std::vector<std::pair<Event, std::string>>{
           {Create{}, "create"},
           {Create{ContainerId{"c1"}}, "create from c1"},
           {Resume{ContainerId{"c1"}}, "resume c1"},
           {Replace{instance("1"), ContainerId{"c1"}}, "replace web.1.A"},
           {MakeRoom{ContainerId{"c1"}}, "make room, take away c1"},
           {Discard{ContainerId{"c1"}}, "discard c1"},
           {Update{spec("2")}, "update to web.2.A"},
           {Update{}, "update to nothing"},
           {Delete{}, "delete"},
           {Created{token, ContainerId{"c1"}}, "created c1"},
           {CreateFailed{token, "cause", true}, "create failed: cause"},
           {Deleted{token}, "deleted"},
           {DeleteFailed{token, "cause"}, "delete failed: cause"},
           {FolderCleared{token}, "folder cleared"},
           {Observed{token, ExecutionState(Phase::kRunningOk)}, "observed Running(Ok)"},
           {TimerFired{token}, "timer fired"},
       })
    EXPECT_EQ(to_string(event), expected);
}

// A runtime with a mind of its own: what was asked is answered at some time, well or badly.
class World {
 public:
  explicit World(ControlLoop loop) : loop_(std::move(loop)) {}

  // An earlier run of the agent left a container behind.
  ContainerId leave_behind(const InstanceName& of) {
    const ContainerId id{"left behind"};
    folders_.insert(of);
    live_[id] = of;
    return id;
  }

  void tell(const Event& event) {
    if (ended_) return;
    for (const auto& effect : loop_.step(event, now_)) perform(effect);
  }

  void answer(bool well, bool leaves_something = false) {
    if (const auto create = std::exchange(create_, std::nullopt)) {
      if (create->reuse) live_.erase(*create->reuse);
      left_over_ = !well && leaves_something;  // what an earlier try left goes with the next one
      if (!well) return tell(CreateFailed{create->token, "cause", true, left_over_});
      const ContainerId id =
          create->reuse.value_or(ContainerId{"c" + std::to_string(++last_container_)});
      live_[id] = create->spec->instance();
      return tell(Created{create->token, id});
    }
    if (const auto remove = std::exchange(delete_, std::nullopt)) {
      if (!well) return tell(DeleteFailed{remove->token, "cause"});
      if (remove->container) live_.erase(*remove->container);
      left_over_ = false;
      return tell(Deleted{remove->token});
    }
    if (const auto clear = std::exchange(clear_, std::nullopt)) {
      if (clear->part == ClearFolder::Part::kAll) folders_.erase(clear->instance);
      return tell(FolderCleared{clear->token});
    }
    if (const auto timer = std::exchange(timer_, std::nullopt)) tell(TimerFired{*timer});
  }

  void observe(Phase phase) {
    if (watch_) tell(Observed{watch_->token, ExecutionState(phase)});
  }

  void wait(Duration duration) { now_ = now_ + duration; }

  void settle() {
    while (create_ || delete_ || clear_ || timer_) answer(true);
    observe(Phase::kRunningOk);
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const ControlLoop& loop() const { return loop_; }
  [[nodiscard]] const std::map<ContainerId, InstanceName>& live() const { return live_; }
  [[nodiscard]] const std::optional<Watch>& watch() const { return watch_; }
  [[nodiscard]] bool left_over() const { return left_over_; }
  [[nodiscard]] const std::set<InstanceName>& folders() const { return folders_; }
  [[nodiscard]] Phase last_report(const InstanceName& of) const {
    const auto report = reports_.find(of);
    return report == reports_.end() ? Phase::kRemoved : report->second;
  }

 private:
  void perform(const Effect& effect) {
    match(
        effect,
        [&](const CreateContainer& e) {
          RC_ASSERT_FALSE(create_.has_value());
          RC_ASSERT_FALSE(delete_.has_value());
          RC_ASSERT_FALSE(clear_.has_value());
          RC_ASSERT((live_.empty() || (e.reuse && live_.size() == 1 && live_.contains(*e.reuse))));
          if (!e.spec->workload().files.empty()) folders_.insert(e.spec->instance());
          create_ = e;
        },
        [&](const DeleteContainer& e) {
          RC_ASSERT_FALSE(create_.has_value());
          RC_ASSERT_FALSE(delete_.has_value());
          RC_ASSERT(e.container.has_value() != left_over_);
          RC_ASSERT((left_over_ || live_.contains(*e.container)));
          RC_ASSERT((left_over_ || live_.at(*e.container) == e.instance));
          delete_ = e;
        },
        [&](const ClearFolder& e) {
          RC_ASSERT_FALSE(create_.has_value());
          RC_ASSERT_FALSE(delete_.has_value());
          RC_ASSERT(live_.empty());
          clear_ = e;
        },
        [&](const Watch& e) {
          RC_ASSERT_FALSE(watch_.has_value());
          RC_ASSERT(live_.contains(e.container));
          watch_ = e;
        },
        [&](const Unwatch& e) {
          RC_ASSERT(watch_.has_value());
          RC_ASSERT(watch_->token == e.token);
          watch_.reset();
        },
        [&](const ArmTimer& e) { timer_ = e.token; },
        [&](const Report& e) {
          RC_ASSERT_FALSE(ended_);
          reports_[e.instance] = e.state.phase;
        },
        [&](const Ended&) { ended_ = true; });
  }

  ControlLoop loop_;
  Instant now_;
  bool ended_ = false;
  bool left_over_ = false;  // half a container, of which nobody knows the id
  int last_container_ = 0;
  std::optional<CreateContainer> create_;
  std::optional<DeleteContainer> delete_;
  std::optional<ClearFolder> clear_;
  std::optional<Token> timer_;
  std::optional<Watch> watch_;
  std::map<ContainerId, InstanceName> live_;
  std::set<InstanceName> folders_;  // of instances that were to have files
  std::map<InstanceName, Phase> reports_;
};

// Whatever is commanded and however the runtime answers: calls never overlap, there is never a second container, and
// once all is quiet the newest command holds, every other instance was reported as removed and has no folder any more.
TEST(ControlLoop, ReachesTheNewestCommandWithOneContainerAtATime) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& choices, std::uint8_t start) {
    const auto policy = static_cast<RestartPolicy>(start / 6 % 3);
    const bool is_left_behind = start % 6 == 5;
    World world(is_left_behind ? ControlLoop(1, instance("9"), "podman")
                               : ControlLoop(1, spec("9", policy)));
    std::set<std::string> ids{"9"};
    switch (start % 6) {
      case 5:
        world.tell(MakeRoom{world.leave_behind(instance("9"))});
        break;
      case 0:
        world.tell(Create{});
        break;
      case 1:
        world.tell(Create{world.leave_behind(instance("9"))});
        break;
      case 2:
        world.tell(Resume{world.leave_behind(instance("9"))});
        break;
      case 3:
        world.tell(Replace{instance("9"), world.leave_behind(instance("9"))});
        break;
      default:
        ids.insert("left");
        world.tell(Replace{instance("left"), world.leave_behind(instance("left"))});
    }
    for (const auto choice : choices) {
      const std::string id = std::to_string(choice / 16 % 10);
      world.wait(kLongEnoughToRestartAtOnce / 4 * (choice / 16 % 8));
      switch (choice % 8) {
        case 0:
          ids.insert(id);
          world.tell(Update{spec(id, policy)});
          break;
        case 1:
          world.tell(Delete{});
          break;
        case 2:
          world.observe(Phase::kSucceededOk);
          break;
        case 3:
          world.observe(Phase::kFailedExecFailed);
          break;
        case 4:
          world.answer(false, choice / 16 % 2 == 1);
          break;
        default:
          world.answer(true);
      }
    }
    world.settle();
    const WorkloadSpecPtr wanted = world.ended() ? nullptr : world.loop().wanted();
    for (const auto& id : ids) {
      const bool is_wanted = wanted != nullptr && wanted->instance() == instance(id);
      RC_ASSERT((world.last_report(instance(id)) == Phase::kRemoved) != is_wanted);
    }
    RC_ASSERT(world.live().size() == (wanted == nullptr ? 0U : 1U));
    RC_ASSERT_FALSE(world.left_over());
    for (const auto& folder : world.folders())
      RC_ASSERT((wanted != nullptr && wanted->instance() == folder) ||
                (wanted == nullptr && !world.ended()));
    if (wanted != nullptr) {
      RC_ASSERT(world.live().begin()->second == wanted->instance());
      RC_ASSERT(world.watch().has_value());
    }
  }));
}

}  // namespace
}  // namespace tiphys::workload
