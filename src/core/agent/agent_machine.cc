#include "core/agent/agent_machine.h"

#include <algorithm>
#include <type_traits>
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
      [](const workload::FolderCleared& e) { return std::optional(e.token); },
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
      [&](const Disconnected& e) { disconnected(e.cleanly, now); },
      [&](const Received& e) { received(e.message, now); },
      [&](const Listed& e) { listing_answered(e.token, e.found, now); },
      [&](const ListFailed& e) { listing_failed(e, now); },
      [&](const ForLoop& e) { for_loop(e.event, now); },
      [&](const ForInterface& e) { perform(interfaces_.told(e.number, e.event)); },
      [&](const LoadSampled& e) {
        unsent_load_ = e.status;
        if (connected_)
          send(AgentLoadStatus{settings_.name.value, *std::exchange(unsent_load_, std::nullopt)});
      },
      [&](const LogsArrived& e) { perform(logs_.arrived(e.fetch, e.lines)); },
      [&](const LogsEnded& e) { perform(logs_.ended(e.fetch, e.cause)); },
      [&](const LogsSent& e) { perform(logs_.sent(e.receipt)); });
  reconsider_waiting(now);
  return std::exchange(effects_, {});
}

void AgentMachine::connected(Instant now) {
  connected_ = true;
  announced_.emplace();
  UpdateWorkloadState removals;
  for (auto& [instance, sent] : tombstones_) {
    removals.states.push_back({instance, ExecutionState(Phase::kRemoved)});
    sent = now;
  }
  if (!removals.states.empty()) send(std::move(removals));
  std::map<std::uint64_t, InstanceName> in_order;
  for (const auto& [instance, when] : std::exchange(changed_while_away_, {}))
    in_order.emplace(when, instance);
  for (const auto& [when, instance] : in_order)
    if (const ExecutionState* state = states_.find(instance))
      send(UpdateWorkloadState{{{instance, *state}}});
  perform(interfaces_.connected());
  if (unsent_load_)
    send(AgentLoadStatus{settings_.name.value, *std::exchange(unsent_load_, std::nullopt)});
  perform(logs_.connected());
}

void AgentMachine::disconnected(bool cleanly, Instant now) {
  connected_ = false;
  interfaces_.disconnected();
  if (!cleanly) held_logs_.clear();
  perform(logs_.disconnected(cleanly));
  arrival_.reset();  // the next ServerHello is complete again
  clear_tombstones(now);
}

void AgentMachine::clear_tombstones(Instant now) {
  std::erase_if(tombstones_, [&](const auto& tombstone) {
    return tombstone.second && now - *tombstone.second >= kReportCertainlyArrived;
  });
  tombstones_cleared_ = now;
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
      // [impl->swdd~agent-handles-update-workload-state-requests~1]
      [&](const UpdateWorkloadState& m) {
        for (const auto& state : m.states)
          if (state.instance.agent != settings_.name) {
            states_.update(state);
            with_news_.insert(state.instance.workload.value);
            if (announced_) announced_->insert(state.instance);
          }
      },
      [](const StatesOfOthers&) {},  // an UpdateWorkloadState, once it was sent
      [&](const Response& m) { perform(interfaces_.respond(m)); },
      [&](const LinkLogsRequest& m) {
        if (arrival_)
          held_logs_.insert_or_assign(m.request_id, m);
        else
          request_logs(m);
      },
      [&](const LinkLogsCancel& m) {
        held_logs_.erase(m.request_id);
        perform(logs_.cancel(m.request_id));
      });
}

// [impl->swdd~agent-initial-list-existing-workloads~1]
void AgentMachine::server_hello(const ServerHello& hello, Instant now) {
  forget_states_of_others();
  arrival_.emplace();
  arrival_->began = now;
  for (const auto& spec : hello.added)
    arrival_->wanted.insert_or_assign(spec->instance().workload.value, spec);
  for (const auto& [name, loop] : roster_) arrival_->managed.insert(name);
  for (const auto& [token, container] : leaving_) arrival_->leaving.insert(container.container);
  arrival_->awaited = list_all_runtimes();
  if (arrival_->awaited.empty()) finish_arrival(now);
}

