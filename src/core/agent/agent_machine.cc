#include "core/agent/agent_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/match.h"
#include "base/strings.h"

namespace tiphys::agent {
namespace {

// The token that says which loop an event is for; commands carry none and never come from outside.
std::optional<Token> token_of(const workload::Event& event) {
  return match(
      event, [](const workload::Created& e) { return std::optional(e.token); },
      [](const workload::CreateFailed& e) { return std::optional(e.token); },
      [](const workload::Deleted& e) { return std::optional(e.token); },
      [](const workload::DeleteFailed& e) { return std::optional(e.token); },
      [](const workload::Observed& e) { return std::optional(e.watch); },
      [](const workload::TimerFired& e) { return std::optional(e.token); },
      [](const auto&) { return std::optional<Token>(); });
}

}  // namespace

AgentMachine::AgentMachine(Settings settings) : settings_(std::move(settings)) {}

// [impl->swdd~agent-manager-listens-requests-from-server~1]
Effects AgentMachine::step(const Event& event, Instant now) {
  match(
      event, [&](const Connected&) { connected(now); },
      [&](const Disconnected&) { disconnected(now); },
      [&](const Received& e) { received(e.message, now); },
      [&](const Listed& e) { listing_answered(e.token, e.found, now); },
      // [impl->swdd~agent-existing-workloads-finds-list~1]
      [&](const ListFailed& e) {
        has_failed_to_list_ = true;
        effects_.emplace_back(
            Warn{concat("Could not get reusable running workloads: '", e.cause, "'")});
        listing_answered(e.token, {}, now);
      },
      [&](const ForLoop& e) { for_loop(e.event, now); },
      [&](const LoadSampled& e) {
        unsent_load_ = e.status;
        if (connected_)
          send(AgentLoadStatus{settings_.name.value, *std::exchange(unsent_load_, std::nullopt)});
      });
  return std::exchange(effects_, {});
}

void AgentMachine::connected(Instant now) {
  connected_ = true;
  UpdateWorkloadState removals;
  for (auto& tombstone : tombstones_) {
    removals.states.push_back({tombstone.instance, ExecutionState(Phase::kRemoved)});
    tombstone.sent = now;
  }
  if (!removals.states.empty()) send(std::move(removals));
  if (unsent_load_)
    send(AgentLoadStatus{settings_.name.value, *std::exchange(unsent_load_, std::nullopt)});
}

void AgentMachine::disconnected(Instant now) {
  connected_ = false;
  arrival_.reset();  // the next ServerHello is complete again
  std::erase_if(tombstones_, [&](const Tombstone& tombstone) {
    return tombstone.sent && now - *tombstone.sent >= kReportCertainlyArrived;
  });
}

void AgentMachine::received(const FromServer& message, Instant now) {
  match(
      message, [&](const ServerHello& m) { server_hello(m, now); },
      // [impl->swdd~agent-handles-update-workload-requests~1]
      [&](const UpdateWorkload& m) {
        if (arrival_)
          arrival_->held_back.push_back(m);
        else
          update_workload(m, now);
      },
      // [impl->swdd~agent-manager-stores-all-workload-states~1]
      [&](const UpdateWorkloadState& m) {
        for (const auto& state : m.states)
          if (state.instance.agent != settings_.name) states_.update(state);
      },
      [](const StatesOfOthers&) {},  // an UpdateWorkloadState, once it was sent
      [&](const Response&) {
        effects_.emplace_back(Warn{"Received a response that no workload asked for."});
      },
      [&](const LinkLogsRequest& m) {
        effects_.emplace_back(
            Warn{concat("Log collection is not supported by this version: '", m.request_id, "'")});
        for (const auto& instance : m.request.instances)
          send(LinkLogsStop{m.request_id, LogsStopResponse{instance}});
      },
      [&](const LinkLogsCancel&) {});
}

// [impl->swdd~agent-initial-list-existing-workloads~1]
void AgentMachine::server_hello(const ServerHello& hello, Instant now) {
  arrival_.emplace();
  for (const auto& spec : hello.added)
    arrival_->wanted.insert_or_assign(spec->instance().workload.value, spec);
  for (const auto& [name, loop] : roster_) arrival_->managed.insert(name);
  for (const auto& [token, container] : leaving_) arrival_->leaving.insert(container.container);
  arrival_->awaited = list_all_runtimes();
  if (arrival_->awaited.empty()) finish_arrival(now);
}

// [impl->swdd~agent-existing-workloads-finds-list~1]
// [impl->swdd~agent-facade-forwards-list-reusable-workloads-call~1]
std::set<Token> AgentMachine::list_all_runtimes() {
  std::set<Token> awaited;
  for (const auto& runtime : settings_.runtimes) {
    const Token token = new_token();
    awaited.insert(token);
    effects_.emplace_back(ListWorkloads{token, runtime});
  }
  return awaited;
}

void AgentMachine::listing_answered(Token token, const std::vector<FoundWorkload>& found,
                                    Instant now) {
  sweep_answered(token, found, now);
  if (!arrival_ || arrival_->awaited.erase(token) == 0) return;
  arrival_->found.insert(arrival_->found.end(), found.begin(), found.end());
  if (arrival_->awaited.empty()) finish_arrival(now);
}

void AgentMachine::finish_arrival(Instant now) {
  Arrival arrival = *std::exchange(arrival_, std::nullopt);

  // The server forgot the states of this agent when it lost it.
  UpdateWorkloadState known{states_.of_agent(settings_.name)};
  if (!known.states.empty()) send(std::move(known));

  std::vector<std::string> managed;
  managed.reserve(roster_.size());
  for (const auto& [name, loop] : roster_) managed.push_back(name);

  const auto action_for = [&](const FoundWorkload& found) {
    const auto wanted = arrival.wanted.find(found.instance.workload.value);
    return harmonise(
        wanted_for(found, wanted == arrival.wanted.end() ? nullptr : wanted->second.get()),
        found_as(found));
  };
  std::stable_sort(arrival.found.begin(), arrival.found.end(),
                   [&](const auto& a, const auto& b) { return action_for(a) < action_for(b); });
  for (const auto& found : arrival.found) adopt(found, arrival, now);

  for (const auto& name : managed) {
    Loop& loop = *roster_.at(name);
    const auto wanted = arrival.wanted.find(name);
    if (wanted == arrival.wanted.end()) {
      if (loop.wanted() != nullptr) tell(loop, workload::Delete{}, now);
    } else if (loop.wanted() == nullptr || !(*loop.wanted() == *wanted->second)) {
      change(loop, wanted->second, now);
    }
  }
  // [impl->swdd~agent-existing-workloads-starts-new-if-not-found~1]
  for (const auto& [name, spec] : arrival.wanted)
    if (!roster_.contains(name)) add(spec, now);
  for (const auto& update : arrival.held_back) update_workload(update, now);
  arm_sweep();
}

// [impl->swdd~agent-resume-workload~2]
void AgentMachine::adopt(const FoundWorkload& found, const Arrival& arrival, Instant now) {
  const std::string& name = found.instance.workload.value;
  const auto managed = roster_.find(name);
  const auto entry = arrival.wanted.find(name);
  const WorkloadSpecPtr spec = entry == arrival.wanted.end() ? nullptr : entry->second;
  const Action action = harmonise(wanted_for(found, spec.get()), found_as(found));
  // What a loop has in hand is its own business; another container of a wanted or managed name is surplus.
  if (is_ours(found) || is_leaving(found)) return;
  const bool may_be_gone =
      arrival.managed.contains(name) || arrival.leaving.contains(found.container);
  if (managed != roster_.end() || may_be_gone || (action == Action::kDiscard && spec != nullptr)) {
    take_away(found);
    return;
  }
  switch (action) {
    case Action::kResume:
      tell(open_loop(std::make_unique<Loop>(++last_loop_, spec)), workload::Resume{found.container},
           now);
      break;
    case Action::kReuse:
      tell(open_loop(std::make_unique<Loop>(++last_loop_, spec)), workload::Create{found.container},
           now);
      break;
    case Action::kReplace:
      tell(open_loop(std::make_unique<Loop>(++last_loop_, spec)),
           workload::Replace{found.instance, found.container}, now);
      break;
    case Action::kDiscard:
      tell(open_loop(std::make_unique<Loop>(++last_loop_, found.instance, found.runtime)),
           workload::Discard{found.container}, now);
      break;
  }
}

bool AgentMachine::is_ours(const FoundWorkload& found) const {
  const auto managed = roster_.find(found.instance.workload.value);
  return managed != roster_.end() &&
         managed->second->may_own(found.runtime, found.instance, found.container);
}

// What nobody wants is taken away until it is gone; meanwhile it is not adopted any more.
void AgentMachine::take_away(const FoundWorkload& found) {
  if (!is_leaving(found)) delete_leaving(found);
}

void AgentMachine::delete_leaving(const FoundWorkload& found) {
  const Token token = new_token();
  leaving_.emplace(token, found);
  effects_.emplace_back(
      workload::DeleteContainer{token, found.runtime, found.instance, found.container});
}

bool AgentMachine::is_leaving(const FoundWorkload& found) const {
  return std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& entry) {
    return entry.second.runtime == found.runtime && entry.second.container == found.container;
  });
}

