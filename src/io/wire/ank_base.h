#pragma once

// Package ank_base <-> model, one pair of functions per message. A from_wire that cannot fail returns its value; the
// others say what is missing. What is Kept may be read from later.

#include <map>
#include <string>

#include "ank_base.pb.h"
#include "base/result.h"
#include "io/wire/kept.h"
#include "model/messages.h"

namespace tiphys::wire {

void to_wire(const Request& request, ank_base::Request& wire);
Result<Request> from_wire(const ank_base::Request& wire);

void to_wire(const Response& response, ank_base::Response& wire);
Result<Response> from_wire(const Kept<ank_base::Response>& wire);

void to_wire(const ErrorResponse& error, ank_base::Error& wire);
ErrorResponse from_wire(const ank_base::Error& wire);

void to_wire(const UpdateStateRequest& request, ank_base::UpdateStateRequest& wire);
Result<UpdateStateRequest> from_wire(const ank_base::UpdateStateRequest& wire);

void to_wire(const UpdateStateSuccess& success, ank_base::UpdateStateSuccess& wire);
UpdateStateSuccess from_wire(const ank_base::UpdateStateSuccess& wire);

void to_wire(const CompleteStateRequest& request, ank_base::CompleteStateRequest& wire);
CompleteStateRequest from_wire(const ank_base::CompleteStateRequest& wire);

void to_wire(const CompleteStateResponse& response, ank_base::CompleteStateResponse& wire);
CompleteStateResponse from_wire(const Kept<ank_base::CompleteStateResponse>& wire);

void to_wire(const AlteredFields& altered, ank_base::AlteredFields& wire);
AlteredFields from_wire(const ank_base::AlteredFields& wire);

void to_wire(const LogsRequest& request, ank_base::LogsRequest& wire);
LogsRequest from_wire(const ank_base::LogsRequest& wire);

void to_wire(const LogsRequestAccepted& accepted, ank_base::LogsRequestAccepted& wire);
LogsRequestAccepted from_wire(const ank_base::LogsRequestAccepted& wire);

void to_wire(const LogEntriesResponse& response, ank_base::LogEntriesResponse& wire);
LogEntriesResponse from_wire(const ank_base::LogEntriesResponse& wire);

// Entries and stops may come without an instance name, and go on without one.
void to_wire(const LogEntry& entry, ank_base::LogEntry& wire);
LogEntry from_wire(const ank_base::LogEntry& wire);

void to_wire(const LogsStopResponse& response, ank_base::LogsStopResponse& wire);
LogsStopResponse from_wire(const ank_base::LogsStopResponse& wire);

void to_wire(const InstanceName& instance, ank_base::WorkloadInstanceName& wire);
InstanceName from_wire(const ank_base::WorkloadInstanceName& wire);

void to_wire(const WorkloadState& state, ank_base::WorkloadState& wire);
Result<WorkloadState> from_wire(const ank_base::WorkloadState& wire);

void to_wire(const ExecutionState& state, ank_base::ExecutionState& wire);
Result<ExecutionState> from_wire(const ank_base::ExecutionState& wire);

// The member of an execution state's oneof by field number; the value may be one that no phase has.
void set_member(ank_base::ExecutionState& wire, int field, int value);
int member_value(const ank_base::ExecutionState& wire);

// Empties says whether a part that holds nothing is set all the same.
void to_wire(const Workload& workload, Empties empties, ank_base::Workload& wire);
Result<WorkloadPtr> from_wire(const ank_base::Workload& wire);

void to_wire(const std::map<std::string, AddCondition>& dependencies, ank_base::Dependencies& wire);
Result<std::map<std::string, AddCondition>> from_wire(const ank_base::Dependencies& wire);

void to_wire(const Tags& tags, ank_base::Tags& wire);
Tags from_wire(const ank_base::Tags& wire);

void to_wire(const std::map<std::string, std::string>& configs, ank_base::ConfigMappings& wire);
std::map<std::string, std::string> from_wire(const ank_base::ConfigMappings& wire);

void to_wire(const std::vector<File>& files, ank_base::Files& wire);
Result<std::vector<File>> from_wire(const ank_base::Files& wire);

void to_wire(const File& file, ank_base::File& wire);
Result<File> from_wire(const ank_base::File& wire);

void to_wire(const ControlInterfaceAccess& access, ank_base::ControlInterfaceAccess& wire);
Result<ControlInterfaceAccess> from_wire(const ank_base::ControlInterfaceAccess& wire);

void to_wire(const AccessRule& rule, ank_base::AccessRightsRule& wire);
Result<AccessRule> from_wire(const ank_base::AccessRightsRule& wire);

void to_wire(const StateRule& rule, ank_base::StateRule& wire);
Result<StateRule> from_wire(const ank_base::StateRule& wire);

void to_wire(const LogRule& rule, ank_base::LogRule& wire);
LogRule from_wire(const ank_base::LogRule& wire);

ank_base::ReadWriteEnum to_wire(Operation operation);
// Nothing for a number that no operation has.
std::optional<Operation> from_wire(ank_base::ReadWriteEnum operation);

void to_wire(const AgentAttributes& attributes, Empties empties, ank_base::AgentAttributes& wire);

void to_wire(const AgentStatus& status, ank_base::AgentStatus& wire);

}  // namespace tiphys::wire
