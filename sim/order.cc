#include "sim/order.h"

#include <algorithm>

#include "base/match.h"
#include "base/strings.h"
#include "core/agent/dependency_queue.h"

namespace tiphys::sim {

void OrderChecker::forget() {
  wanted_.clear();
  deletions_.clear();
  last_.clear();
  had_.clear();
  now_ = {};
}

void OrderChecker::received(const FromServer& message) {
  match(
      message,
      [&](const ServerHello& m) {
        deletions_.clear();
        // An instance that is wanted as before is kept, and with it what was decided about its start.
        for (const auto& spec : m.added)
          if (!may_start_already(*spec)) want(spec);
      },
      [&](const UpdateWorkload& m) {
        for (const auto& deleted : m.deleted)
          if (const auto wanted = wanted_.find(deleted.instance); wanted != wanted_.end())
            wanted->second.was_deleted = true;
        for (const auto& spec : m.added) {
          want(spec);
          deletions_.erase(spec->instance().workload.value);
        }
        for (const auto& deleted : m.deleted)
          deletions_.insert_or_assign(deleted.instance.workload.value,
                                      Deletion{deleted, agent::may_delete(deleted, now_)});
      },
      [](const auto&) {});
}

bool OrderChecker::may_start_already(const WorkloadSpec& spec) const {
  const auto wanted = wanted_.find(spec.instance());
  return wanted != wanted_.end() && wanted->second.could_start && !wanted->second.was_deleted &&
         *wanted->second.specs.back() == spec;
}

void OrderChecker::want(const WorkloadSpecPtr& spec) {
  Wanted& wanted = wanted_[spec->instance()];
  wanted.specs.push_back(spec);
  wanted.could_start = agent::may_create(*spec, now_);
  wanted.was_deleted = false;
}

// What is said in one step is said in the order in which it came to be; what was heard in that step is in `known`, together
// with all that is said in it.
void OrderChecker::reported(const WorkloadState& state, const WorkloadStates& known) {
  now_.update(state);
  consider(now_);
  consider(known);
  const auto last = last_.find(state.instance);
  const bool is_first = last == last_.end();
  const Phase before = is_first ? Phase::kPendingInitial : last->second.phase;
  if (state.state.phase == Phase::kPendingStarting &&
      state.state.additional_info == "Triggered at runtime." &&
      (is_first || before == Phase::kPendingWaitingToStart))
    check_start(state.instance, known);
  if (state.state.phase == Phase::kStoppingRequestedAtRuntime &&
      before == Phase::kStoppingWaitingToStop)
    check_stop(state.instance, known);
  last_.insert_or_assign(state.instance, state.state);
  if (state.state.phase != Phase::kPendingWaitingToStart && state.state.phase != Phase::kRemoved)
    had_.insert(state.instance);
}

void OrderChecker::look_at(const WorkloadStates& known) {
  if (known == now_) return;
  now_ = known;
  consider(now_);
}

// The workloads of others as they were heard of, its own as far as it has spoken of them in this step.
void OrderChecker::consider_heard(const WorkloadStates& known) {
  const AgentName own{agent_};
  WorkloadStates heard;
  for (const auto& state : now_.of_agent(own)) heard.update(state);
  for (const auto& state : known.of_all_but(own)) heard.update(state);
  consider(heard);
}

void OrderChecker::consider(const WorkloadStates& states) {
  for (auto& [workload, deletion] : deletions_)
    deletion.could_stop = deletion.could_stop || agent::may_delete(deletion.deleted, states);
  for (auto& [instance, wanted] : wanted_)
    wanted.could_start =
        wanted.could_start ||
        std::any_of(wanted.specs.begin(), wanted.specs.end(),
                    [&](const WorkloadSpecPtr& spec) { return agent::may_create(*spec, states); });
}

void OrderChecker::check_start(const InstanceName& instance, const WorkloadStates& known) {
  const auto wanted = wanted_.find(instance);
  if (wanted == wanted_.end()) return;
  if (!wanted->second.specs.back()->workload().dependencies.empty())
    world_.count("started after its dependencies");
  if (!wanted->second.could_start) consider_heard(known);
  if (!wanted->second.could_start)
    world_.fail(concat(agent_, " starts ", to_string(instance), " before what it depends on"));
}

// A restart policy may stop what waits to be deleted whenever it likes.
void OrderChecker::check_stop(const InstanceName& instance, const WorkloadStates& known) {
  const auto wanted = wanted_.find(instance);
  const auto deletion = deletions_.find(instance.workload.value);
  const bool may_restart =
      wanted == wanted_.end() ||
      std::any_of(wanted->second.specs.begin(), wanted->second.specs.end(),
                  [](const WorkloadSpecPtr& spec) {
                    return spec->workload().restart_policy != RestartPolicy::kNever;
                  });
  if (may_restart || deletion == deletions_.end() || deletion->second.deleted.instance != instance)
    return;
  world_.count("stopped after its dependents");
  if (!deletion->second.could_stop) consider_heard(known);
  if (!deletion->second.could_stop)
    world_.fail(concat(agent_, " stops ", to_string(instance), " before what depends on it"));
}

bool OrderChecker::is_held(const InstanceName& instance, const WorkloadStates& known) const {
  const auto deletion = deletions_.find(instance.workload.value);
  return deletion != deletions_.end() && !agent::may_delete(deletion->second.deleted, known);
}

}  // namespace tiphys::sim