// [impl->swdd~agent-existing-workloads-finds-list~1]
// [impl->swdd~agent-facade-forwards-list-reusable-workloads-call~1]
AgentMachine::Listings AgentMachine::list_all_runtimes() {
  Listings awaited;
  for (const auto& runtime : settings_.runtimes) {
    const Token token = new_token();
    awaited.emplace(token, runtime);
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

// A runtime that cannot say what it has counts as empty, and what it has after all may be made anew. So the server's list
// waits a little for a second answer; for one that was long in coming, everything else has waited long enough.
// [impl->swdd~agent-existing-workloads-finds-list~1]
void AgentMachine::listing_failed(const ListFailed& failure, Instant now) {
  effects_.emplace_back(
      Warn{concat("Could not get reusable running workloads: '", failure.cause, "'")});
  if (arrival_ && arrival_->awaited.contains(failure.token) &&
      now - arrival_->began < kListAgainWithin &&
      arrival_->asked_again.insert(failure.token).second) {
    effects_.emplace_back(workload::ArmTimer{failure.token, kListAgain});
    return;
  }
  has_failed_to_list_ = true;
  listing_answered(failure.token, {}, now);
}

void AgentMachine::finish_arrival(Instant now) {
  Arrival arrival = *std::exchange(arrival_, std::nullopt);

  // The server forgot the states of this agent when it lost it. What is about to change is told by the change.
  UpdateWorkloadState known;
  for (const auto& state : states_.of_agent(settings_.name)) {
    const std::string& name = state.instance.workload.value;
    const Loop* loop = loop_of(name);
    const bool goes =
        !arrival.wanted.contains(name) && loop != nullptr && loop->wanted() != nullptr;
    if (!goes && !queue_.waits(name)) known.states.push_back(state);
  }
  if (!known.states.empty()) send(std::move(known));

  std::vector<std::string> managed;
  managed.reserve(roster_.size());
  for (const auto& [name, loop] : roster_) managed.push_back(name);

  // What waits without a loop and is not wanted any more goes before a container of its name is looked at.
  std::vector<Operation> called_off;
  for (const auto& name : queue_.names())
    if (!arrival.wanted.contains(name) && !roster_.contains(name))
      called_off.emplace_back(DeleteWorkload{{queue_.waiting_instance(name), {}}});
  schedule(std::move(called_off), now);

  const auto action_for = [&](const FoundWorkload& found) {
    const auto wanted = arrival.wanted.find(found.instance.workload.value);
    return harmonise(
        wanted_for(found, wanted == arrival.wanted.end() ? nullptr : wanted->second.get()),
        found_as(found));
  };
  std::stable_sort(arrival.found.begin(), arrival.found.end(),
                   [&](const auto& a, const auto& b) { return action_for(a) < action_for(b); });
  for (const auto& found : arrival.found) adopt(found, arrival, now);

  std::vector<Operation> operations = std::move(arrival.operations);
  for (const auto& name : managed) {
    Loop& loop = *roster_.at(name);
    const auto wanted = arrival.wanted.find(name);
    if (wanted == arrival.wanted.end()) {
      if (loop.wanted() != nullptr || queue_.waits(name))
        operations.emplace_back(DeleteWorkload{{loop.instance(), {}}});
    } else if (loop.wanted() != nullptr && *loop.wanted() == *wanted->second) {
      go_on(loop, now);
    } else {
      operations.emplace_back(ChangeWorkload{wanted->second, {loop.instance(), {}}});
    }
  }
  // [impl->swdd~agent-existing-workloads-starts-new-if-not-found~1]
  for (const auto& [name, spec] : arrival.wanted)
    if (!roster_.contains(name) && !arrival.reused.contains(name))
      operations.emplace_back(CreateWorkload{spec, std::nullopt});
  schedule(std::move(operations), now);
  for (const auto& update : arrival.held_back) update_workload(update, now);
  for (const auto& [id, request] : std::exchange(held_logs_, {})) request_logs(request);
  arm_sweep();
}

// What the server does not speak of when the connection begins is gone: a removal that happened while it was away is
// told to nobody later.
void AgentMachine::forget_states_of_others() {
  if (!announced_) return;
  for (const auto& state : states_.of_all_but(settings_.name))
    if (!announced_->contains(state.instance)) {
      states_.remove(state.instance);
      with_news_.insert(state.instance.workload.value);
    }
  announced_.reset();
}

// An operation of that workload was called off and nothing takes its place: its state is what the container's is.
void AgentMachine::go_on(Loop& loop, Instant now) {
  const std::string& name = loop.instance().workload.value;
  if (!queue_.waits(name)) return;
  drop_waiting(name, {}, std::nullopt, now);
  states_.remove(loop.instance());
  if (const auto& state = loop.last_report()) report(loop.instance(), *state, now);
}

// [impl->swdd~agent-resume-workload~2]
void AgentMachine::adopt(const FoundWorkload& found, Arrival& arrival, Instant now) {
  const std::string& name = found.instance.workload.value;
  const auto managed = roster_.find(name);
  const auto entry = arrival.wanted.find(name);
  const WorkloadSpecPtr spec = entry == arrival.wanted.end() ? nullptr : entry->second;
  const Action action = harmonise(wanted_for(found, spec.get()), found_as(found));
  // What a loop has in hand is its own business; another container of a wanted or managed name is surplus.
  if (is_ours(found) || is_leaving(found)) return;
  const bool may_be_gone =
      arrival.managed.contains(name) || arrival.leaving.contains(found.container);
  const bool is_surplus = managed != roster_.end() || arrival.reused.contains(name) ||
                          (action == Action::kDiscard && spec != nullptr);
  if (is_surplus || may_be_gone) {
    take_away(found);
    return;
  }
  // What waited under that name waits no longer: the container decides.
  if (spec != nullptr && action != Action::kReuse)
    drop_waiting(name, {spec->instance()}, std::nullopt, now);
  switch (action) {
    case Action::kResume:
      perform(interfaces_.equip(*spec));
      tell(open_loop(std::make_unique<Loop>(++last_loop_, spec, settings_.retries)),
           workload::Resume{found.container, found.can_start_again}, now);
      break;
    case Action::kReuse:
      arrival.reused.insert(name);
      arrival.operations.emplace_back(CreateWorkload{spec, found.container});
      break;
    // The old one goes at once; what takes its place may have to wait.
    case Action::kReplace:
      if (may_create(*spec, states_)) {
        perform(interfaces_.equip(*spec));
        tell(open_loop(std::make_unique<Loop>(++last_loop_, spec, settings_.retries)),
             workload::Replace{found.instance, found.container}, now);
      } else {
        tell(open_loop(left_behind(found)), workload::MakeRoom{found.container}, now);
        arrival.operations.emplace_back(CreateWorkload{spec, std::nullopt});
      }
      break;
    case Action::kDiscard:
      tell(open_loop(left_behind(found)), workload::Discard{found.container}, now);
      break;
  }
}

std::unique_ptr<AgentMachine::Loop> AgentMachine::left_behind(const FoundWorkload& found) {
  return std::make_unique<Loop>(++last_loop_, found.instance, found.runtime, settings_.retries);
}

bool AgentMachine::is_ours(const FoundWorkload& found) const {
  const auto managed = roster_.find(found.instance.workload.value);
  return (managed != roster_.end() &&
          managed->second->may_own(found.runtime, found.instance, found.container)) ||
         queue_.keeps(found.runtime, found.instance, found.container);
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
    const std::string& name = found.instance.workload.value;
    const Loop* loop = loop_of(name);
    const WorkloadSpecPtr waiting = queue_.waiting_spec(name);
    if ((loop != nullptr && loop->speaks_of(found.instance)) ||
        (waiting != nullptr && waiting->instance() == found.instance))
      return;
    effects_.emplace_back(
        workload::ClearFolder{new_token(), found.instance, workload::ClearFolder::Part::kAll});
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
  idle_since_sweep_.clear();
  for (const auto& [number, loop] : loops_)
    if (loop->has_given_up()) idle_since_sweep_.insert(number);
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
          managed->second->lacks(container.runtime, container.instance) && !is_leaving(container)) {
        // A loop that had something to do meanwhile may have had that container; the next sweep knows.
        if (idle_since_sweep_.contains(managed->second->number()))
          tell(*managed->second, workload::Resume{container.container}, now);
      } else if (!is_ours(container)) {
        take_away(container);
      }
    }
  if (sweep_awaited_.empty()) arm_sweep();
}