bool AgentMachine::is_leaving(const InstanceName& instance) const {
  return std::any_of(leaving_.begin(), leaving_.end(),
                     [&](const auto& entry) { return entry.second.instance == instance; });
}

// What is gone is reported when no loop speaks for that instance: the server may still have a state of it.
void AgentMachine::leaving_answered(const workload::Event& event, Token token, Instant now) {
  const auto entry = leaving_.find(token);
  if (entry == leaving_.end()) return;
  const FoundWorkload found = entry->second;
  leaving_.erase(entry);
  if (std::holds_alternative<workload::DeleteFailed>(event)) {
    const Token timer = new_token();
    leaving_.emplace(timer, found);
    effects_.emplace_back(workload::ArmTimer{timer, workload::kFirstDeletePause});
  } else if (std::holds_alternative<workload::TimerFired>(event)) {
    delete_leaving(found);
  } else {
    const auto managed = roster_.find(found.instance.workload.value);
    const auto speaks = [&](const Loop& loop) {
      return loop.instance() == found.instance ||
             (loop.wanted() != nullptr && loop.wanted()->instance() == found.instance);
    };
    if (managed == roster_.end() || !speaks(*managed->second))
      report(found.instance, ExecutionState(Phase::kRemoved), now);
  }
}

void AgentMachine::arm_sweep() {
  sweep_timer_ = new_token();
  effects_.emplace_back(
      workload::ArmTimer{sweep_timer_, has_failed_to_list_ ? kSweepAfterFailure : kSweepPeriod});
}

