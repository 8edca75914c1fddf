#pragma once

// The cluster machine: holds the wanted state, the agents and what they report, and tells each agent what to run. Pure:
// step() is told one event and answers with what to do.
//
//   UpdateState ──plan──▶ Commit ──Committed──▶ the plan becomes the state; agents and requester are told
//                            ├──CommitConflict──▶ Load, take over what is stored, plan again
//                            └──CommitFailed──▶ the requester gets an error, the state stays
//
// Where hooks are configured, a plan that changes workloads passes them first, one after the other (RunHook, answered by
// HookAnswered); what they refuse is an error for the requester, and the state stays.
//
// Nobody is told of a wanted state before it is stored. One update is under way at a time; others wait in order, and
// everything else runs against the state that holds. What agents report is not stored: they report it again.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "core/server/config_users.h"
#include "core/server/dependencies.h"
#include "core/server/events.h"
#include "core/server/hooks.h"
#include "core/server/log_campaigns.h"
#include "core/server/update.h"
#include "model/extension.h"
#include "model/messages.h"
#include "model/state.h"

namespace tiphys::server {

using Token = std::uint64_t;
// Of a key in the store: 0 is "not there", every write raises it.
using Version = std::uint64_t;

// -- What the machine is told ---------------------------------------------------------------------------------------

// The first event. A manifest counts only when the store holds no state.
struct Start {
  std::optional<State> manifest;
};

struct AgentPeer {
  AgentName name;
  Tags tags;
};
// A commander on the deprecated connection also gets what goes to all agents: workload states and cancelled log requests.
struct CommanderPeer {
  bool gets_workload_states = false;
  std::string name = {};  // that agents know it by; the link makes it up, never twice the same
};
struct Opened {
  ConnectionNumber connection;
  std::variant<AgentPeer, CommanderPeer> peer;
};
struct Closed {
  ConnectionNumber connection;
};
struct Received {
  ConnectionNumber connection;
  ToServer message;
};

// One of our own tools asks what an update would do; answered at once by AnswerDryRun.
struct DryRunAsked {
  ConnectionNumber call;
  DryRunRequest request;
};

// One of our own tools asks for how long workloads have been in their states; answered at once by AnswerStateAges.
struct StateAgesAsked {
  ConnectionNumber call;
  StateAgesRequest request;
};

struct StoredState {
  State desired;
  Version version = 0;  // 0: nothing is stored
};
struct Loaded {
  Token token;
  StoredState stored;
};
struct LoadFailed {
  Token token;
  std::string cause;
};
struct Committed {
  Token token;
  Version version;
};
struct CommitConflict {
  Token token;
};
struct CommitFailed {
  Token token;
  std::string cause;
};
struct TimerFired {
  Token token;
};
struct HookAnswered {
  Token token;
  HookAnswer answer;
};

using Event =
    std::variant<Start, Opened, Closed, Received, DryRunAsked, StateAgesAsked, Loaded, LoadFailed,
                 Committed, CommitConflict, CommitFailed, TimerFired, HookAnswered>;

// -- What the machine wants done ------------------------------------------------------------------------------------

struct Send {
  ConnectionNumber connection;
  FromServer message;
};
// The same message for many: it is encoded once.
struct SendAll {
  std::vector<ConnectionNumber> to;
  FromServer message;
};
// The same answer for many, for each under the id of its own request: it is encoded once.
struct Recipient {
  ConnectionNumber connection;
  std::string request_id;
};
struct Publish {
  std::vector<Recipient> to;
  CompleteStateResponse content;
};
// Ends the stream with OK.
struct Close {
  ConnectionNumber connection;
};
// Answered by Loaded or LoadFailed.
struct Load {
  Token token;
};
// One changed entry of the wanted state: a part (apiVersion, workloads, configs), a name, and its new value, if any.
struct Write {
  std::string key;
  std::optional<Tree> value;
};
// All writes or none, and only if the stored state still has the version that they were decided on. Answered by
// Committed, CommitConflict or CommitFailed.
struct Commit {
  Token token;
  Version decided_on;
  std::vector<Write> writes;
};
// Answered by HookAnswered.
struct RunHook {
  Token token;
  Hook hook;
  UpdateWorkload lists;
};
// Answered by TimerFired.
struct ArmTimer {
  Token token;
  Duration after;
};
struct AnswerDryRun {
  ConnectionNumber call;
  DryRunResponse response;
};
struct AnswerStateAges {
  ConnectionNumber call;
  StateAgesResponse response;
};
struct Warn {
  std::string text;
};
// A template of a workload writes to the log.
struct WriteLog {
  handlebars::LogLine line;
};
// The start failed: the process ends with this text.
struct Fatal {
  std::string text;
};

using Effect = std::variant<Send, SendAll, Publish, Close, Load, Commit, RunHook, ArmTimer,
                            AnswerDryRun, AnswerStateAges, Warn, WriteLog, Fatal>;
using Effects = std::vector<Effect>;

// What an update writes to the store, and how a state is put together from what is stored.
std::vector<Write> writes_between(const State& before, const State& after);
Result<State> state_from_records(const std::map<std::string, Tree>& records);

inline constexpr std::size_t kMaxWaitingUpdates = 64;
// What peers may say before the first state is known, all together.
inline constexpr std::size_t kMaxEarlyEvents = 10'000;
// How long an agent that came back has to report what it still has of workloads that nobody wants any more.
inline constexpr Duration kTimeToReport = std::chrono::seconds(60);

class ServerMachine {
 public:
  explicit ServerMachine(std::vector<Hook> hooks = {}) : hooks_(in_order(std::move(hooks))) {}