// [impl->swdd~agent-transforms-update-workload-message-to-workload-operations~1]
// [impl->swdd~agent-handle-deleted-before-added-workloads~1]
// [impl->swdd~agent-updates-deleted-and-added-workloads~1]
// [impl->swdd~agent-add-on-update-missing-workload~1]
// [impl->swdd~agent-added-creates-workload~1]
void AgentMachine::update_workload(const UpdateWorkload& update, Instant now) {
  std::map<std::string, WorkloadSpecPtr> added;
  for (const auto& spec : update.added)
    added.insert_or_assign(spec->instance().workload.value, spec);
  std::vector<Operation> operations;
  std::set<std::string> changed;
  for (const auto& deleted : update.deleted) {
    const auto spec = added.find(deleted.instance.workload.value);
    if (spec == added.end())
      operations.emplace_back(DeleteWorkload{deleted});
    else if (changed.insert(spec->first).second)
      operations.emplace_back(ChangeWorkload{spec->second, deleted});
  }
  for (const auto& [name, spec] : added) {
    if (changed.contains(name)) continue;
    const Loop* loop = loop_of(name);
    if (loop == nullptr) {
      operations.emplace_back(CreateWorkload{spec, std::nullopt});
      continue;
    }
    effects_.emplace_back(
        Warn{concat("Added workload '", name,
                    "' already exists. Updating without considering delete dependencies.")});
    operations.emplace_back(ChangeWorkload{spec, {loop->instance(), {}}});
  }
  schedule(std::move(operations), now);
}