void AgentMachine::sweep() {
  has_failed_to_list_ = false;
  sweep_awaited_ = list_all_runtimes();
  if (sweep_awaited_.empty()) arm_sweep();
}

void AgentMachine::sweep_answered(Token token, const std::vector<FoundWorkload>& found,
                                  Instant now) {
  if (sweep_awaited_.erase(token) == 0) return;
  // While a server's list is waiting for its own listings, a container of no loop may be about to get one.
  if (!arrival_)
    for (const auto& container : found) {
      const auto managed = roster_.find(container.instance.workload.value);
      if (managed != roster_.end() && found_as(container) == Found::kRunning &&
          managed->second->lacks(container.runtime, container.instance) && !is_leaving(container))
        tell(*managed->second, workload::Resume{container.container}, now);
      else if (!is_ours(container))
        take_away(container);
    }
  if (sweep_awaited_.empty()) arm_sweep();
}

// [impl->swdd~agent-transforms-update-workload-message-to-workload-operations~1]
// [impl->swdd~agent-handle-deleted-before-added-workloads~1]
// [impl->swdd~agent-updates-deleted-and-added-workloads~1]
void AgentMachine::update_workload(const UpdateWorkload& update, Instant now) {
  std::map<std::string, WorkloadSpecPtr> added;
  for (const auto& spec : update.added)
    added.insert_or_assign(spec->instance().workload.value, spec);
  for (const auto& deleted : update.deleted)
    if (!added.contains(deleted.instance.workload.value)) remove(deleted, now);
  for (const auto& [name, spec] : added)
    if (const auto managed = roster_.find(name); managed != roster_.end())
      change(*managed->second, spec, now);
  // [impl->swdd~agent-add-on-update-missing-workload~1]
  // [impl->swdd~agent-added-creates-workload~1]
  for (const auto& [name, spec] : added)
    if (!roster_.contains(name)) add(spec, now);
}

void AgentMachine::for_loop(const workload::Event& event, Instant now) {
  const auto token = token_of(event);
  if (!token) return;
  if (std::holds_alternative<workload::TimerFired>(event) && *token == sweep_timer_) {
    sweep();
    return;
  }
  leaving_answered(event, *token, now);
  const auto loop = loops_.find(workload::loop_of(*token));
  if (loop != loops_.end()) tell(*loop->second, event, now);
}

// What a user asked for and this version does not do is not passed over in silence.
void AgentMachine::warn_of_missing_parts(const WorkloadSpec& spec) {
  const Workload& workload = spec.workload();
  for (const auto& [is_there, part] :
       {std::pair{!workload.dependencies.empty(), "dependencies"},
        std::pair{!workload.files.empty(), "files"},
        std::pair{needs_control_interface(workload), "controlInterfaceAccess rules"}})
    if (is_there)
      effects_.emplace_back(Warn{concat("Workload '", spec.instance().workload.value, "': ", part,
                                        " are not supported by this version and left out.")});
}

// [impl->swdd~agent-create-workload~1]
// [impl->swdd~agent-executes-create-workload-operation~1]
void AgentMachine::add(WorkloadSpecPtr spec, Instant now) {
  warn_of_missing_parts(*spec);
  tell(open_loop(std::make_unique<Loop>(++last_loop_, std::move(spec))), workload::Create{}, now);
}

