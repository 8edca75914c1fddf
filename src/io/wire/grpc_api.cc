#include "io/wire/grpc_api.h"

#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "io/wire/errors.h"

namespace tiphys::wire {
namespace {

static_assert(static_cast<int>(DeleteCondition::kNotPendingNorRunning) ==
              grpc_api::DEL_COND_NOT_PENDING_NOR_RUNNING);

tl::unexpected<Error> without_inner_message(std::string_view message, std::string_view request_id) {
  return fail(Code::kNotFound,
              concat(message, " without content for request ID: '", request_id, "'"));
}

// All elements, or the error of the first that cannot be read.
template <class Item, class Messages>
Result<std::vector<Item>> read_all(std::string_view field, const Messages& wire) {
  std::vector<Item> items;
  for (const auto& message : wire) {
    auto item = from_wire(message);
    if (!item) return at(field, items.size(), std::move(item).error());
    items.push_back(*std::move(item));
  }
  return items;
}

}  // namespace

void to_wire(const ToServer& message, grpc_api::ToServer& wire) {
  match(
      message, [&](const AgentHello& hello) { to_wire(hello, *wire.mutable_agenthello()); },
      [&](const UpdateWorkloadState& update) {
        to_wire(update, *wire.mutable_updateworkloadstate());
      },
      [&](const Request& request) { to_wire(request, *wire.mutable_request()); },
      [&](const Goodbye&) { wire.mutable_goodbye(); },
      [&](const AgentLoadStatus& status) { to_wire(status, *wire.mutable_agentloadstatus()); },
      [&](const CommanderHello& hello) { to_wire(hello, *wire.mutable_commanderhello()); },
      [&](const LinkLogEntries& entries) { to_wire(entries, *wire.mutable_logentriesresponse()); },
      [&](const LinkLogsStop& stop) { to_wire(stop, *wire.mutable_logsstopresponse()); });
}

Result<ToServer> from_wire(const grpc_api::ToServer& wire) {
  switch (wire.ToServerEnum_case()) {
    case grpc_api::ToServer::kAgentHello:
      return from_wire(wire.agenthello());
    case grpc_api::ToServer::kUpdateWorkloadState:
      return readable_from_wire(wire.updateworkloadstate());
    case grpc_api::ToServer::kRequest:
      return from_wire(wire.request());
    case grpc_api::ToServer::kGoodbye:
      return Goodbye{};
    case grpc_api::ToServer::kAgentLoadStatus:
      return from_wire(wire.agentloadstatus());
    case grpc_api::ToServer::kCommanderHello:
      return from_wire(wire.commanderhello());
    case grpc_api::ToServer::kLogEntriesResponse:
      return from_wire(wire.logentriesresponse());
    case grpc_api::ToServer::kLogsStopResponse:
      return from_wire(wire.logsstopresponse());
    case grpc_api::ToServer::TOSERVERENUM_NOT_SET:
      break;
  }
  return unusable("Missing to_server");
}

void to_wire(const FromServer& message, grpc_api::FromServer& wire) {
  match(
      message,
      [&](const UpdateWorkload& update) { to_wire(update, *wire.mutable_updateworkload()); },
      [&](const UpdateWorkloadState& update) {
        to_wire(update, *wire.mutable_updateworkloadstate());
      },
      [&](const Response& response) { to_wire(response, *wire.mutable_response()); },
      [&](const ServerHello& hello) { to_wire(hello, *wire.mutable_serverhello()); },
      [&](const LinkLogsRequest& request) { to_wire(request, *wire.mutable_logsrequest()); },
      [&](const LinkLogsCancel& cancel) { to_wire(cancel, *wire.mutable_logscancelrequest()); },
      [&](const StatesOfOthers& others) {
        to_wire(UpdateWorkloadState{others.states.of_all_but(others.recipient)},
                *wire.mutable_updateworkloadstate());
      });
}

Result<FromServer> from_wire(const Kept<grpc_api::FromServer>& wire) {
  switch (wire->FromServerEnum_case()) {
    case grpc_api::FromServer::kUpdateWorkload:
      return from_wire(wire->updateworkload());
    case grpc_api::FromServer::kUpdateWorkloadState:
      return from_wire(wire->updateworkloadstate());
    case grpc_api::FromServer::kResponse:
      return from_wire(part_of(wire, wire->response()));
    case grpc_api::FromServer::kServerHello:
      return from_wire(wire->serverhello());
    case grpc_api::FromServer::kLogsRequest:
      return from_wire(wire->logsrequest());
    case grpc_api::FromServer::kLogsCancelRequest:
      return from_wire(wire->logscancelrequest());
    case grpc_api::FromServer::FROMSERVERENUM_NOT_SET:
      break;
  }
  return unusable("Missing from_server");
}

void to_wire(const AgentHello& hello, grpc_api::AgentHello& wire) {
  wire.set_agentname(with_valid_utf8(hello.agent));
  wire.set_protocolversion(with_valid_utf8(hello.protocol_version));
  to_wire(hello.tags, *wire.mutable_tags());
}

AgentHello from_wire(const grpc_api::AgentHello& wire) {
  return {wire.agentname(), wire.protocolversion(), from_wire(wire.tags())};
}

void to_wire(const CommanderHello& hello, grpc_api::CommanderHello& wire) {
  wire.set_protocolversion(with_valid_utf8(hello.protocol_version));
}

CommanderHello from_wire(const grpc_api::CommanderHello& wire) { return {wire.protocolversion()}; }

void to_wire(const AgentLoadStatus& status, grpc_api::AgentLoadStatus& wire) {
  wire.set_agent_name(with_valid_utf8(status.agent));
  wire.mutable_cpu_usage()->set_cpu_usage(status.status.cpu_usage);
  wire.mutable_free_memory()->set_free_memory(status.status.free_memory);
}

AgentLoadStatus from_wire(const grpc_api::AgentLoadStatus& wire) {
  return {wire.agent_name(), {wire.cpu_usage().cpu_usage(), wire.free_memory().free_memory()}};
}

void to_wire(const UpdateWorkloadState& update, grpc_api::UpdateWorkloadState& wire) {
  for (const auto& state : update.states) to_wire(state, *wire.add_workloadstates());
}

Result<UpdateWorkloadState> from_wire(const grpc_api::UpdateWorkloadState& wire) {
  UpdateWorkloadState update;
  TIPHYS_TRY(update.states,
             read_all<WorkloadState>("UpdateWorkloadState.workloadStates", wire.workloadstates()));
  return update;
}

UpdateWorkloadState readable_from_wire(const grpc_api::UpdateWorkloadState& wire) {
  UpdateWorkloadState update;
  for (const auto& state : wire.workloadstates())
    if (auto read = from_wire(state)) update.states.push_back(*std::move(read));
  return update;
}

void to_wire(const LinkLogEntries& entries, grpc_api::LogEntriesResponse& wire) {
  wire.set_requestid(with_valid_utf8(entries.request_id));
  to_wire(entries.entries, *wire.mutable_logentriesresponse());
}

Result<LinkLogEntries> from_wire(const grpc_api::LogEntriesResponse& wire) {
  if (!wire.has_logentriesresponse())
    return without_inner_message("LogEntriesResponse", wire.requestid());
  return LinkLogEntries{wire.requestid(), from_wire(wire.logentriesresponse())};
}

void to_wire(const LinkLogsStop& stop, grpc_api::LogsStopResponse& wire) {
  wire.set_requestid(with_valid_utf8(stop.request_id));
  to_wire(stop.stop, *wire.mutable_logsstopresponse());
}

Result<LinkLogsStop> from_wire(const grpc_api::LogsStopResponse& wire) {
  if (!wire.has_logsstopresponse())
    return without_inner_message("LogsStopResponse", wire.requestid());
  return LinkLogsStop{wire.requestid(), from_wire(wire.logsstopresponse())};
}

void to_wire(const LinkLogsRequest& request, grpc_api::LogsRequest& wire) {
  wire.set_requestid(with_valid_utf8(request.request_id));
  to_wire(request.request, *wire.mutable_logsrequest());
}

Result<LinkLogsRequest> from_wire(const grpc_api::LogsRequest& wire) {
  if (!wire.has_logsrequest()) return without_inner_message("LogsRequest", wire.requestid());
  return LinkLogsRequest{wire.requestid(), from_wire(wire.logsrequest())};
}

void to_wire(const LinkLogsCancel& cancel, grpc_api::LogsCancelRequest& wire) {
  wire.set_requestid(with_valid_utf8(cancel.request_id));
}

LinkLogsCancel from_wire(const grpc_api::LogsCancelRequest& wire) { return {wire.requestid()}; }

void to_wire(const ServerHello& hello, grpc_api::ServerHello& wire) {
  for (const auto& spec : hello.added) to_wire(*spec, *wire.add_addedworkloads());
}

Result<ServerHello> from_wire(const grpc_api::ServerHello& wire) {
  ServerHello hello;
  TIPHYS_TRY(hello.added,
             read_all<WorkloadSpecPtr>("ServerHello.addedWorkloads", wire.addedworkloads()));
  return hello;
}

void to_wire(const UpdateWorkload& update, grpc_api::UpdateWorkload& wire) {
  for (const auto& spec : update.added) to_wire(*spec, *wire.add_addedworkloads());
  for (const auto& deleted : update.deleted) to_wire(deleted, *wire.add_deletedworkloads());
}

Result<UpdateWorkload> from_wire(const grpc_api::UpdateWorkload& wire) {
  UpdateWorkload update;
  TIPHYS_TRY(update.added,
             read_all<WorkloadSpecPtr>("UpdateWorkload.addedWorkloads", wire.addedworkloads()));
  TIPHYS_TRY(update.deleted,
             read_all<DeletedWorkload>("UpdateWorkload.deletedWorkloads", wire.deletedworkloads()));
  return update;
}

void to_wire(const WorkloadSpec& spec, grpc_api::AddedWorkload& wire) {
  to_wire(spec.instance(), *wire.mutable_instancename());
  to_wire(spec.workload(), Empties::kKeep, *wire.mutable_workload());
}

Result<WorkloadSpecPtr> from_wire(const grpc_api::AddedWorkload& wire) {
  if (!wire.has_instancename()) return unusable("No instance name");
  if (!wire.has_workload()) return unusable("No workload");
  TIPHYS_TRY(WorkloadPtr workload, from_wire(wire.workload()));
  return WorkloadSpec::received(from_wire(wire.instancename()), std::move(workload));
}

void to_wire(const DeletedWorkload& deleted, grpc_api::DeletedWorkload& wire) {
  to_wire(deleted.instance, *wire.mutable_instancename());
  for (const auto& [name, condition] : deleted.dependencies)
    (*wire.mutable_dependencies())[with_valid_utf8(name)] =
        static_cast<grpc_api::DeleteCondition>(condition);
}

Result<DeletedWorkload> from_wire(const grpc_api::DeletedWorkload& wire) {
  if (!wire.has_instancename()) return unusable("No instance name");
  DeletedWorkload deleted{from_wire(wire.instancename()), {}};
  for (const auto& [name, condition] : wire.dependencies()) {
    if (!grpc_api::DeleteCondition_IsValid(condition))
      return unknown_value(concat("dependencies.", name), condition);
    deleted.dependencies.emplace(name, static_cast<DeleteCondition>(condition));
  }
  return deleted;
}

}  // namespace tiphys::wire
