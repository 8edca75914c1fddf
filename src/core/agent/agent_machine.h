#pragma once

// The node machine: runs the workloads that the server wants on this agent. Pure: step() is told one event and answers
// with what to do.
//
// It keeps a roster with one control loop per workload name, and the execution states of all workloads of the cluster.
// A ServerHello is the complete list of what shall run here: the machine first asks every runtime what is there
// already, holds every later change back until they answered, and then finds for each (wanted workload, found
// container) pair what to do (harmonise.h). An UpdateWorkload is a change to that list. What either wants done passes the
// dependency queue, and waits there for other workloads if it must. A sweep takes away, every now
// and then, containers of this agent that no loop has in hand: a call to a runtime can outlive the agent that made it. One
// that runs and is just what a loop has given up to create is adopted instead: a runtime that could not say what is there
// when the list came may have had it all along.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "core/agent/control_interfaces.h"
#include "core/agent/dependency_queue.h"
#include "core/agent/harmonise.h"
#include "core/agent/log_fetchers.h"
#include "core/workload/control_loop.h"
#include "model/messages.h"
#include "model/workload_states.h"

namespace tiphys::agent {

using workload::ContainerId;
using workload::Token;

// -- What the machine is told ---------------------------------------------------------------------------------------

// The link has introduced the agent, and the server took it.
struct Connected {};
struct Disconnected {
  bool cleanly = false;  // the server ended the connection in good order
};
struct Received {
  FromServer message;
};
struct Listed {
  Token token;
  std::vector<FoundWorkload> found;
};
struct ListFailed {
  Token token;
  std::string cause;
};
// An answer, an observation or a timer for one of the control loops.
struct ForLoop {
  workload::Event event;
};
struct LoadSampled {
  AgentStatus status;
};
// What happened at one of the control interfaces.
struct ForInterface {
  InterfaceNumber number;
  InterfaceEvent event;
};

struct LogsArrived {
  FetchNumber fetch;
  std::vector<std::string> lines;
};
struct LogsEnded {
  FetchNumber fetch;
  std::string cause;  // empty: in good order
};
struct LogsSent {
  ReceiptNumber receipt;
};

using Event = std::variant<Connected, Disconnected, Received, Listed, ListFailed, ForLoop,
                           LoadSampled, ForInterface, LogsArrived, LogsEnded, LogsSent>;

// -- What the machine wants done ------------------------------------------------------------------------------------

struct Send {
  ToServer message;
};
// Which containers, in whatever state, does this agent have in that runtime? Answered by Listed or ListFailed.
struct ListWorkloads {
  Token token;
  std::string runtime;
};
struct Warn {
  std::string text;
};

using Effect =
    std::variant<Send, ListWorkloads, Warn, workload::CreateContainer, workload::DeleteContainer,
                 workload::ClearFolder, workload::Watch, workload::Unwatch, workload::ArmTimer,
                 OpenInterface, SendToWorkload, ReadOn, StopReading, CloseInterface, FetchLogs,
                 ContinueFetching, StopFetching, SendLogs>;
using Effects = std::vector<Effect>;

struct Settings {
  AgentName name;
  std::set<std::string> runtimes;  // the enabled ones
  workload::Retries retries = {};
};

// How long a connection must have lived after a report to prove that the report arrived: a dead peer is noticed sooner.
inline constexpr Duration kReportCertainlyArrived = std::chrono::seconds(30);
inline constexpr Duration kSweepPeriod = std::chrono::seconds(60);
// After a listing that failed: until one succeeds, the agent may not know of containers that it has.
inline constexpr Duration kSweepAfterFailure = std::chrono::seconds(5);

// When the server's list came and a runtime could not say what it has: asked once more after this pause, if it failed soon.
inline constexpr Duration kListAgain = std::chrono::seconds(1);
inline constexpr Duration kListAgainWithin = std::chrono::seconds(10);

class AgentMachine {
 public:
  explicit AgentMachine(Settings settings);

  // The effects are to be performed in this order.
  [[nodiscard]] Effects step(const Event& event, Instant now);

  [[nodiscard]] const WorkloadStates& states() const { return states_; }
  // That have not ended.
  [[nodiscard]] std::size_t log_campaigns() const { return logs_.size() + held_logs_.size(); }

 private:
  using Loop = workload::ControlLoop;
  using Listings = std::map<Token, std::string>;  // under way, and the runtime of each

  // A ServerHello whose listings have not all answered.
  struct Arrival {
    Instant began;
    std::map<std::string, WorkloadSpecPtr> wanted;
    Listings awaited;
    std::set<Token> asked_again;
    std::vector<FoundWorkload> found;
    std::vector<UpdateWorkload> held_back;
    std::vector<Operation> operations;  // that the found containers call for
    std::set<std::string> reused;       // workloads whose ended container is to be started again
    // The workloads that had a loop, and the containers that were being taken away, when the listings were asked for: of
    // these a listing may be out of date.
    std::set<std::string> managed;
    std::set<ContainerId> leaving;
  };

