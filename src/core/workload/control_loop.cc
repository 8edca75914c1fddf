#include "core/workload/control_loop.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/match.h"
#include "base/random.h"
#include "base/strings.h"

namespace tiphys::workload {
namespace {

constexpr std::string_view kTriggered = "Triggered at runtime.";

// [impl->swdd~workload-control-loop-restarts-workload-with-enabled-restart-policy~2]
// [impl->swdd~agent-supports-restart-policies~1]
bool restarts(RestartPolicy policy, Phase phase) {
  switch (policy) {
    case RestartPolicy::kNever:
      return false;
    case RestartPolicy::kOnFailure:
      return phase == Phase::kFailedExecFailed;
    case RestartPolicy::kAlways:
      return phase == Phase::kFailedExecFailed || phase == Phase::kSucceededOk;
  }
  return false;
}

// The words of the runtimes differ, and so do the texts that people look for.
std::string_view what_is_received_by(std::string_view runtime) {
  return runtime == "podman" || runtime == "containerd" ? "workload" : "manifest";
}

bool has_something_beside_it(const Workload& workload) {
  return !workload.files.empty() || needs_control_interface(workload);
}

void append(Effects& effects, Effects more) {
  std::move(more.begin(), more.end(), std::back_inserter(effects));
}

}  // namespace

ControlLoop::ControlLoop(LoopNumber number, WorkloadSpecPtr spec, Retries retries)
    : number_(number),
      retries_(retries),
      runtime_(spec->workload().runtime),
      instance_(spec->instance()),
      spec_(std::move(spec)) {}

ControlLoop::ControlLoop(LoopNumber number, InstanceName instance, std::string runtime,
                         Retries retries)
    : number_(number),
      retries_(retries),
      runtime_(std::move(runtime)),
      instance_(std::move(instance)),
      may_have_folder_(true) {}

Effects ControlLoop::step(const Event& event, Instant now) {
  TIPHYS_CHECK(stage_ != Stage::kEnded, "an ended loop is told nothing");
  const InstanceName before = instance_;
  Effects effects = handle(event, now);
  if (instance_ != before) last_report_.reset();
  for (const auto& effect : effects)
    if (const auto* said = std::get_if<Report>(&effect); said && said->instance == instance_)
      last_report_ = said->state;
  return effects;
}

Effects ControlLoop::handle(const Event& event, Instant now) {
  return match(
      event,
      // [impl->swdd~agent-workload-control-loop-executes-create~3]
      [&](const Create& e) { return start(e.reuse); },
      // [impl->swdd~agent-workload-control-loop-executes-resume~1]
      [&](const Resume& e) {
        may_have_folder_ = spec_ == nullptr || has_something_beside_it(spec_->workload());
        can_start_again_ = e.can_start_again;
        return watch(e.container, now);
      },
      // [impl->swdd~agent-delete-old-workload-without-sending-workload-states~1]
      [&](const Replace& e) {
        Target target{.spec = std::exchange(spec_, nullptr)};
        instance_ = e.left_behind;
        container_ = e.container;
        may_have_folder_ = true;
        silent_ = true;
        return leave_instance(std::move(target));
      },
      [&](const MakeRoom& e) {
        container_ = e.container;
        silent_ = true;
        return leave_instance(Target{});
      },
      // [impl->swdd~agent-delete-old-workload~2]
      [&](const Discard& e) {
        container_ = e.container;
        return leave_instance(Target{.ends = true});
      },
      // [impl->swdd~agent-workload-control-loop-executes-update~2]
      // [impl->swdd~agent-workload-control-loop-executes-update-delete-only~1]
      [&](const Update& e) { return command(Target{.spec = e.spec}); },
      // [impl->swdd~agent-workload-control-loop-executes-delete~2]
      [&](const Delete&) { return command(Target{.ends = true}); },
      [&](const Created& e) { return created(e, now); },
      [&](const CreateFailed& e) { return create_failed(e); },
      [&](const Deleted& e) { return deleted(e); },
      [&](const DeleteFailed& e) { return delete_failed(e); },
      [&](const FolderCleared& e) { return folder_cleared(e); },
      [&](const Observed& e) { return observed(e, now); },
      [&](const TimerFired& e) { return timer_fired(e); });
}

WorkloadSpecPtr ControlLoop::wanted() const {
  if (waiting_) return waiting_->spec;
  if (target_) return target_->spec;
  return spec_;
}

bool ControlLoop::speaks_of(const InstanceName& instance) const {
  const WorkloadSpecPtr spec = wanted();
  const bool has_nothing = stage_ == Stage::kSettled && spec_ == nullptr;
  return (spec != nullptr && spec->instance() == instance) ||
         (!has_nothing && instance_ == instance);
}

bool ControlLoop::has_given_up() const {
  return stage_ == Stage::kSettled && !container_ && spec_ != nullptr;
}

bool ControlLoop::lacks(const std::string& runtime, const InstanceName& instance) const {
  return has_given_up() && runtime == runtime_ && instance == instance_;
}

bool ControlLoop::may_own(const std::string& runtime, const InstanceName& instance,
                          const ContainerId& container) const {
  return runtime == runtime_ &&
         (container_ == container || (stage_ == Stage::kCreating && instance_ == instance));
}

// A new command ends every retry of the old spec: its timer becomes stale.
// [impl->swdd~agent-workload-control-loop-prevents-retries-on-other-workload-commands~1]
Effects ControlLoop::command(Target target) {
  Effects effects;
  next_restart_pause_ = {};
  if (const auto& newest = waiting_ ? waiting_ : target_)
    target.anew = newest->ends || newest->anew;
  else
    target.anew = began_anew_;
  if (silent_ && !replaces_quietly(target)) {
    silent_ = false;
    if (stage_ == Stage::kDeleting || stage_ == Stage::kClearing)
      effects.emplace_back(report(Phase::kStoppingRequestedAtRuntime));
  }
  switch (stage_) {
    case Stage::kCreating:
    case Stage::kDeleting:
    case Stage::kClearing:
      if (waiting_) skip(*waiting_, target, effects);
      waiting_ = std::move(target);
      return effects;
    case Stage::kBetweenDeletes:
      skip(*target_, target, effects);
      append(effects, leave_instance(std::move(target)));
      return effects;
    default:
      return leave_instance(std::move(target));
  }
}

// What was left behind goes without a word as long as a wanted instance takes its place. It is spoken of once nothing
// does, or when it is the very instance that a newer command turns away from.
bool ControlLoop::replaces_quietly(const Target& newer) const {
  return newer.spec != nullptr &&
         (target_->spec == nullptr || target_->spec->instance() != instance_);
}

// [impl->swdd~agent-workload-control-loop-update-broken-allowed~1]
// [impl->swdd~agent-workload-control-loop-delete-broken-allowed~1]
Effects ControlLoop::leave_instance(Target target) {
  Effects effects;
  target_ = std::move(target);
  if (!gone_ && !silent_) effects.emplace_back(report(Phase::kStoppingRequestedAtRuntime));
  append(effects, container_ || left_something_ ? delete_container() : clear_folder());
  return effects;
}

Effects ControlLoop::delete_container() {
  stage_ = Stage::kDeleting;
  awaited_ = new_token();
  return {DeleteContainer{awaited_, runtime_, instance_, container_}};
}

// The container is gone; so goes what was put beside it. What was left behind may have had anything.
Effects ControlLoop::clear_folder() {
  Effects effects;
  if (watch_) effects.emplace_back(Unwatch{*std::exchange(watch_, std::nullopt)});
  container_.reset();
  left_something_ = false;
  if (!may_have_folder_) {
    append(effects, arrive());
    return effects;
  }
  stage_ = Stage::kClearing;
  awaited_ = new_token();
  clearing_ = part_to_clear();
  effects.emplace_back(ClearFolder{awaited_, instance_, clearing_});
  return effects;
}

// The control interface of an instance that stays, or may come back, is not this loop's to take away.
ClearFolder::Part ControlLoop::part_to_clear() const {
  const Target& target = waiting_ ? *waiting_ : *target_;
  const bool other_comes = target.spec != nullptr && target.spec->instance() != instance_;
  return target.ends || other_comes ? ClearFolder::Part::kAll : ClearFolder::Part::kFiles;
}

Effects ControlLoop::folder_cleared(const FolderCleared& event) {
  if (stage_ != Stage::kClearing || event.token != awaited_) return {};
  if (part_to_clear() > clearing_) return clear_folder();
  may_have_folder_ = clearing_ == ClearFolder::Part::kFiles;
  return arrive();
}

// The instance is gone; go where the command leads to.
Effects ControlLoop::arrive() {
  Effects effects;
  Target target = *std::exchange(target_, std::nullopt);
  if (waiting_) {
    skip(target, *waiting_, effects);
    target = *std::exchange(waiting_, std::nullopt);
  }
  delete_pause_ = kFirstDeletePause;

  if (!gone_ && !silent_) effects.emplace_back(report(Phase::kRemoved));
  gone_ = gone_ || silent_;
  silent_ = false;
  if (target.ends) {
    stage_ = Stage::kEnded;
    effects.emplace_back(Ended{});
    return effects;
  }
  stage_ = Stage::kSettled;
  began_anew_ = target.anew && target.spec == nullptr;
  spec_ = std::move(target.spec);
  if (spec_ != nullptr) {
    instance_ = spec_->instance();
    if (target.anew) runtime_ = spec_->workload().runtime;
    append(effects, start(std::nullopt));
  }
  return effects;
}

// [impl->swdd~agent-workload-control-loop-reset-retry-attempts-on-update~1]
Effects ControlLoop::start(std::optional<ContainerId> reuse) {
  failures_ = 0;
  gone_ = false;
  if (has_something_beside_it(spec_->workload())) may_have_folder_ = true;
  Effects effects{report(Phase::kPendingStarting, std::string(kTriggered))};
  if (spec_->workload().runtime != runtime_) {
    stage_ = Stage::kSettled;
    effects.emplace_back(
        report(Phase::kPendingStartingFailed,
               concat("Received a ", what_is_received_by(runtime_), " for the wrong runtime: '",
                      spec_->workload().runtime, "'")));
    return effects;
  }
  append(effects, create(std::move(reuse)));
  return effects;
}

Effects ControlLoop::create(std::optional<ContainerId> reuse) {
  stage_ = Stage::kCreating;
  awaited_ = new_token();
  return {CreateContainer{awaited_, runtime_, spec_, std::move(reuse)}};
}

Effects ControlLoop::created(const Created& event, Instant now) {
  if (stage_ != Stage::kCreating || event.token != awaited_) return {};
  container_ = event.container;
  can_start_again_ = event.can_start_again;
  left_something_ = false;
  if (!waiting_) return watch(event.container, now);
  return leave_instance(*std::exchange(waiting_, std::nullopt));
}

// [impl->swdd~agent-workload-control-loop-retries-workload-creation-on-create-failure~1]
// [impl->swdd~agent-workload-control-loop-requests-retries-on-failing-retry-attempt~1]
// [impl->swdd~agent-workload-control-loop-limits-retry-attempts~1]
// [impl->swdd~agent-workload-control-loop-retry-limit-set-execution-state~2]
// [impl->swdd~agent-workload-control-loop-update-create-failed-allows-retry~1]
Effects ControlLoop::create_failed(const CreateFailed& event) {
  if (stage_ != Stage::kCreating || event.token != awaited_) return {};
  container_.reset();  // an ended container that could not be started again is gone too
  left_something_ = event.left_something;
  if (waiting_) return leave_instance(*std::exchange(waiting_, std::nullopt));
  stage_ = Stage::kSettled;
  if (!event.may_succeed_later) return {report(Phase::kPendingStartingFailed, event.cause)};
  ++failures_;
  if (!retries_.without_end && failures_ > kMaxRetries)
    return {report(Phase::kPendingStartingFailed, "No more retries: " + event.cause)};
  stage_ = Stage::kBetweenRetries;
  awaited_ = new_token();
  const std::string limit = retries_.without_end ? "" : " of " + std::to_string(kMaxRetries);
  return {report(Phase::kPendingStarting,
                 concat("Retry ", std::to_string(failures_), limit, ": ", event.cause)),
          ArmTimer{awaited_, pause_before_retry()}};
}

Duration ControlLoop::pause_before_retry() const {
  if (!retries_.without_end) return kRetryPause;
  Duration longest = kFirstRetryPause;
  for (int i = 1; i < failures_ && longest < kLongestRetryPause; ++i) longest *= 2;
  longest = std::min(longest, kLongestRetryPause);
  Random random(retries_.seed ^ awaited_);
  return Duration(
      static_cast<Duration::rep>(random.between(0, static_cast<std::uint64_t>(longest.count()))));
}

Effects ControlLoop::deleted(const Deleted& event) {
  if (stage_ != Stage::kDeleting || event.token != awaited_) return {};
  return clear_folder();
}

// The command is kept: a newer one may replace it, and the delete is tried again after a pause in
// any case. [impl->swdd~agent-workload-control-loop-update-delete-failed-allows-retry~1]
// [impl->swdd~agent-workload-control-loop-delete-failed-allows-retry~1]
Effects ControlLoop::delete_failed(const DeleteFailed& event) {
  if (stage_ != Stage::kDeleting || event.token != awaited_) return {};
  Effects effects;
  if (waiting_) {
    skip(*target_, *waiting_, effects);
    target_ = std::exchange(waiting_, std::nullopt);
    append(effects, delete_container());
    return effects;
  }
  if (silent_ && target_->spec != nullptr)
    effects.emplace_back(Report{
        target_->spec->instance(),
        ExecutionState(Phase::kPendingStarting,
                       "Waiting for the removal of " + to_string(instance_) + ": " + event.cause)});
  else if (!silent_)
    effects.emplace_back(report(Phase::kStoppingDeleteFailed, event.cause));
  stage_ = Stage::kBetweenDeletes;
  awaited_ = new_token();
  effects.emplace_back(ArmTimer{awaited_, delete_pause_});
  delete_pause_ = std::min(2 * delete_pause_, kLongestDeletePause);
  return effects;
}

// A watch that was ended, or one of an earlier instance, has nothing to say any more.
// [impl->swdd~workload-control-loop-receives-workload-states~1]
// [impl->swdd~workload-control-loop-checks-workload-state-validity~1]
// [impl->swdd~workload-control-loop-sends-workload-states~2]
// [impl->swdd~workload-control-loop-handles-workload-restarts~2]
Effects ControlLoop::observed(const Observed& event, Instant now) {
  if (watch_ != event.watch) return {};
  Effects effects{Report{instance_, event.state}};
  if (stage_ != Stage::kSettled && stage_ != Stage::kBetweenRestarts) return effects;
  if (spec_ == nullptr || !restarts(spec_->workload().restart_policy, event.state.phase)) {
    stage_ = Stage::kSettled;  // it is not as it was when the pause began
    return effects;
  }
  ended_well_ = event.state.phase == Phase::kSucceededOk;
  if (stage_ == Stage::kBetweenRestarts) return effects;
  const Duration pause = pause_before_restart(now);
  if (pause == Duration{}) {
    append(effects, restart());
    return effects;
  }
  stage_ = Stage::kBetweenRestarts;
  awaited_ = new_token();
  effects.emplace_back(ArmTimer{awaited_, pause});
  return effects;
}

// [impl->swdd~agent-workload-control-loop-executes-retry~1]
Effects ControlLoop::timer_fired(const TimerFired& event) {
  if (event.token != awaited_) return {};
  if (stage_ == Stage::kBetweenRetries) return create(std::nullopt);
  if (stage_ == Stage::kBetweenDeletes) return delete_container();
  if (stage_ == Stage::kBetweenRestarts) return restart();
  return {};
}

Effects ControlLoop::watch(const ContainerId& container, Instant now) {
  stage_ = Stage::kSettled;
  container_ = container;
  watched_since_ = now;
  watch_ = new_token();
  return {Watch{*watch_, runtime_, instance_, container}};
}

Duration ControlLoop::pause_before_restart(Instant now) {
  if (now - watched_since_ >= kLongEnoughToRestartAtOnce) next_restart_pause_ = {};
  const Duration pause = next_restart_pause_;
  next_restart_pause_ = std::clamp(2 * pause, kFirstRestartPause, kLongestRestartPause);
  return pause;
}

// After success the same container is started again, where the runtime can do so; else a new one takes its place.
// [impl->swdd~workload-control-loop-restarts-workloads-using-update~1]
Effects ControlLoop::restart() {
  if (!ended_well_ || !can_start_again_) return leave_instance(Target{.spec = spec_});
  Effects effects{Unwatch{*std::exchange(watch_, std::nullopt)}};
  append(effects, start(container_));
  return effects;
}

Report ControlLoop::report(Phase phase, std::string info) const {
  return Report{instance_, ExecutionState(phase, std::move(info))};
}

void ControlLoop::skip(const Target& skipped, const Target& newer, Effects& effects) const {
  if (skipped.spec == nullptr) return;
  const InstanceName& instance = skipped.spec->instance();
  const bool comes_later = newer.spec != nullptr && newer.spec->instance() == instance;
  // The instance that is being taken away has its own end.
  if (!comes_later && instance != instance_)
    effects.emplace_back(Report{instance, ExecutionState(Phase::kRemoved)});
}

Token ControlLoop::new_token() { return (Token{number_} << 32U) | ++last_token_; }

std::string to_string(const Event& event) {
  return match(
      event,
      [](const Create& e) {
        return e.reuse ? "create from " + e.reuse->value : std::string("create");
      },
      [](const Resume& e) { return "resume " + e.container.value; },
      [](const Replace& e) { return "replace " + to_string(e.left_behind); },
      [](const MakeRoom& e) { return "make room, take away " + e.container.value; },
      [](const Discard& e) { return "discard " + e.container.value; },
      [](const Update& e) {
        return e.spec ? "update to " + to_string(e.spec->instance()) : "update to nothing";
      },
      [](const Delete&) { return std::string("delete"); },
      [](const Created& e) { return "created " + e.container.value; },
      [](const CreateFailed& e) { return "create failed: " + e.cause; },
      [](const Deleted&) { return std::string("deleted"); },
      [](const DeleteFailed& e) { return "delete failed: " + e.cause; },
      [](const FolderCleared&) { return std::string("folder cleared"); },
      [](const Observed& e) { return "observed " + to_string(e.state); },
      [](const TimerFired&) { return std::string("timer fired"); });
}

std::string to_string(const Effect& effect) {
  return match(
      effect,
      [](const CreateContainer& e) {
        return concat("create ", to_string(e.spec->instance()), e.reuse ? " from " : "",
                      e.reuse ? e.reuse->value : "");
      },
      [](const DeleteContainer& e) {
        return concat("delete ", e.container ? e.container->value : to_string(e.instance));
      },
      [](const ClearFolder& e) {
        return concat("clear ", e.part == ClearFolder::Part::kAll ? "folder of " : "files of ",
                      to_string(e.instance));
      },
      [](const Watch& e) { return concat("watch ", e.container.value); },
      [](const Unwatch&) { return std::string("unwatch"); },
      [](const ArmTimer& e) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(e.after);
        return concat("timer +", std::to_string(ms.count()), "ms");
      },
      [](const Report& e) {
        return concat("report ", to_string(e.instance), " ", to_string(e.state));
      },
      [](const Ended&) { return std::string("ended"); });
}

}  // namespace tiphys::workload
