#pragma once

// What servers, agents, commanders and workloads say to each other, as values. io/wire turns them
// into bytes and back.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/execution_state.h"
#include "model/names.h"
#include "model/state.h"
#include "model/tree.h"
#include "model/workload.h"
#include "model/workload_states.h"

namespace tiphys {

// -- Requests of users and workloads, and the answers to them
// -------------------------------------------------------

struct CompleteStateRequest {
  std::vector<std::string> field_masks;
  bool subscribe_for_events = false;

  friend bool operator==(const CompleteStateRequest&, const CompleteStateRequest&) = default;
};

// The new state as it was sent: it may be partial, so it is a tree (desiredState, agents, …) and
// not yet a State.
struct UpdateStateRequest {
  Tree new_state;
  std::vector<std::string> update_masks;

  friend bool operator==(const UpdateStateRequest&, const UpdateStateRequest&) = default;
};

// Names come from a peer unchecked: an instance that does not exist is simply not accepted.
struct LogsRequest {
  std::vector<InstanceName> instances;
  std::optional<bool> follow;
  std::optional<std::int32_t> tail;  // -1 or unset: all
  std::optional<std::string> since;  // RFC 3339
  std::optional<std::string> until;

  friend bool operator==(const LogsRequest&, const LogsRequest&) = default;
};

struct LogsCancelRequest {
  friend bool operator==(const LogsCancelRequest&, const LogsCancelRequest&) = default;
};
struct EventsCancelRequest {
  friend bool operator==(const EventsCancelRequest&, const EventsCancelRequest&) = default;
};

struct Request {
  std::string id;
  std::variant<UpdateStateRequest, CompleteStateRequest, LogsRequest, LogsCancelRequest,
               EventsCancelRequest>
      content;

  friend bool operator==(const Request&, const Request&) = default;
};

struct ErrorResponse {
  std::string message;
  friend bool operator==(const ErrorResponse&, const ErrorResponse&) = default;
};

struct AlteredFields {
  std::vector<std::string> added;
  std::vector<std::string> updated;
  std::vector<std::string> removed;
  friend bool operator==(const AlteredFields&, const AlteredFields&) = default;
};

struct CompleteStateResponse {
  Tree complete_state;  // a map; parts that were not asked for are missing
  std::optional<AlteredFields> altered_fields;
  // kKeep for an answer to a request without masks: peers expect empty tags and the like in it.
  Empties empties = Empties::kOmit;
  friend bool operator==(const CompleteStateResponse&, const CompleteStateResponse&) = default;
};

struct UpdateStateSuccess {
  std::vector<std::string> added_workloads;    // instance names
  std::vector<std::string> deleted_workloads;  // instance names
  friend bool operator==(const UpdateStateSuccess&, const UpdateStateSuccess&) = default;
};

struct LogsRequestAccepted {
  std::vector<InstanceName> instances;
  friend bool operator==(const LogsRequestAccepted&, const LogsRequestAccepted&) = default;
};

struct LogEntry {
  InstanceName instance;
  std::string message;
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

struct LogEntriesResponse {
  std::vector<LogEntry> entries;
  friend bool operator==(const LogEntriesResponse&, const LogEntriesResponse&) = default;
};

struct LogsStopResponse {
  InstanceName instance;
  friend bool operator==(const LogsStopResponse&, const LogsStopResponse&) = default;
};

struct LogsCancelAccepted {
  friend bool operator==(const LogsCancelAccepted&, const LogsCancelAccepted&) = default;
};
struct EventsCancelAccepted {
  friend bool operator==(const EventsCancelAccepted&, const EventsCancelAccepted&) = default;
};

struct Response {
  std::string id;
  std::variant<ErrorResponse, CompleteStateResponse, UpdateStateSuccess, LogsRequestAccepted,
               LogEntriesResponse, LogsStopResponse, LogsCancelAccepted, EventsCancelAccepted>
      content;

  friend bool operator==(const Response&, const Response&) = default;
};

// -- The link between server, agents and commanders
// -----------------------------------------------------------------

struct AgentHello {
  std::string agent;
  std::string protocol_version;
  Tags tags;
  friend bool operator==(const AgentHello&, const AgentHello&) = default;
};

struct CommanderHello {
  std::string protocol_version;
  friend bool operator==(const CommanderHello&, const CommanderHello&) = default;
};

struct Goodbye {
  friend bool operator==(const Goodbye&, const Goodbye&) = default;
};

struct AgentLoadStatus {
  std::string agent;
  AgentStatus status;
  friend bool operator==(const AgentLoadStatus&, const AgentLoadStatus&) = default;
};

struct UpdateWorkloadState {
  std::vector<WorkloadState> states;
  friend bool operator==(const UpdateWorkloadState&, const UpdateWorkloadState&) = default;
};

// Log messages of the link carry the full request id, which names the collector.
struct LinkLogEntries {
  std::string request_id;
  LogEntriesResponse entries;
  friend bool operator==(const LinkLogEntries&, const LinkLogEntries&) = default;
};
struct LinkLogsStop {
  std::string request_id;
  LogsStopResponse stop;
  friend bool operator==(const LinkLogsStop&, const LinkLogsStop&) = default;
};
struct LinkLogsRequest {
  std::string request_id;
  LogsRequest request;
  friend bool operator==(const LinkLogsRequest&, const LinkLogsRequest&) = default;
};
struct LinkLogsCancel {
  std::string request_id;
  friend bool operator==(const LinkLogsCancel&, const LinkLogsCancel&) = default;
};

using ToServer = std::variant<AgentHello, UpdateWorkloadState, Request, Goodbye, AgentLoadStatus,
                              CommanderHello, LinkLogEntries, LinkLogsStop>;

struct ServerHello {
  std::vector<WorkloadSpecPtr> added;
};

struct UpdateWorkload {
  std::vector<WorkloadSpecPtr> added;
  std::vector<DeletedWorkload> deleted;
};

// What an agent that has just come hears of the others: an UpdateWorkloadState on the wire, but here a snapshot, because
// as many of them may be under way at once as there are agents.
struct StatesOfOthers {
  WorkloadStates states;
  AgentName recipient;
  friend bool operator==(const StatesOfOthers&, const StatesOfOthers&) = default;
};

bool operator==(const ServerHello& a, const ServerHello& b);
bool operator==(const UpdateWorkload& a, const UpdateWorkload& b);

using FromServer = std::variant<UpdateWorkload, UpdateWorkloadState, Response, ServerHello,
                                LinkLogsRequest, LinkLogsCancel, StatesOfOthers>;

// One line for a log or a trace; not meant to be read back.
std::string summary(const ToServer& message);
std::string summary(const FromServer& message);

// -- The control interface between a workload and its agent
// ---------------------------------------------------------

struct ControlInterfaceHello {
  std::string protocol_version;
  friend bool operator==(const ControlInterfaceHello&, const ControlInterfaceHello&) = default;
};
struct ControlInterfaceAccepted {
  friend bool operator==(const ControlInterfaceAccepted&,
                         const ControlInterfaceAccepted&) = default;
};
struct ConnectionClosed {
  std::string reason;
  friend bool operator==(const ConnectionClosed&, const ConnectionClosed&) = default;
};

using ToAnkaios = std::variant<ControlInterfaceHello, Request>;
using FromAnkaios = std::variant<Response, ControlInterfaceAccepted, ConnectionClosed>;

}  // namespace tiphys