  void connected(Instant now);
  void disconnected(bool cleanly, Instant now);
  void received(const FromServer& message, Instant now);
  void server_hello(const ServerHello& hello, Instant now);
  void listing_answered(Token token, const std::vector<FoundWorkload>& found, Instant now);
  void listing_failed(const ListFailed& failure, Instant now);
  void finish_arrival(Instant now);
  void adopt(const FoundWorkload& found, Arrival& arrival, Instant now);
  std::unique_ptr<Loop> left_behind(const FoundWorkload& found);
  void take_away(const FoundWorkload& found);
  void delete_leaving(const FoundWorkload& found);
  void leaving_answered(const workload::Event& event, Token token, Instant now);
  [[nodiscard]] bool is_leaving(const FoundWorkload& found) const;
  [[nodiscard]] bool is_leaving(const InstanceName& instance) const;
  void sweep();
  void sweep_answered(Token token, const std::vector<FoundWorkload>& found, Instant now);
  [[nodiscard]] bool is_ours(const FoundWorkload& found) const;
  void arm_sweep();
  Listings list_all_runtimes();
  void update_workload(const UpdateWorkload& update, Instant now);
  void for_loop(const workload::Event& event, Instant now);
  void forget_states_of_others();
  void request_logs(const LinkLogsRequest& request);
  void perform(LogEffects effects);

  // Operations pass the queue together; what may not wait for it goes to its loop at once.
  void schedule(std::vector<Operation> operations, Instant now);
  void name_what_is_there(Operation& operation);
  void drop_waiting(const Operation& newer, Instant now);
  void drop_waiting(const std::string& workload, const std::vector<InstanceName>& spoken_of,
                    const std::optional<ContainerId>& kept, Instant now);
  void reconsider_waiting(Instant now);
  void execute(DependencyQueue::Answer answer, Instant now);
  void create(WorkloadSpecPtr spec, std::optional<ContainerId> reuse, Instant now);
  void change(WorkloadSpecPtr spec, const InstanceName& old, Instant now);
  void clear(const InstanceName& old, Instant now);
  void remove(const DeletedWorkload& deleted, Instant now);
  void go_on(Loop& loop, Instant now);

  [[nodiscard]] Loop* loop_of(const std::string& workload);
  [[nodiscard]] bool has_something(const std::string& workload);
  void report_gone(const InstanceName& old, Instant now);
  Loop& open_loop(std::unique_ptr<Loop> loop);
  void tell(Loop& loop, const workload::Event& event, Instant now);
  void perform(Loop& loop, workload::Effects effects, Instant now);
  void perform(InterfaceEffects effects);
  void report(const InstanceName& instance, const ExecutionState& state, Instant now);
  void clear_tombstones(Instant now);
  void send(ToServer message);
  Token new_token();

  const Settings settings_;
  WorkloadStates
      states_;  // of this agent's workloads as reported, and of the others as the server told
  std::map<std::string, std::unique_ptr<Loop>> roster_;  // by workload name
  std::map<workload::LoopNumber, Loop*> loops_;          // the same loops by number
  workload::LoopNumber last_loop_ = 0;
  std::uint32_t last_token_ = 0;  // tokens of the machine itself have loop number 0

  DependencyQueue queue_;
  std::set<std::string> with_news_;  // workloads that have a new state in this step
  ControlInterfaces interfaces_;

  bool connected_ = false;
  // Instances of other agents that the server has spoken of since the connection began and before its list came.
  std::optional<std::set<InstanceName>> announced_;
  std::optional<Arrival> arrival_;
  Token sweep_timer_ = 0;            // an older timer is stale
  bool has_failed_to_list_ = false;  // since the last sweep began
  Listings sweep_awaited_;           // of the sweep under way
  // Those that had given up when the sweep began, and were told nothing since: what it finds of theirs can't be out of date.
  std::set<workload::LoopNumber> idle_since_sweep_;
  std::map<Token, FoundWorkload>
      leaving_;  // containers of no loop that are being taken away, by awaited answer or timer
  // Removals that the server may not have heard of, and when it was told last.
  std::map<InstanceName, std::optional<Instant>> tombstones_;
  Instant tombstones_cleared_;
  std::map<InstanceName, std::uint64_t> changed_while_away_;  // and when, counted in reports
  std::uint64_t reports_while_away_ = 0;
  std::optional<AgentStatus> unsent_load_;
  LogFetchers logs_;
  // By request id; until the listings of a ServerHello have answered, nobody knows whose logs there are.
  std::map<std::string, LinkLogsRequest> held_logs_;

  Effects effects_;  // of the step under way
};

std::string to_string(const Event& event);
std::string to_string(const Effect& effect);

}  // namespace tiphys::agent
