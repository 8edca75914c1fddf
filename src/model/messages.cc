#include "model/messages.h"

#include <algorithm>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys {
namespace {

bool equal(const std::vector<WorkloadSpecPtr>& a, const std::vector<WorkloadSpecPtr>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const WorkloadSpecPtr& x, const WorkloadSpecPtr& y) { return x == y || *x == *y; });
}

std::string list_of(const std::vector<WorkloadState>& states) {
  std::string text;
  for (const auto& state : states)
    text += concat(" ", to_string(state.instance), "=", to_string(state.state));
  return text;
}

std::string list_of(const std::vector<WorkloadSpecPtr>& specs) {
  std::string text;
  for (const auto& spec : specs) text += concat(" +", to_string(spec->instance()));
  return text;
}

std::string list_of(const std::vector<DeletedWorkload>& deleted) {
  std::string text;
  for (const auto& workload : deleted) {
    text += concat(" -", to_string(workload.instance));
    for (const auto& [dependent, condition] : workload.dependencies)
      text += concat("<", dependent, ":", to_string(condition));
  }
  return text;
}

std::string list_of(const std::vector<InstanceName>& instances) {
  std::string text;
  for (const auto& instance : instances) text += concat(" ", to_string(instance));
  return text;
}

std::string summary_of(const Request& request) {
  return match(
      request.content,
      [&](const UpdateStateRequest& r) {
        return concat("UpdateStateRequest ", request.id, " ", join(r.update_masks, ","));
      },
      [&](const CompleteStateRequest& r) {
        return concat("CompleteStateRequest ", request.id, " ", join(r.field_masks, ","));
      },
      [&](const LogsRequest& r) {
        return concat("LogsRequest ", request.id, list_of(r.instances));
      },
      [&](const LogsCancelRequest&) { return concat("LogsCancelRequest ", request.id); },
      [&](const EventsCancelRequest&) { return concat("EventsCancelRequest ", request.id); });
}

std::string summary_of(const Response& response) {
  return match(
      response.content,
      [&](const ErrorResponse& r) { return concat("Error ", response.id, ": ", r.message); },
      [&](const CompleteStateResponse&) { return concat("CompleteStateResponse ", response.id); },
      [&](const UpdateStateSuccess& r) {
        return concat("UpdateStateSuccess ", response.id, " +[", join(r.added_workloads, ","),
                      "] -[", join(r.deleted_workloads, ","), "]");
      },
      [&](const LogsRequestAccepted& r) {
        return concat("LogsRequestAccepted ", response.id, list_of(r.instances));
      },
      [&](const LogEntriesResponse&) { return concat("LogEntriesResponse ", response.id); },
      [&](const LogsStopResponse& r) {
        return concat("LogsStopResponse ", response.id, list_of(std::vector{r.instance}));
      },
      [&](const LogsCancelAccepted&) { return concat("LogsCancelAccepted ", response.id); },
      [&](const EventsCancelAccepted&) { return concat("EventsCancelAccepted ", response.id); });
}

}  // namespace

std::string summary(const ToServer& message) {
  return match(
      message, [](const AgentHello& m) { return concat("AgentHello ", m.agent); },
      [](const UpdateWorkloadState& m) { return concat("UpdateWorkloadState", list_of(m.states)); },
      [](const Request& m) { return summary_of(m); },
      [](const Goodbye&) { return std::string("Goodbye"); },
      [](const AgentLoadStatus& m) { return concat("AgentLoadStatus ", m.agent); },
      [](const CommanderHello&) { return std::string("CommanderHello"); },
      [](const LinkLogEntries& m) { return concat("LogEntriesResponse ", m.request_id); },
      [](const LinkLogsStop& m) {
        return concat("LogsStopResponse ", m.request_id, list_of(std::vector{m.stop.instance}));
      });
}

std::string summary(const FromServer& message) {
  return match(
      message,
      [](const UpdateWorkload& m) {
        return concat("UpdateWorkload", list_of(m.deleted), list_of(m.added));
      },
      [](const UpdateWorkloadState& m) { return concat("UpdateWorkloadState", list_of(m.states)); },
      [](const Response& m) { return summary_of(m); },
      [](const ServerHello& m) { return concat("ServerHello", list_of(m.added)); },
      [](const LinkLogsRequest& m) {
        return concat("LogsRequest ", m.request_id, list_of(m.request.instances));
      },
      [](const LinkLogsCancel& m) { return concat("LogsCancelRequest ", m.request_id); },
      [](const StatesOfOthers& m) {
        return concat("UpdateWorkloadState", list_of(m.states.of_all_but(m.recipient)));
      });
}

bool operator==(const ServerHello& a, const ServerHello& b) { return equal(a.added, b.added); }

bool operator==(const UpdateWorkload& a, const UpdateWorkload& b) {
  return equal(a.added, b.added) && a.deleted == b.deleted;
}

}  // namespace tiphys