// [impl->swdd~agent-handles-new-workload-operations]
void AgentMachine::schedule(std::vector<Operation> operations, Instant now) {
  DependencyQueue::Answer answer;
  for (auto& operation : operations) {
    name_what_is_there(operation);
    drop_waiting(operation, now);
    queue_.arrive(std::move(operation), states_, answer);
    for (const auto& state : std::exchange(answer.waiting, {}))
      report(state.instance, state.state, now);
  }
  std::stable_partition(answer.ready.begin(), answer.ready.end(), [](const Operation& ready) {
    return !std::holds_alternative<CreateWorkload>(ready);
  });
  execute(std::move(answer), now);
}

// The server speaks of the instance that it asked for last, which may never have come.
void AgentMachine::name_what_is_there(Operation& operation) {
  const Loop* loop = loop_of(workload_of(operation));
  const auto correct = [&](DeletedWorkload& old) {
    if (loop != nullptr && !loop->is_silent() && !loop->speaks_of(old.instance))
      old.instance = loop->instance();
  };
  match(
      operation, [&](ChangeWorkload& o) { correct(o.old); },
      [&](DeleteWorkload& o) { correct(o.old); }, [](auto&) {});
}

// Whatever waits under the name of a newer operation is called off.
void AgentMachine::drop_waiting(const Operation& newer, Instant now) {
  const std::string& workload = workload_of(newer);
  std::vector<InstanceName> spoken_of;
  std::optional<ContainerId> kept;
  match(
      newer,
      [&](const CreateWorkload& o) {
        spoken_of = {o.spec->instance()};
        kept = o.reuse;
      },
      [&](const ChangeWorkload& o) { spoken_of = {o.spec->instance(), o.old.instance}; },
      [](const ClearWorkload&) {},
      [&](const DeleteWorkload& o) {
        if (!has_something(workload)) spoken_of = {o.old.instance};
      });
  drop_waiting(workload, spoken_of, kept, now);
}