// [impl->swdd~agent-executes-update-workload-operation~1]
// [impl->swdd~agent-update-on-add-known-workload~1]
void AgentMachine::change(Loop& loop, WorkloadSpecPtr spec, Instant now) {
  warn_of_missing_parts(*spec);
  tell(loop, workload::Update{std::move(spec)}, now);
}

// [impl->swdd~agent-deletes-workload~1]
// [impl->swdd~agent-executes-delete-workload-operation~1]
void AgentMachine::remove(const DeletedWorkload& deleted, Instant now) {
  const auto managed = roster_.find(deleted.instance.workload.value);
  if (managed == roster_.end()) {
    report(deleted.instance, ExecutionState(Phase::kRemoved), now);
    return;
  }
  tell(*managed->second, workload::Delete{}, now);
}

// [impl->swdd~agent-stores-running-workload~1]
AgentMachine::Loop& AgentMachine::open_loop(std::unique_ptr<Loop> loop) {
  Loop& opened = *loop;
  loops_.emplace(opened.number(), &opened);
  const bool fresh = roster_.emplace(opened.instance().workload.value, std::move(loop)).second;
  TIPHYS_CHECK(fresh, "a workload name has one control loop");
  return opened;
}

void AgentMachine::tell(Loop& loop, const workload::Event& event, Instant now) {
  perform(loop, loop.step(event, now), now);
}

void AgentMachine::perform(Loop& loop, workload::Effects effects, Instant now) {
  for (auto& effect : effects) {
    match(
        effect, [&](workload::Report& e) { report(e.instance, e.state, now); },
        // [impl->swdd~agent-supports-multiple-runtime-connectors~1]
        // [impl->swdd~agent-uses-specified-runtime~1]
        // [impl->swdd~agent-skips-unknown-runtime~1]
        [&](workload::CreateContainer& e) {
          if (settings_.runtimes.contains(e.runtime))
            effects_.emplace_back(std::move(e));
          else
            tell(loop, workload::CreateFailed{e.token, "Unsupported Runtime", false}, now);
        },
        [&](workload::Ended&) {
          const std::string name = loop.instance().workload.value;
          loops_.erase(loop.number());
          roster_.erase(name);
        },
        [&](auto& e) { effects_.emplace_back(std::move(e)); });
  }
}

// [impl->swdd~agent-manager-receives-workload-states-of-its-workloads~1]
// [impl->swdd~agent-manager-hysteresis_on-workload-states-of-its-workloads~1]
// [impl->swdd~agent-stores-workload-states-of-its-workloads~1]
// [impl->swdd~agent-sends-workload-states-of-its-workloads-to-server~2]
void AgentMachine::report(const InstanceName& instance, const ExecutionState& state, Instant now) {
  // An instance of which a container is still being taken away is not gone yet; its end says so.
  if (state.phase == Phase::kRemoved && is_leaving(instance)) return;
  const ExecutionState* stored = states_.find(instance);
  const WorkloadState next{instance, stored == nullptr ? state : transition(*stored, state)};
  states_.update(next);
  std::erase_if(tombstones_, [&](const Tombstone& tombstone) {
    return tombstone.instance == instance ||
           (connected_ && tombstone.sent && now - *tombstone.sent >= kReportCertainlyArrived);
  });
  if (next.state.phase == Phase::kRemoved)
    tombstones_.push_back({instance, connected_ ? std::optional(now) : std::nullopt});
  if (connected_) send(UpdateWorkloadState{{next}});
}

// [impl->swdd~agent-shall-use-interfaces-to-server~1]
void AgentMachine::send(ToServer message) { effects_.emplace_back(Send{std::move(message)}); }

Token AgentMachine::new_token() { return ++last_token_; }

std::string to_string(const Event& event) {
  return match(
      event, [](const Connected&) { return std::string("connected"); },
      [](const Disconnected&) { return std::string("disconnected"); },
      [](const Received& e) { return "received " + summary(e.message); },
      [](const Listed& e) {
        return concat("listed ", std::to_string(e.found.size()), " containers");
      },
      [](const ListFailed& e) { return "list failed: " + e.cause; },
      [](const ForLoop& e) { return to_string(e.event); },
      [](const LoadSampled&) { return std::string("load sampled"); });
}

std::string to_string(const Effect& effect) {
  return match(
      effect, [](const Send& e) { return "send " + summary(e.message); },
      [](const ListWorkloads& e) { return "list " + e.runtime; },
      [](const Warn& e) { return "warn " + e.text; },
      [](const auto& e) { return to_string(workload::Effect(e)); });
}

}  // namespace tiphys::agent