  // The effects are to be performed in this order. The time decides nothing; it only tells the ages of states.
  [[nodiscard]] Effects step(const Event& event, Instant now = {});

  // What holds: stored, and told or about to be told to the agents.
  [[nodiscard]] const CompleteState& state() const { return state_; }
  [[nodiscard]] const LogCampaigns& log_campaigns() const { return log_campaigns_; }

 private:
  // A workload asks through its agent and gets its answer through that agent, also when it came back on another stream.
  struct Requester {
    ConnectionNumber connection;
    std::optional<AgentName> agent;
    std::string request_id;
  };
  struct WaitingUpdate {
    Requester requester;
    UpdateStateRequest request;
  };

  // An update between its plan and the word of the store. A startup manifest, and what is loaded, have no requester.
  struct UpdateInFlight {
    Token token;  // of the hook or of the commit that it waits for
    UpdatePlan plan;
    std::optional<WaitingUpdate> update;
    bool is_stored = false;     // it was loaded
    UpdateWorkload lists = {};  // as the hooks so far left them
    std::size_t hooks_done = 0;
  };

  void handle(const Event& event);
  void keep_until_ready(const Event& event, ConnectionNumber connection);
  void start(const Start& event);
  void loaded(const Loaded& event);
  void opened(const Opened& event);
  void agent_opened(ConnectionNumber connection, const AgentPeer& peer);
  [[nodiscard]] const std::vector<WorkloadSpecPtr>& wanted_on(const AgentName& agent);
  void closed(ConnectionNumber connection);
  void received(const Received& event);
  void committed(const Committed& event);
  void commit_conflict(const CommitConflict& event);
  void commit_failed(const CommitFailed& event);