// An instance that the server has heard of, or will ask for, and that nobody speaks of any more is reported as removed.
void AgentMachine::drop_waiting(const std::string& workload,
                                const std::vector<InstanceName>& spoken_of,
                                const std::optional<ContainerId>& kept, Instant now) {
  const auto dropped = queue_.drop(workload);
  if (!dropped) return;
  const auto forget = [&](const InstanceName& instance) {
    const Loop* loop = loop_of(workload);
    const bool speaks = loop != nullptr && loop->instance() == instance && !loop->is_silent();
    if (!speaks && std::find(spoken_of.begin(), spoken_of.end(), instance) == spoken_of.end())
      report(instance, ExecutionState(Phase::kRemoved), now);
  };
  match(
      *dropped,
      [&](const CreateWorkload& o) {
        const InstanceName& instance = o.spec->instance();
        if (o.reuse && o.reuse != kept)
          take_away({o.spec->workload().runtime, instance, ExecutionState(Phase::kSucceededOk),
                     *o.reuse});
        forget(instance);
      },
      [&](const ChangeWorkload& o) {
        forget(o.spec->instance());
        if (states_.find(o.old.instance) != nullptr) forget(o.old.instance);
      },
      [](const ClearWorkload&) {}, [&](const DeleteWorkload& o) { forget(o.old.instance); });
}

// [impl->swdd~agent-handles-workloads-with-fulfilled-dependencies~1]
void AgentMachine::reconsider_waiting(Instant now) {
  while (!with_news_.empty()) {
    const auto workloads = std::exchange(with_news_, {});
    DependencyQueue::Answer answer;
    for (const auto& workload : workloads) queue_.reconsider(workload, states_, answer);
    execute(std::move(answer), now);
  }
}

void AgentMachine::execute(DependencyQueue::Answer answer, Instant now) {
  for (const auto& state : answer.waiting) report(state.instance, state.state, now);
  for (auto& operation : answer.ready)
    match(
        operation, [&](CreateWorkload& o) { create(std::move(o.spec), o.reuse, now); },
        [&](ChangeWorkload& o) { change(std::move(o.spec), o.old.instance, now); },
        [&](ClearWorkload& o) { clear(o.old, now); },
        [&](DeleteWorkload& o) { remove(o.old, now); });
}

void AgentMachine::for_loop(const workload::Event& event, Instant now) {
  const auto token = token_of(event);
  if (!token) return;
  if (std::holds_alternative<workload::TimerFired>(event) && *token == sweep_timer_) {
    sweep();
    return;
  }
  if (arrival_)
    if (const auto again = arrival_->awaited.find(*token); again != arrival_->awaited.end()) {
      effects_.emplace_back(ListWorkloads{again->first, again->second});
      return;
    }
  leaving_answered(event, *token, now);
  const auto loop = loops_.find(workload::loop_of(*token));
  if (loop != loops_.end()) tell(*loop->second, event, now);
}

void AgentMachine::request_logs(const LinkLogsRequest& request) {
  perform(logs_.request(request, [this](const WorkloadName& name) -> LogFetchers::Found {
    const auto managed = roster_.find(name.value);
    if (managed == roster_.end()) return {};
    const Loop& loop = *managed->second;
    if (!loop.container()) return {.is_known = true};
    return {true, LogFetchers::Source{loop.runtime(), *loop.container()}};
  }));
}

void AgentMachine::perform(LogEffects effects) {
  for (auto& effect : effects)
    match(
        effect, [&](LinkLogsStop& e) { send(std::move(e)); },
        [&](LogsComplaint& e) { effects_.emplace_back(Warn{std::move(e.text)}); },
        [&](auto& e) { effects_.emplace_back(std::move(e)); });
}

// A loop that stands there already has made room, or is about to.
// [impl->swdd~agent-create-workload~1]
// [impl->swdd~agent-executes-create-workload-operation~1]
void AgentMachine::create(WorkloadSpecPtr spec, std::optional<ContainerId> reuse, Instant now) {
  if (loop_of(spec->instance().workload.value) != nullptr) {
    const InstanceName instance = spec->instance();
    change(std::move(spec), instance, now);
    return;
  }
  perform(interfaces_.equip(*spec));
  tell(open_loop(std::make_unique<Loop>(++last_loop_, std::move(spec), settings_.retries)),
       workload::Create{std::move(reuse)}, now);
}

// [impl->swdd~agent-executes-update-workload-operation~1]
// [impl->swdd~agent-update-on-add-known-workload~1]
void AgentMachine::change(WorkloadSpecPtr spec, const InstanceName& old, Instant now) {
  if (old != spec->instance()) report_gone(old, now);
  Loop* loop = loop_of(spec->instance().workload.value);
  if (loop == nullptr) {
    create(std::move(spec), std::nullopt, now);
    return;
  }
  perform(interfaces_.equip(*spec));
  tell(*loop, workload::Update{std::move(spec)}, now);
}

