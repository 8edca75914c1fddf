#include "core/server/server_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/match.h"
#include "base/strings.h"
#include "core/server/dry_run.h"

namespace tiphys::server {
namespace {

constexpr std::string_view kVersionKey = "apiVersion";
constexpr std::string_view kWorkloadPrefix = "workloads/";
constexpr std::string_view kConfigPrefix = "configs/";

void add_writes(std::string_view prefix, const Tree::Map& before, const Tree::Map& after,
                std::vector<Write>& writes) {
  Tree::Map::difference(
      before, after, [&](const std::string& name, const Tree*, const Tree* value) {
        writes.push_back(
            {concat(prefix, name), value == nullptr ? std::nullopt : std::optional(*value)});
      });
}

// Whose event it is; nothing for what does not come from a peer.
std::optional<ConnectionNumber> connection_of(const Event& event) {
  return match(
      event, [](const Opened& e) { return std::optional(e.connection); },
      [](const Closed& e) { return std::optional(e.connection); },
      [](const Received& e) { return std::optional(e.connection); },
      [](const auto&) { return std::optional<ConnectionNumber>(); });
}

std::string no_workload_in(std::string_view request_id) {
  return concat("The request id '", request_id,
                "' names no workload: through an agent it has to be <workload>@<id>");
}

}  // namespace

std::vector<Write> writes_between(const State& before, const State& after) {
  std::vector<Write> writes;
  if (before.api_version != after.api_version)
    writes.push_back({std::string(kVersionKey), Tree(after.api_version)});
  add_writes(kWorkloadPrefix, before.workloads, after.workloads, writes);
  add_writes(kConfigPrefix, before.configs, after.configs, writes);
  return writes;
}

Result<State> state_from_records(const std::map<std::string, Tree>& records) {
  State state;
  Tree::Map workloads;
  Tree::Map configs;
  for (const auto& [key, value] : records) {
    if (key == kVersionKey && value.string() != nullptr)
      state.api_version = *value.string();
    else if (key.starts_with(kWorkloadPrefix))
      workloads = workloads.set(key.substr(kWorkloadPrefix.size()), value);
    else if (key.starts_with(kConfigPrefix))
      configs = configs.set(key.substr(kConfigPrefix.size()), value);
    else
      return fail(Code::kDataLoss,
                  concat("the store holds a record of no known kind: '", key, "'"));
  }
  const Tree tree = Tree::Map()
                        .set("apiVersion", state.api_version)
                        .set("workloads", workloads)
                        .set("configs", configs);
  auto read = read_state(tree, Path{});
  if (!read)
    return fail(Code::kDataLoss, "the stored state cannot be read: " + to_string(read.error()));
  return *std::move(read);
}

Effects ServerMachine::step(const Event& event, Instant now) {
  now_ = now;
  if (const auto connection = connection_of(event); connection && !ready_)
    keep_until_ready(event, *connection);
  else
    handle(event);
  return std::exchange(effects_, {});
}

// A peer for whose words there is no room is sent away, and with it what it has said: nothing of that was promised yet,
// and it says it again when it comes back.
void ServerMachine::keep_until_ready(const Event& event, ConnectionNumber connection) {
  if (std::holds_alternative<Opened>(event)) early_peers_.insert(connection);
  if (!early_peers_.contains(connection)) return;  // it was sent away, or has ended
  const bool ends = std::holds_alternative<Closed>(event);
  if (ends) early_peers_.erase(connection);
  if (ends || early_.size() < kMaxEarlyEvents) {
    early_.push_back(event);
    return;
  }
  early_peers_.erase(connection);
  std::erase_if(early_, [&](const Event& e) { return connection_of(e) == connection; });
  effects_.emplace_back(Warn{"Sent a peer away: too much waits for the start."});
  effects_.emplace_back(Close{connection});
}

void ServerMachine::handle(const Event& event) {
  match(
      event, [&](const Start& e) { start(e); }, [&](const Opened& e) { opened(e); },
      [&](const Closed& e) { closed(e.connection); }, [&](const Received& e) { received(e); },
      [&](const DryRunAsked& e) { answer_dry_run(e); },
      [&](const StateAgesAsked& e) { answer_state_ages(e); }, [&](const Loaded& e) { loaded(e); },
      [&](const LoadFailed& e) {
        // Without the stored state nothing can be decided: a supervisor starts the process again.
        if (loading_ == e.token)
          effects_.emplace_back(Fatal{"The stored state could not be read: " + e.cause});
      },
      [&](const Committed& e) { committed(e); },
      [&](const CommitConflict& e) { commit_conflict(e); },
      [&](const CommitFailed& e) { commit_failed(e); },
      [&](const TimerFired& e) { timer_fired(e); },
      [&](const HookAnswered& e) { hook_answered(e); });
}

// [impl->swdd~server-starts-without-startup-config~1]
void ServerMachine::start(const Start& event) {
  manifest_ = event.manifest;
  load();
}

void ServerMachine::load() {
  loading_ = ++last_token_;
  effects_.emplace_back(Load{*loading_});
}

void ServerMachine::loaded(const Loaded& event) {
  if (loading_ != event.token) return;
  loading_.reset();
  version_ = event.stored.version;
  const bool from_manifest = event.stored.version == 0 && manifest_.has_value();
  auto plan = plan_state(state_before_hooks(), config_users_,
                         from_manifest ? *manifest_ : event.stored.desired);
  // [impl->swdd~server-fails-on-invalid-startup-state~1]
  if (!plan) {
    effects_.emplace_back(Fatal{plan.error().message});
    return;
  }
  begin(*std::move(plan), std::nullopt, !from_manifest);
  begin_next_update();
  become_ready();
}

// Events of peers that came before the first state was known have their turn now.
void ServerMachine::become_ready() {
  if (ready_ || loading_ || in_flight_) return;
  ready_ = true;
  manifest_.reset();
  early_peers_.clear();
  for (const auto& event : std::exchange(early_, {})) handle(event);
}

void ServerMachine::opened(const Opened& event) {
  match(
      event.peer,
      [&](const CommanderPeer& peer) {
        commanders_.emplace(event.connection, peer);
        commander_names_.emplace(peer.name, event.connection);
      },
      [&](const AgentPeer& peer) { agent_opened(event.connection, peer); });
}

// [impl->swdd~server-sends-event-for-newly-connected-agent~1]
void ServerMachine::agent_opened(ConnectionNumber connection, const AgentPeer& peer) {
  // Workloads without an agent wait for nobody: an agent without a name must not get them. With the name of a commander,
  // which agents learn from its log requests, it would get that one's answers.
  if (peer.name.empty() || !has_only_name_characters(peer.name.value) ||
      commander_names_.contains(peer.name.value)) {
    effects_.emplace_back(
        Warn{concat("Refused an agent with the unsupported name '", peer.name.value, "'.")});
    effects_.emplace_back(Close{connection});
    return;
  }
  if (const auto old = agents_.find(peer.name); old != agents_.end()) {
    effects_.emplace_back(Warn{concat("Received a NEW hello from client ", peer.name.value,
                                      ". Replacing sender for this client.")});
    effects_.emplace_back(Close{old->second});
    agent_connections_.erase(old->second);
    // It may be another process, which knows nothing of what the former one collected and provided.
    agents_.erase(old);
    end_logs_of(peer.name);
  }
  agents_[peer.name] = connection;
  agent_connections_[connection] = peer.name;

  // [impl->swdd~server-informs-a-newly-connected-agent-workload-states~1]
  if (state_.workload_states.has_others_than(peer.name))
    send(connection, StatesOfOthers{state_.workload_states, peer.name});
  // [impl->swdd~server-sends-all-workloads-on-start~2]
  // [impl->swdd~agent-from-agent-field~1]
  send(connection, ServerHello{wanted_on(peer.name)});
  await_reports(peer.name);
  // [impl->swdd~server-stores-newly-connected-agent~2]
  const CompleteState before = state_;
  auto attributes = std::make_shared<AgentAttributes>();
  attributes->tags = peer.tags;
  state_.agents =
      state_.agents.set(peer.name.value, std::shared_ptr<const AgentAttributes>(attributes));
  publish(before);
}

// Sorted out once for all agents that come until the next change.
const std::vector<WorkloadSpecPtr>& ServerMachine::wanted_on(const AgentName& agent) {
  if (!by_agent_ || !by_agent_->of.same_as(state_.effective_workloads)) {
    by_agent_ = WantedByAgent{state_.effective_workloads, {}};
    by_agent_->of.for_each([&](const std::string&, const Tree& value) {
      auto spec = value.object<WorkloadSpec>();
      by_agent_->specs[spec->instance().agent].push_back(std::move(spec));
    });
  }
  return by_agent_->specs[agent];
}

// [impl->swdd~server-sends-events-for-disconnected-agent~1]
void ServerMachine::closed(ConnectionNumber connection) {
  // [impl->swdd~server-cancels-log-campaign-for-disconnected-cli~1]
  if (const auto commander = commanders_.find(connection); commander != commanders_.end()) {
    const std::string name = commander->second.name;
    commander_names_.erase(name);
    commanders_.erase(commander);
    cancel_logs(log_campaigns_.drop_connection(name));
    // [impl->swdd~server-removes-event-subscription-for-disconnected-cli~1]
    subscriptions_.drop_connection(connection);
  }
  const auto entry = agent_connections_.find(connection);
  if (entry == agent_connections_.end()) return;  // a commander, or a stream that was replaced
  const AgentName agent = entry->second;
  agent_connections_.erase(entry);
  agents_.erase(agent);
  unconfirmed_.erase(agent);
  const CompleteState before = state_;
  // [impl->swdd~server-removes-disconnected-agents-from-state~2]
  state_.agents = state_.agents.erase(agent.value);
  for (const auto& [instance, state] : state_.workload_states.of_agent(agent))
    if (state.phase == Phase::kPendingInitial) unheard_of_[agent].insert(instance);
  // [impl->swdd~server-set-workload-state-on-disconnect~1]
  state_.workload_states.mark_disconnected(agent, now_);
  subscriptions_.drop_agent(agent);
  publish(before);
  // [impl->swdd~server-distribute-workload-state-on-disconnect~1]
  broadcast(state_.workload_states.of_agent(agent));
  end_logs_of(agent);
}

void ServerMachine::received(const Received& event) {
  const bool known =
      agent_connections_.contains(event.connection) || commanders_.contains(event.connection);
  if (!known) return;  // the last words of a stream that was replaced or has ended
  match(
      event.message,
      [&](const AgentHello& m) {
        effects_.emplace_back(Warn{concat("Received unexpected AgentHello from '", m.agent, "'.")});
      },
      [&](const CommanderHello&) {
        effects_.emplace_back(Warn{"Received unexpected CommanderHello."});
      },
      [&](const UpdateWorkloadState& m) { workload_states_reported(event.connection, m); },
      [&](const AgentLoadStatus& m) { load_reported(event.connection, m); },
      [&](const Request& m) { request(event.connection, m); },
      [&](const Goodbye&) {
        closed(event.connection);
        effects_.emplace_back(Close{event.connection});
      },
      // [impl->swdd~server-forwards-logs-entries-response-messages~1]
      [&](const LinkLogEntries& m) { forward_logs(event.connection, m.request_id, m.entries); },
      [&](const LinkLogsStop& m) { logs_stopped(event.connection, m); });
}

bool ServerMachine::is_wanted(const InstanceName& instance) const {
  const Tree* wanted = state_.effective_workloads.find(instance.workload.value);
  return wanted != nullptr && wanted->object<WorkloadSpec>()->instance() == instance;
}

void ServerMachine::await_reports(const AgentName& agent) {
  Unconfirmed unconfirmed{++last_token_, {}};
  const auto unheard = std::exchange(unheard_of_[agent], {});
  unheard_of_.erase(agent);
  std::vector<InstanceName> never_begun;
  for (const auto& [instance, state] : state_.workload_states.of_agent(agent)) {
    if (is_wanted(instance)) continue;
    if (state.phase == Phase::kPendingInitial || unheard.contains(instance))
      never_begun.push_back(instance);
    else
      unconfirmed.instances.insert(instance);
  }
  forget(never_begun);
  unconfirmed_.erase(agent);
  if (unconfirmed.instances.empty()) return;
  effects_.emplace_back(ArmTimer{unconfirmed.timer, kTimeToReport});
  unconfirmed_.emplace(agent, std::move(unconfirmed));
}

void ServerMachine::timer_fired(const TimerFired& event) {
  const auto entry =
      std::find_if(unconfirmed_.begin(), unconfirmed_.end(),
                   [&](const auto& candidate) { return candidate.second.timer == event.token; });
  if (entry == unconfirmed_.end()) return;
  std::vector<InstanceName> ghosts;
  for (const auto& instance : entry->second.instances)
    if (!is_wanted(instance) && state_.workload_states.find(instance) != nullptr)
      ghosts.push_back(instance);
  unconfirmed_.erase(entry);
  forget(ghosts);
}

// An instance that is wanted again begins anew: what was said of its last life, before its agent was lost, is not of now.
bool ServerMachine::drop_unconfirmed(const InstanceName& instance) {
  const auto unconfirmed = unconfirmed_.find(instance.agent);
  if (unconfirmed == unconfirmed_.end()) return false;
  const bool was_doubtful = unconfirmed->second.instances.erase(instance) > 0;
  if (was_doubtful) state_.workload_states.remove(instance);
  return was_doubtful;
}

void ServerMachine::forget(const std::vector<InstanceName>& instances) {
  const CompleteState before = state_;
  std::vector<WorkloadState> removed;
  for (const auto& instance : instances) {
    state_.workload_states.remove(instance);
    delete_graph_.removed(instance.workload.value, state_.effective_workloads);
    removed.push_back({instance, ExecutionState(Phase::kRemoved)});
  }
  publish(before);
  for (const auto& state : removed)
    subscriptions_.drop_workload(state.instance.agent, state.instance.workload);
  broadcast(removed);
}

// An agent speaks for its own workloads only.
// [impl->swdd~server-stores-workload-state~1]
// [impl->swdd~server-forwards-workload-state~1]
// [impl->swdd~server-sends-event-for-updated-workload-states~1]
// [impl->swdd~server-sends-event-for-removed-workload-states~1]
void ServerMachine::workload_states_reported(ConnectionNumber connection,
                                             const UpdateWorkloadState& message) {
  const auto agent = agent_connections_.find(connection);
  std::vector<WorkloadState> own;
  for (const auto& state : message.states)
    if (agent != agent_connections_.end() && state.instance.agent == agent->second)
      own.push_back(state);
  if (own.size() != message.states.size())
    effects_.emplace_back(
        Warn{"Ignored workload states from a connection that does not run these workloads."});
  const CompleteState before = state_;
  for (const auto& state : own) {
    state_.workload_states.update(state, now_);
    // [impl->swdd~server-cleans-up-state~1]
    if (state.state.phase == Phase::kRemoved)
      delete_graph_.removed(state.instance.workload.value, state_.effective_workloads);
  }
  if (const auto unconfirmed =
          agent == agent_connections_.end() ? unconfirmed_.end() : unconfirmed_.find(agent->second);
      unconfirmed != unconfirmed_.end())
    for (const auto& state : own) unconfirmed->second.instances.erase(state.instance);
  publish(before);
  // A workload that reports its own removal still hears of it.
  // [impl->swdd~server-removes-subscription-for-deleted-subscriber-workload~1]
  for (const auto& state : own)
    if (state.state.phase == Phase::kRemoved)
      subscriptions_.drop_workload(state.instance.agent, state.instance.workload);
  broadcast(own);
}

// [impl->swdd~server-receives-resource-availability~2]
// [impl->swdd~server-sends-event-for-updated-agent-resource-availability~1]
void ServerMachine::load_reported(ConnectionNumber connection, const AgentLoadStatus& message) {
  const auto agent = agent_connections_.find(connection);
  if (agent == agent_connections_.end() || agent->second.value != message.agent) return;
  const Tree* entry = state_.agents.find(message.agent);
  auto attributes = std::make_shared<AgentAttributes>(*entry->object<AgentAttributes>());
  attributes->status = message.status;
  const CompleteState before = state_;
  state_.agents =
      state_.agents.set(message.agent, std::shared_ptr<const AgentAttributes>(attributes));
  publish(before);
}

// [impl->swdd~server-includes-id-in-control-interface-response~1]
void ServerMachine::request(ConnectionNumber connection, const Request& request) {
  const auto agent = agent_connections_.find(connection);
  const Requester requester{
      connection, agent == agent_connections_.end() ? std::nullopt : std::optional(agent->second),
      request.id};
  if (request.id.empty())
    return refuse(requester, "A request needs an id that its answer can carry");
  match(
      request.content, [&](const UpdateStateRequest& r) { enqueue(requester, r); },
      [&](const CompleteStateRequest& r) { answer_with_state(requester, r); },
      [&](const LogsRequest& r) { logs_requested(requester, r); },
      [&](const LogsCancelRequest&) { logs_cancelled(requester); },
      [&](const EventsCancelRequest&) { cancel_events(requester); });
}

std::optional<Subscriber> ServerMachine::subscriber_of(const Requester& requester) {
  if (!requester.agent) return subscriber(requester.connection, requester.request_id);
  return subscriber(*requester.agent, requester.request_id);
}

// [impl->swdd~server-provides-interface-get-complete-state~2]
// [impl->swdd~server-stores-new-event-subscription~1]
void ServerMachine::answer_with_state(const Requester& requester,
                                      const CompleteStateRequest& request) {
  auto selected = select_state(state_, request.field_masks);
  const bool subscribes = request.subscribe_for_events && selected;
  std::optional<Subscriber> subscriber;
  if (request.subscribe_for_events) {
    auto named = subscriber_of(requester);
    if (!named) return refuse(requester, no_workload_in(requester.request_id));
    if (auto room = subscriptions_.check_room(*named, request.field_masks); !room)
      return refuse(requester, room.error().message);
    subscriber = *std::move(named);
  }
  // A mask that selects nothing, or that cannot be read, is answered with an empty state, as peers expect.
  answer(requester, CompleteStateResponse{
                        .complete_state = std::move(selected).value_or(Tree(Tree::Map())),
                        .altered_fields = std::nullopt,
                        .empties = request.field_masks.empty() ? Empties::kKeep : Empties::kOmit});
  if (subscribes) subscriptions_.subscribe(*subscriber, request.field_masks);
}

// [impl->swdd~server-removes-event-subscription~1]
void ServerMachine::cancel_events(const Requester& requester) {
  const auto subscriber = subscriber_of(requester);
  if (!subscriber) return refuse(requester, no_workload_in(requester.request_id));
  subscriptions_.cancel(*subscriber);
  answer(requester, EventsCancelAccepted{});
}

// Tells the subscribers what is different from what was.
// [impl->swdd~server-sends-state-differences-as-events~1]
void ServerMachine::publish(const CompleteState& before) {
  for (auto& news : subscriptions_.news(before, state_)) {
    Publish effect{{}, std::move(news.content)};
    for (auto& [peer, request_id] : news.to) {
      const auto agent = agents_.find(peer.agent);
      if (peer.connection == 0 && agent == agents_.end()) continue;
      effect.to.push_back(
          {peer.connection == 0 ? agent->second : peer.connection, std::move(request_id)});
    }
    if (!effect.to.empty()) effects_.emplace_back(std::move(effect));
  }
}

// Agents that are away are not asked, and nobody is told that they were not: they may come back.
// [impl->swdd~server-handles-logs-request-message~1]
void ServerMachine::logs_requested(const Requester& requester, const LogsRequest& request) {
  const auto id = full_id_of(requester);
  if (!id) return refuse(requester, no_workload_in(requester.request_id));
  LogsRequestAccepted accepted;
  std::map<AgentName, LinkLogsRequest> by_agent;
  for (const auto& instance : request.instances) {
    if (!is_wanted(instance)) continue;
    accepted.instances.push_back(instance);
    const auto [entry, is_new] =
        by_agent.try_emplace(instance.agent, LinkLogsRequest{*id, request});
    if (is_new) entry->second.request.instances.clear();
    entry->second.request.instances.push_back(instance);
  }
  if (!accepted.instances.empty() && !log_campaigns_.contains(*id) &&
      log_campaigns_.of_connection(parse_full_request_id(*id)->connection) >=
          kMaxCampaignsPerConnection)
    return refuse(requester,
                  concat("Logs request rejected: '", std::to_string(kMaxCampaignsPerConnection),
                         " others of this connection are open, cancel one first'"));
  for (auto& [agent, message] : by_agent)
    if (const auto connection = agents_.find(agent); connection != agents_.end())
      send(connection->second, std::move(message));
  log_campaigns_.add(*id, accepted.instances);
  answer(requester, std::move(accepted));
}

// [impl->swdd~server-handles-logs-cancel-request-message~1]
void ServerMachine::logs_cancelled(const Requester& requester) {
  const auto id = full_id_of(requester);
  if (!id) return refuse(requester, no_workload_in(requester.request_id));
  log_campaigns_.cancel(*id);
  cancel_logs({*id});
  answer(requester, LogsCancelAccepted{});
}

// Entries and stops are passed on whatever the store of campaigns says: the last ones may come after a cancel.
void ServerMachine::forward_logs(ConnectionNumber connection, const std::string& full_id,
                                 decltype(Response::content) content) {
  if (agent_connections_.contains(connection)) return respond(full_id, std::move(content));
  effects_.emplace_back(Warn{"Ignored logs from a connection that runs no workloads."});
}

// [impl->swdd~server-forwards-logs-stop-response-messages~1]
void ServerMachine::logs_stopped(ConnectionNumber connection, const LinkLogsStop& message) {
  const auto agent = agent_connections_.find(connection);
  if (agent != agent_connections_.end() && agent->second == message.stop.instance.agent)
    log_campaigns_.stopped(message.request_id, message.stop.instance);
  forward_logs(connection, message.request_id, message.stop);
}

// [impl->swdd~server-handles-log-campaign-for-disconnected-agent~1]
void ServerMachine::end_logs_of(const AgentName& agent) {
  cancel_logs(log_campaigns_.drop_connection(agent.value));
  for (const auto& stop : log_campaigns_.drop_provider(agent))
    respond(stop.id, LogsStopResponse{stop.provider});
}

void ServerMachine::cancel_logs(const std::vector<std::string>& full_ids) {
  std::vector<ConnectionNumber> all;
  all.reserve(agents_.size() + commanders_.size());
  for (const auto& [agent, connection] : agents_) all.push_back(connection);
  for (const auto& [connection, peer] : commanders_)
    if (peer.gets_workload_states) all.push_back(connection);
  for (const auto& id : full_ids) send_all(all, LinkLogsCancel{id});
}

void ServerMachine::enqueue(Requester requester, const UpdateStateRequest& request) {
  if (waiting_.size() >= kMaxWaitingUpdates)
    return refuse(requester,
                  update_rejected(concat(std::to_string(kMaxWaitingUpdates),
                                         " other updates are waiting, try again later")));
  waiting_.push_back(WaitingUpdate{std::move(requester), request});
  begin_next_update();
}

void ServerMachine::begin_next_update() {
  while (!in_flight_ && !loading_ && (planned_again_ || !waiting_.empty())) {
    WaitingUpdate update;
    if (planned_again_) {
      update = *std::exchange(planned_again_, std::nullopt);
    } else {
      update = std::move(waiting_.front());
      waiting_.pop_front();
    }
    // [impl->swdd~server-continues-on-invalid-updated-state~1]
    auto plan = plan_update(state_before_hooks(), config_users_, update.request);
    if (plan)
      begin(*std::move(plan), std::move(update));
    else
      refuse(update.requester, plan.error().message);
  }
}

void ServerMachine::answer_dry_run(const DryRunAsked& event) {
  auto run = ready_ ? dry_run(state_before_hooks(), config_users_, event.request.update)
                    : fail(Code::kUnavailable, "The server is still starting, try again later");
  if (!run) {
    effects_.emplace_back(AnswerDryRun{event.call, ErrorResponse{std::move(run.error().message)}});
    return;
  }
  for (const auto& hook : hooks_) run->hooks.push_back(hook.name);
  effects_.emplace_back(AnswerDryRun{event.call, *std::move(run)});
}

void ServerMachine::answer_state_ages(const StateAgesAsked& event) {
  const auto& names = event.request.workloads;
  StateAgesResponse response;
  for (auto& [instance, since] : state_.workload_states.since({names.begin(), names.end()}))
    response.ages.push_back(
        {std::move(instance), std::chrono::duration_cast<std::chrono::milliseconds>(now_ - since)});
  effects_.emplace_back(AnswerStateAges{event.call, std::move(response)});
}

CompleteState ServerMachine::state_before_hooks() const {
  CompleteState state = state_;
  state.effective_workloads = rendered_workloads_;
  return state;
}

void ServerMachine::begin(UpdatePlan plan, std::optional<WaitingUpdate> update, bool is_stored) {
  for (const auto& warning : plan.warnings) effects_.emplace_back(Warn{warning});
  for (const auto& line : plan.template_log) effects_.emplace_back(WriteLog{line});
  plan.rendered_workloads = plan.effective_workloads;
  if (!hooks_.empty() && plan.added.empty() && plan.deleted.empty())
    plan.effective_workloads = state_.effective_workloads;
  in_flight_ = UpdateInFlight{0, std::move(plan), std::move(update), is_stored};
  if (!hooks_.empty())
    in_flight_->lists = lists_for_hooks(in_flight_->plan, state_.effective_workloads);
  run_next_hook();
}

void ServerMachine::run_next_hook() {
  UpdatePlan& plan = in_flight_->plan;
  const bool changes_workloads = !plan.added.empty() || !plan.deleted.empty();
  if (hooks_.empty() || !changes_workloads) return commit();
  if (in_flight_->hooks_done == hooks_.size()) {
    follow_hooks(plan, in_flight_->lists, state_.effective_workloads);
    return commit();
  }
  in_flight_->token = ++last_token_;
  effects_.emplace_back(
      RunHook{in_flight_->token, hooks_[in_flight_->hooks_done], in_flight_->lists});
}

void ServerMachine::hook_answered(const HookAnswered& event) {
  if (!in_flight_ || in_flight_->token != event.token) return;
  const Hook& hook = hooks_[in_flight_->hooks_done];
  const auto what = in_flight_->update ? Refused::kUpdate : Refused::kStart;
  if (auto refusal = refusal_of(hook, event.answer, what)) {
    const auto update = std::exchange(in_flight_, std::nullopt)->update;
    if (!update) {
      effects_.emplace_back(Fatal{*std::move(refusal)});
      return;
    }
    refuse(update->requester, *std::move(refusal));
  } else {
    if (const auto* changed = std::get_if<HookChanged>(&event.answer))
      in_flight_->lists = changed->lists;
    ++in_flight_->hooks_done;
    run_next_hook();
  }
  begin_next_update();
  become_ready();
}

// The lists of the update under way are final. What was loaded has been checked and stored already.
void ServerMachine::commit() {
  const UpdatePlan& plan = in_flight_->plan;
  const auto status = in_flight_->is_stored ? Status() : check_dependencies(plan);
  if (!status) {
    reject(std::exchange(in_flight_, std::nullopt)->update, status.error().message);
    return;
  }
  std::vector<Write> writes;
  if (!in_flight_->is_stored) writes = writes_between(state_.desired, plan.desired);
  if (writes.empty()) {
    const UpdateInFlight done = *std::exchange(in_flight_, std::nullopt);
    apply(done.plan, done.update ? std::optional(done.update->requester) : std::nullopt);
    return;
  }
  in_flight_->token = ++last_token_;
  effects_.emplace_back(Commit{in_flight_->token, version_, std::move(writes)});
}

// The startup manifest has nobody to tell: the start has failed.
void ServerMachine::reject(const std::optional<WaitingUpdate>& update, const std::string& reason) {
  if (update)
    refuse(update->requester, update_rejected(reason));
  else
    effects_.emplace_back(Fatal{reason});
}

void ServerMachine::committed(const Committed& event) {
  if (!in_flight_ || in_flight_->token != event.token) return;
  const UpdateInFlight done = *std::exchange(in_flight_, std::nullopt);
  version_ = event.version;
  apply(done.plan, done.update ? std::optional(done.update->requester) : std::nullopt);
  begin_next_update();
  become_ready();
}

// Somebody else wrote: take over what is stored now and decide again.
void ServerMachine::commit_conflict(const CommitConflict& event) {
  if (!in_flight_ || in_flight_->token != event.token) return;
  planned_again_ = std::exchange(in_flight_, std::nullopt)->update;
  load();
}

void ServerMachine::commit_failed(const CommitFailed& event) {
  if (!in_flight_ || in_flight_->token != event.token) return;
  const UpdateInFlight failed = *std::exchange(in_flight_, std::nullopt);
  reject(failed.update, concat(failed.update ? "The new state" : "The startup state",
                               " could not be stored: ", event.cause));
  begin_next_update();
}

// [impl->swdd~server-state-updates-state-on-unmodified-workloads~1]
// [impl->swdd~server-update-state-success-response~1]
// [impl->swdd~server-sends-event-for-initial-workload-states~1]
void ServerMachine::apply(const UpdatePlan& plan, const std::optional<Requester>& requester) {
  const CompleteState before = state_;
  set_agent_tags(plan.agent_tags);
  // [impl->swdd~server-cancels-log-campaign-for-deleted-workloads~1]
  for (const auto& spec : plan.deleted)
    cancel_logs(log_campaigns_.drop_workload(spec->instance().agent, spec->instance().workload));
  const Settled settled = settle_states(plan);
  config_users_.follow(state_.desired.workloads, plan.desired.workloads);
  state_.desired = plan.desired;
  state_.effective_workloads = plan.effective_workloads;
  rendered_workloads_ = plan.rendered_workloads;
  if (by_agent_ && !by_agent_->of.same_as(state_.effective_workloads)) by_agent_.reset();
  // Who changes workloads and subscribes gets the event before the answer, otherwise after it, as peers do.
  const bool workloads_change = !plan.added.empty() || !plan.deleted.empty();
  if (workloads_change) publish(before);
  // [impl->swdd~server-removes-subscription-for-deleted-subscriber-workload~1]
  for (const auto& spec : plan.deleted)
    subscriptions_.drop_workload(spec->instance().agent, spec->instance().workload);
  broadcast(settled.changed);
  distribute(plan.added, settled.for_agents);
  if (requester) {
    UpdateStateSuccess success;
    for (const auto& spec : plan.added)
      success.added_workloads.push_back(to_string(spec->instance()));
    for (const auto& spec : plan.deleted)
      success.deleted_workloads.push_back(to_string(spec->instance()));
    answer(*requester, std::move(success));
  }
  if (!workloads_change) publish(before);
}

void ServerMachine::set_agent_tags(const std::map<std::string, Tags>& tags) {
  for (const auto& [agent, new_tags] : tags) {
    const Tree* entry = state_.agents.find(agent);
    if (entry == nullptr) continue;  // gone while the update was under way
    auto attributes = std::make_shared<AgentAttributes>(*entry->object<AgentAttributes>());
    attributes->tags = new_tags;
    state_.agents = state_.agents.set(agent, std::shared_ptr<const AgentAttributes>(attributes));
  }
}

// Brings the states of coming and going workloads in line, and answers with the deletes that an agent has to do. What
// no agent can take away, because nothing was ever started, is removed here and now.
// [impl->swdd~server-handles-not-started-deleted-workloads~1]
// [impl->swdd~server-sets-state-of-new-workloads-to-pending~1]
ServerMachine::Settled ServerMachine::settle_states(const UpdatePlan& plan) {
  Settled settled;
  std::vector<InstanceName> added;  // in ascending order, as the plan has them
  added.reserve(plan.added.size());
  for (const auto& spec : plan.added) {
    added.push_back(spec->instance());
    delete_graph_.added(*spec);
  }
  for (const auto& spec : plan.deleted) {
    const InstanceName& instance = spec->instance();
    const ExecutionState* state = state_.workload_states.find(instance);
    const bool never_started = state != nullptr && state->phase == Phase::kPendingInitial;
    if (!instance.agent.empty() && (is_connected(instance.agent) || !never_started)) {
      // [impl->swdd~server-state-adds-delete-conditions-to-deleted-workload~1]
      settled.for_agents.push_back(
          {instance, delete_graph_.conditions_of(instance.workload.value)});
      continue;
    }
    state_.workload_states.remove(instance);
    delete_graph_.removed(instance.workload.value, plan.effective_workloads);
    if (!std::binary_search(added.begin(), added.end(), instance))
      settled.changed.push_back({instance, ExecutionState(Phase::kRemoved)});
  }
  for (const auto& instance : added)
    if (drop_unconfirmed(instance))
      settled.changed.push_back({instance, ExecutionState(Phase::kPendingInitial)});
  state_.workload_states.add_initial(added, now_);
  return settled;
}

void ServerMachine::distribute(const std::vector<WorkloadSpecPtr>& added,
                               const std::vector<DeletedWorkload>& deleted) {
  std::map<AgentName, UpdateWorkload> by_agent;
  for (const auto& spec : added) by_agent[spec->instance().agent].added.push_back(spec);
  for (const auto& workload : deleted)
    by_agent[workload.instance.agent].deleted.push_back(workload);
  // An agent that is away gets the whole list when it comes back.
  for (auto& [agent, message] : by_agent)
    if (const auto connection = agents_.find(agent); connection != agents_.end())
      send(connection->second, std::move(message));
}

// To every agent the states of the others, to a commander that wants them all of them. Most get the same list: all but
// the agents that the states are of.
void ServerMachine::broadcast(const std::vector<WorkloadState>& states) {
  if (states.empty()) return;
  std::set<AgentName> concerned;
  for (const auto& state : states) concerned.insert(state.instance.agent);
  std::vector<ConnectionNumber> others;
  for (const auto& [agent, connection] : agents_) {
    if (!concerned.contains(agent)) {
      others.push_back(connection);
      continue;
    }
    UpdateWorkloadState message;
    for (const auto& state : states)
      if (state.instance.agent != agent) message.states.push_back(state);
    if (!message.states.empty()) send(connection, std::move(message));
  }
  for (const auto& [connection, peer] : commanders_)
    if (peer.gets_workload_states) others.push_back(connection);
  send_all(std::move(others), UpdateWorkloadState{states});
}

void ServerMachine::send(ConnectionNumber connection, FromServer message) {
  effects_.emplace_back(Send{connection, std::move(message)});
}

void ServerMachine::send_all(std::vector<ConnectionNumber> to, FromServer message) {
  if (to.size() == 1)
    send(to.front(), std::move(message));
  else if (!to.empty())
    effects_.emplace_back(SendAll{std::move(to), std::move(message)});
}

void ServerMachine::answer(const Requester& requester, decltype(Response::content) content) {
  Response response{requester.request_id, std::move(content)};
  if (!requester.agent) {
    if (commanders_.contains(requester.connection)) send(requester.connection, std::move(response));
  } else if (const auto agent = agents_.find(*requester.agent); agent != agents_.end()) {
    send(agent->second, std::move(response));
  }
}

void ServerMachine::refuse(const Requester& requester, std::string message) {
  answer(requester, ErrorResponse{std::move(message)});
}

std::optional<std::string> ServerMachine::full_id_of(const Requester& requester) const {
  if (!requester.agent)
    return full_request_id(commanders_.at(requester.connection).name, requester.request_id);
  if (!workload_of_request_id(requester.request_id)) return std::nullopt;
  return full_request_id(requester.agent->value, requester.request_id);
}

void ServerMachine::respond(const std::string& full_id, decltype(Response::content) content) {
  const auto address = parse_full_request_id(full_id);
  const std::string& receiver = address ? address->connection : full_id;
  const auto commander = commander_names_.find(receiver);
  const auto agent = agents_.find(AgentName{receiver});
  if (address && commander != commander_names_.end())
    send(commander->second, Response{address->request_id, std::move(content)});
  else if (address && agent != agents_.end())
    send(agent->second, Response{address->request_id, std::move(content)});
  else
    effects_.emplace_back(
        Warn{concat("Unknown response receiver with name: '", with_valid_utf8(receiver), "'")});
}

std::string to_string(const Event& event) {
  return match(
      event,
      [](const Start& e) { return std::string(e.manifest ? "start with a manifest" : "start"); },
      [](const Opened& e) {
        const auto* agent = std::get_if<AgentPeer>(&e.peer);
        return concat("opened #", std::to_string(e.connection), agent ? " agent " : " commander",
                      agent ? agent->name.value : "");
      },
      [](const Closed& e) { return concat("closed #", std::to_string(e.connection)); },
      [](const Received& e) {
        return concat("received #", std::to_string(e.connection), " ", summary(e.message));
      },
      [](const DryRunAsked& e) { return concat("dry run #", std::to_string(e.call)); },
      [](const StateAgesAsked& e) {
        return concat("state ages #", std::to_string(e.call), " ", join(e.request.workloads, " "));
      },
      [](const Loaded& e) { return concat("loaded version ", std::to_string(e.stored.version)); },
      [](const LoadFailed& e) { return "load failed: " + e.cause; },
      [](const Committed& e) { return concat("committed version ", std::to_string(e.version)); },
      [](const CommitConflict&) { return std::string("commit conflict"); },
      [](const CommitFailed& e) { return "commit failed: " + e.cause; },
      [](const TimerFired&) { return std::string("timer fired"); },
      [](const HookAnswered& e) {
        return match(
            e.answer, [](const HookUnchanged&) { return std::string("hook changed nothing"); },
            [](const HookChanged& a) { return "hook made " + summary(FromServer(a.lists)); },
            [](const HookVeto& a) { return "hook vetoed: " + a.words; },
            [](const HookFailed& a) { return "hook failed: " + a.reason; },
            [](const HookUnreadable& a) { return "hook cannot be read: " + a.offence; });
      });
}

std::string to_string(const Effect& effect) {
  return match(
      effect,
      [](const Send& e) {
        return concat("send #", std::to_string(e.connection), " ", summary(e.message));
      },
      [](const SendAll& e) {
        std::string text = "send";
        for (const auto connection : e.to) text += concat(" #", std::to_string(connection));
        return concat(text, " ", summary(e.message));
      },
      [](const Publish& e) {
        std::string text = "publish";
        for (const auto& [connection, request_id] : e.to)
          text += concat(" #", std::to_string(connection), " ", request_id);
        for (const auto& [sign, paths] : {std::pair("+", &e.content.altered_fields->added),
                                          std::pair("~", &e.content.altered_fields->updated),
                                          std::pair("-", &e.content.altered_fields->removed)})
          for (const auto& path : *paths) text += concat(" ", sign, path);
        return text;
      },
      [](const Close& e) { return concat("close #", std::to_string(e.connection)); },
      [](const Load&) { return std::string("load"); },
      [](const Commit& e) {
        std::string text = concat("commit on version ", std::to_string(e.decided_on));
        for (const auto& write : e.writes) text += concat(write.value ? " +" : " -", write.key);
        return text;
      },
      [](const RunHook& e) {
        return concat("run hook ", e.hook.name, " ", summary(FromServer(e.lists)));
      },
      [](const ArmTimer& e) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(e.after);
        return concat("timer +", std::to_string(ms.count()), "ms");
      },
      [](const AnswerDryRun& e) {
        return concat("answer #", std::to_string(e.call), " ", summary(e.response));
      },
      [](const AnswerStateAges& e) {
        return concat("answer #", std::to_string(e.call), " ", summary(e.response));
      },
      [](const Warn& e) { return "warn " + e.text; },
      [](const WriteLog& e) { return concat("log ", e.line.level, " ", e.line.text); },
      [](const Fatal& e) { return "fatal " + e.text; });
}

}  // namespace tiphys::server