  void await_reports(const AgentName& agent);
  void timer_fired(const TimerFired& event);
  bool drop_unconfirmed(const InstanceName& instance);
  void forget(const std::vector<InstanceName>& instances);
  void workload_states_reported(ConnectionNumber connection, const UpdateWorkloadState& message);
  void load_reported(ConnectionNumber connection, const AgentLoadStatus& message);
  void request(ConnectionNumber connection, const Request& request);
  void logs_requested(const Requester& requester, const LogsRequest& request);
  void logs_cancelled(const Requester& requester);
  void logs_stopped(ConnectionNumber connection, const LinkLogsStop& message);
  void forward_logs(ConnectionNumber connection, const std::string& full_id,
                    decltype(Response::content) content);
  void end_logs_of(const AgentName& agent);
  void cancel_logs(const std::vector<std::string>& full_ids);
  static std::optional<Subscriber> subscriber_of(const Requester& requester);
  void answer_with_state(const Requester& requester, const CompleteStateRequest& request);
  void cancel_events(const Requester& requester);
  void publish(const CompleteState& before);
  void enqueue(Requester requester, const UpdateStateRequest& request);
  void begin_next_update();
  void answer_dry_run(const DryRunAsked& event);
  void answer_state_ages(const StateAgesAsked& event);
  void begin(UpdatePlan plan, std::optional<WaitingUpdate> update, bool is_stored = false);
  void run_next_hook();
  void hook_answered(const HookAnswered& event);
  void commit();
  // The state as updates are compared with: its workloads are those that no hook has changed.
  [[nodiscard]] CompleteState state_before_hooks() const;
  void reject(const std::optional<WaitingUpdate>& update, const std::string& reason);
  void apply(const UpdatePlan& plan, const std::optional<Requester>& requester);
  void set_agent_tags(const std::map<std::string, Tags>& tags);
  struct Settled {
    std::vector<DeletedWorkload> for_agents;
    std::vector<WorkloadState> changed;  // here and now, by no agent: removed, or begun anew
  };
  Settled settle_states(const UpdatePlan& plan);
  void distribute(const std::vector<WorkloadSpecPtr>& added,
                  const std::vector<DeletedWorkload>& deleted);
  void broadcast(const std::vector<WorkloadState>& states);
  void load();
  void become_ready();

  [[nodiscard]] bool is_wanted(const InstanceName& instance) const;
  [[nodiscard]] bool is_connected(const AgentName& agent) const { return agents_.contains(agent); }
  // Of a request that outlives its answer. Nothing for one that came through an agent and names no workload.
  [[nodiscard]] std::optional<std::string> full_id_of(const Requester& requester) const;
  void send(ConnectionNumber connection, FromServer message);
  void send_all(std::vector<ConnectionNumber> to, FromServer message);
  void answer(const Requester& requester, decltype(Response::content) content);
  void refuse(const Requester& requester, std::string message);
  // To whoever the full id names.
  void respond(const std::string& full_id, decltype(Response::content) content);

  CompleteState state_;       // [impl->swdd~server-state-in-memory~1]
  ConfigUsers config_users_;  // of the wanted state
  DeleteGraph delete_graph_;
  std::vector<Hook> hooks_;       // in the order in which they run
  Tree::Map rendered_workloads_;  // name -> WorkloadSpec; the effective ones before hooks
  Version version_ = 0;           // of the stored state that state_ was made from

  std::map<AgentName, ConnectionNumber> agents_;
  std::map<ConnectionNumber, AgentName> agent_connections_;
  std::map<ConnectionNumber, CommanderPeer> commanders_;
  std::map<std::string, ConnectionNumber> commander_names_;
  LogCampaigns log_campaigns_;

  Subscriptions subscriptions_;

  // What an agent had when it was lost and is no longer wanted: it may be gone for good, without anybody left to say so.
  struct Unconfirmed {
    Token timer;
    std::set<InstanceName> instances;
  };
  std::map<AgentName, Unconfirmed> unconfirmed_;
  // What a lost agent had not said a word about: it may never have heard of it. What nobody wants of that when the agent
  // is back is forgotten at once; should there be something of it after all, the agent will speak.
  std::map<AgentName, std::set<InstanceName>> unheard_of_;

  // What each agent shall run, once an agent has come; goes with the next change.
  struct WantedByAgent {
    Tree::Map of;
    std::map<AgentName, std::vector<WorkloadSpecPtr>> specs;
  };
  std::optional<WantedByAgent> by_agent_;

  bool ready_ = false;       // the start is over; until then the events of peers wait
  std::deque<Event> early_;  // these
  std::set<ConnectionNumber> early_peers_;
  std::optional<State> manifest_;  // until the start is over
  Token last_token_ = 0;
  std::optional<Token> loading_;
  std::optional<WaitingUpdate> planned_again_;  // met a conflict; runs first after the load
  std::optional<UpdateInFlight> in_flight_;
  std::deque<WaitingUpdate> waiting_;

  // Of the step under way:
  Instant now_;
  Effects effects_;
};

std::string to_string(const Event& event);
std::string to_string(const Effect& effect);

}  // namespace tiphys::server