// [impl->swdd~agent-executes-update-delete-only-workload-operation~1]
void AgentMachine::clear(const InstanceName& old, Instant now) {
  perform(interfaces_.drop(old.workload));
  report_gone(old, now);
  if (Loop* loop = loop_of(old.workload.value)) tell(*loop, workload::Update{nullptr}, now);
}

// Whether there is, or will be, an instance of that workload of which a loop speaks.
bool AgentMachine::has_something(const std::string& workload) {
  const Loop* loop = loop_of(workload);
  return loop != nullptr && !loop->is_silent();
}

// What the server has heard of and what never came.
void AgentMachine::report_gone(const InstanceName& old, Instant now) {
  if (!has_something(old.workload.value) && states_.find(old) != nullptr)
    report(old, ExecutionState(Phase::kRemoved), now);
}

AgentMachine::Loop* AgentMachine::loop_of(const std::string& workload) {
  const auto managed = roster_.find(workload);
  return managed == roster_.end() ? nullptr : managed->second.get();
}

// [impl->swdd~agent-deletes-workload~1]
// [impl->swdd~agent-executes-delete-workload-operation~1]
void AgentMachine::remove(const DeletedWorkload& deleted, Instant now) {
  perform(interfaces_.drop(deleted.instance.workload));
  if (!has_something(deleted.instance.workload.value))
    report(deleted.instance, ExecutionState(Phase::kRemoved), now);
  if (Loop* loop = loop_of(deleted.instance.workload.value)) tell(*loop, workload::Delete{}, now);
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
  idle_since_sweep_.erase(loop.number());
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

void AgentMachine::perform(InterfaceEffects effects) {
  for (auto& effect : effects)
    match(
        effect, [&](Forward& e) { send(std::move(e.request)); },
        [&](Complain& e) { effects_.emplace_back(Warn{std::move(e.text)}); },
        [&](auto& e) { effects_.emplace_back(std::move(e)); });
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
  with_news_.insert(instance.workload.value);
  if (next.state.phase == Phase::kRemoved)
    tombstones_[instance] = connected_ ? std::optional(now) : std::nullopt;
  else
    tombstones_.erase(instance);
  if (connected_ && now - tombstones_cleared_ >= kReportCertainlyArrived) clear_tombstones(now);
  if (connected_)
    send(UpdateWorkloadState{{next}});
  else
    changed_while_away_[instance] = ++reports_while_away_;
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
      [](const ForInterface& e) {
        return concat("interface ", std::to_string(e.number), " ", to_string(e.event));
      },
      [](const LoadSampled&) { return std::string("load sampled"); },
      [](const LogsArrived& e) {
        return concat("logs #", std::to_string(e.fetch), ": ", std::to_string(e.lines.size()),
                      " lines");
      },
      [](const LogsEnded& e) {
        return concat("logs #", std::to_string(e.fetch), " ended", e.cause.empty() ? "" : ": ",
                      e.cause);
      },
      [](const LogsSent& e) { return concat("logs sent, receipt ", std::to_string(e.receipt)); });
}

std::string to_string(const Effect& effect) {
  return match(
      effect, [](const Send& e) { return "send " + summary(e.message); },
      [](const ListWorkloads& e) { return "list " + e.runtime; },
      [](const Warn& e) { return "warn " + e.text; },
      [](const OpenInterface& e) { return to_string(InterfaceEffect(e)); },
      [](const SendToWorkload& e) { return to_string(InterfaceEffect(e)); },
      [](const ReadOn& e) { return to_string(InterfaceEffect(e)); },
      [](const StopReading& e) { return to_string(InterfaceEffect(e)); },
      [](const CloseInterface& e) { return to_string(InterfaceEffect(e)); },
      [](const auto& e) {
        if constexpr (std::is_constructible_v<LogEffect, decltype(e)>)
          return to_string(LogEffect(e));
        else
          return to_string(workload::Effect(e));
      });
}

}  // namespace tiphys::agent
