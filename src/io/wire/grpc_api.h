#pragma once

// Package grpc_api <-> model, one pair of functions per message.

#include "base/result.h"
#include "grpc_api.pb.h"
#include "io/wire/kept.h"
#include "model/messages.h"

namespace tiphys::wire {

void to_wire(const ToServer& message, grpc_api::ToServer& wire);
Result<ToServer> from_wire(const grpc_api::ToServer& wire);

void to_wire(const FromServer& message, grpc_api::FromServer& wire);
Result<FromServer> from_wire(const Kept<grpc_api::FromServer>& wire);

void to_wire(const AgentHello& hello, grpc_api::AgentHello& wire);
AgentHello from_wire(const grpc_api::AgentHello& wire);

void to_wire(const CommanderHello& hello, grpc_api::CommanderHello& wire);
CommanderHello from_wire(const grpc_api::CommanderHello& wire);

void to_wire(const AgentLoadStatus& status, grpc_api::AgentLoadStatus& wire);
AgentLoadStatus from_wire(const grpc_api::AgentLoadStatus& wire);

void to_wire(const UpdateWorkloadState& update, grpc_api::UpdateWorkloadState& wire);
Result<UpdateWorkloadState> from_wire(const grpc_api::UpdateWorkloadState& wire);
// The states that can be read.
UpdateWorkloadState readable_from_wire(const grpc_api::UpdateWorkloadState& wire);

void to_wire(const LinkLogEntries& entries, grpc_api::LogEntriesResponse& wire);
Result<LinkLogEntries> from_wire(const grpc_api::LogEntriesResponse& wire);

void to_wire(const LinkLogsStop& stop, grpc_api::LogsStopResponse& wire);
Result<LinkLogsStop> from_wire(const grpc_api::LogsStopResponse& wire);

void to_wire(const LinkLogsRequest& request, grpc_api::LogsRequest& wire);
Result<LinkLogsRequest> from_wire(const grpc_api::LogsRequest& wire);

void to_wire(const LinkLogsCancel& cancel, grpc_api::LogsCancelRequest& wire);
LinkLogsCancel from_wire(const grpc_api::LogsCancelRequest& wire);

void to_wire(const ServerHello& hello, grpc_api::ServerHello& wire);
Result<ServerHello> from_wire(const grpc_api::ServerHello& wire);

void to_wire(const UpdateWorkload& update, grpc_api::UpdateWorkload& wire);
Result<UpdateWorkload> from_wire(const grpc_api::UpdateWorkload& wire);

void to_wire(const WorkloadSpec& spec, grpc_api::AddedWorkload& wire);
Result<WorkloadSpecPtr> from_wire(const grpc_api::AddedWorkload& wire);

void to_wire(const DeletedWorkload& deleted, grpc_api::DeletedWorkload& wire);
Result<DeletedWorkload> from_wire(const grpc_api::DeletedWorkload& wire);

}  // namespace tiphys::wire
