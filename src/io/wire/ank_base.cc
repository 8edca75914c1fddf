#include "io/wire/ank_base.h"

#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/wire/errors.h"
#include "io/wire/state_tree.h"

namespace tiphys::wire {
namespace {

using Strings = google::protobuf::RepeatedPtrField<std::string>;
using StringMap = google::protobuf::Map<std::string, std::string>;

// These enumerations have the same numbers inside and outside.
static_assert(static_cast<int>(RestartPolicy::kAlways) == ank_base::ALWAYS);
static_assert(static_cast<int>(AddCondition::kFailed) == ank_base::ADD_COND_FAILED);

void strings_to_wire(const std::vector<std::string>& strings, Strings& wire) {
  wire.Reserve(static_cast<int>(strings.size()));
  for (const auto& text : strings) *wire.Add() = with_valid_utf8(text);
}

std::vector<std::string> strings_from_wire(const Strings& wire) {
  return {wire.begin(), wire.end()};
}

void map_to_wire(const std::map<std::string, std::string>& map, StringMap& wire) {
  for (const auto& [key, value] : map) wire[with_valid_utf8(key)] = with_valid_utf8(value);
}

std::map<std::string, std::string> map_from_wire(const StringMap& wire) {
  return {wire.begin(), wire.end()};
}

void instances_to_wire(const std::vector<InstanceName>& instances,
                       google::protobuf::RepeatedPtrField<ank_base::WorkloadInstanceName>& wire) {
  for (const auto& instance : instances) to_wire(instance, *wire.Add());
}

std::vector<InstanceName> instances_from_wire(
    const google::protobuf::RepeatedPtrField<ank_base::WorkloadInstanceName>& wire) {
  std::vector<InstanceName> instances;
  instances.reserve(static_cast<std::size_t>(wire.size()));
  for (const auto& instance : wire) instances.push_back(from_wire(instance));
  return instances;
}

Result<std::vector<AccessRule>> rules_from_wire(
    std::string_view field,
    const google::protobuf::RepeatedPtrField<ank_base::AccessRightsRule>& wire) {
  std::vector<AccessRule> rules;
  for (const auto& rule : wire) {
    auto read = from_wire(rule);
    if (!read) return at(field, rules.size(), std::move(read).error());
    rules.push_back(*std::move(read));
  }
  return rules;
}

}  // namespace

void to_wire(const Request& request, ank_base::Request& wire) {
  wire.set_requestid(with_valid_utf8(request.id));
  match(
      request.content,
      [&](const UpdateStateRequest& content) {
        to_wire(content, *wire.mutable_updatestaterequest());
      },
      [&](const CompleteStateRequest& content) {
        to_wire(content, *wire.mutable_completestaterequest());
      },
      [&](const LogsRequest& content) { to_wire(content, *wire.mutable_logsrequest()); },
      [&](const LogsCancelRequest&) { wire.mutable_logscancelrequest(); },
      [&](const EventsCancelRequest&) { wire.mutable_eventscancelrequest(); });
}

Result<Request> from_wire(const ank_base::Request& wire) {
  Request request{wire.requestid(), {}};
  switch (wire.RequestContent_case()) {
    case ank_base::Request::kUpdateStateRequest: {
      TIPHYS_TRY(request.content, from_wire(wire.updatestaterequest()));
      return request;
    }
    case ank_base::Request::kCompleteStateRequest:
      request.content = from_wire(wire.completestaterequest());
      return request;
    case ank_base::Request::kLogsRequest:
      request.content = from_wire(wire.logsrequest());
      return request;
    case ank_base::Request::kLogsCancelRequest:
      request.content = LogsCancelRequest{};
      return request;
    case ank_base::Request::kEventsCancelRequest:
      request.content = EventsCancelRequest{};
      return request;
    case ank_base::Request::REQUESTCONTENT_NOT_SET:
      break;
  }
  return unusable(concat("Request content empty for request ID: '", request.id, "'"));
}

void to_wire(const Response& response, ank_base::Response& wire) {
  wire.set_requestid(with_valid_utf8(response.id));
  match(
      response.content,
      [&](const ErrorResponse& content) { to_wire(content, *wire.mutable_error()); },
      [&](const CompleteStateResponse& content) {
        to_wire(content, *wire.mutable_completestateresponse());
      },
      [&](const UpdateStateSuccess& content) {
        to_wire(content, *wire.mutable_updatestatesuccess());
      },
      [&](const LogsRequestAccepted& content) {
        to_wire(content, *wire.mutable_logsrequestaccepted());
      },
      [&](const LogEntriesResponse& content) {
        to_wire(content, *wire.mutable_logentriesresponse());
      },
      [&](const LogsStopResponse& content) { to_wire(content, *wire.mutable_logsstopresponse()); },
      [&](const LogsCancelAccepted&) { wire.mutable_logscancelaccepted(); },
      [&](const EventsCancelAccepted&) { wire.mutable_eventscancelaccepted(); });
}

Result<Response> from_wire(const Kept<ank_base::Response>& wire) {
  Response response{wire->requestid(), {}};
  switch (wire->ResponseContent_case()) {
    case ank_base::Response::kError:
      response.content = from_wire(wire->error());
      return response;
    case ank_base::Response::kCompleteStateResponse:
      response.content = from_wire(part_of(wire, wire->completestateresponse()));
      return response;
    case ank_base::Response::kUpdateStateSuccess:
      response.content = from_wire(wire->updatestatesuccess());
      return response;
    case ank_base::Response::kLogsRequestAccepted:
      response.content = from_wire(wire->logsrequestaccepted());
      return response;
    case ank_base::Response::kLogEntriesResponse:
      response.content = from_wire(wire->logentriesresponse());
      return response;
    case ank_base::Response::kLogsStopResponse:
      response.content = from_wire(wire->logsstopresponse());
      return response;
    case ank_base::Response::kLogsCancelAccepted:
      response.content = LogsCancelAccepted{};
      return response;
    case ank_base::Response::kEventsCancelAccepted:
      response.content = EventsCancelAccepted{};
      return response;
    case ank_base::Response::RESPONSECONTENT_NOT_SET:
      break;
  }
  return unusable(concat("Response content empty for request ID: '", response.id, "'"));
}

void to_wire(const ErrorResponse& error, ank_base::Error& wire) {
  wire.set_message(with_valid_utf8(error.message));
}

ErrorResponse from_wire(const ank_base::Error& wire) { return {wire.message()}; }

void to_wire(const UpdateStateRequest& request, ank_base::UpdateStateRequest& wire) {
  to_wire(request.new_state, Empties::kOmit, *wire.mutable_newstate());
  strings_to_wire(request.update_masks, *wire.mutable_updatemask());
}

Result<UpdateStateRequest> from_wire(const ank_base::UpdateStateRequest& wire) {
  if (!wire.has_newstate()) return unusable("No CompleteState for forwarding.");
  return UpdateStateRequest{update_from_wire(wire.newstate()),
                            strings_from_wire(wire.updatemask())};
}

void to_wire(const UpdateStateSuccess& success, ank_base::UpdateStateSuccess& wire) {
  strings_to_wire(success.added_workloads, *wire.mutable_addedworkloads());
  strings_to_wire(success.deleted_workloads, *wire.mutable_deletedworkloads());
}

UpdateStateSuccess from_wire(const ank_base::UpdateStateSuccess& wire) {
  return {strings_from_wire(wire.addedworkloads()), strings_from_wire(wire.deletedworkloads())};
}

void to_wire(const CompleteStateRequest& request, ank_base::CompleteStateRequest& wire) {
  strings_to_wire(request.field_masks, *wire.mutable_fieldmask());
  wire.set_subscribeforevents(request.subscribe_for_events);
}

CompleteStateRequest from_wire(const ank_base::CompleteStateRequest& wire) {
  return {strings_from_wire(wire.fieldmask()), wire.subscribeforevents()};
}

void to_wire(const CompleteStateResponse& response, ank_base::CompleteStateResponse& wire) {
  to_wire(response.complete_state, response.empties, *wire.mutable_completestate());
  if (response.altered_fields) to_wire(*response.altered_fields, *wire.mutable_alteredfields());
}

CompleteStateResponse from_wire(const Kept<ank_base::CompleteStateResponse>& wire) {
  Answer answer = answer_from_wire(part_of(wire, wire->completestate()));
  CompleteStateResponse response{std::move(answer.complete_state), std::nullopt, answer.empties};
  if (wire->has_alteredfields()) response.altered_fields = from_wire(wire->alteredfields());
  return response;
}

void to_wire(const AlteredFields& altered, ank_base::AlteredFields& wire) {
  strings_to_wire(altered.added, *wire.mutable_addedfields());
  strings_to_wire(altered.updated, *wire.mutable_updatedfields());
  strings_to_wire(altered.removed, *wire.mutable_removedfields());
}

AlteredFields from_wire(const ank_base::AlteredFields& wire) {
  return {strings_from_wire(wire.addedfields()), strings_from_wire(wire.updatedfields()),
          strings_from_wire(wire.removedfields())};
}

void to_wire(const LogsRequest& request, ank_base::LogsRequest& wire) {
  instances_to_wire(request.instances, *wire.mutable_workloadnames());
  if (request.follow) wire.set_follow(*request.follow);
  if (request.tail) wire.set_tail(*request.tail);
  if (request.since) wire.set_since(with_valid_utf8(*request.since));
  if (request.until) wire.set_until(with_valid_utf8(*request.until));
}

LogsRequest from_wire(const ank_base::LogsRequest& wire) {
  LogsRequest request;
  request.instances = instances_from_wire(wire.workloadnames());
  if (wire.has_follow()) request.follow = wire.follow();
  if (wire.has_tail()) request.tail = wire.tail();
  if (wire.has_since()) request.since = wire.since();
  if (wire.has_until()) request.until = wire.until();
  return request;
}

void to_wire(const LogsRequestAccepted& accepted, ank_base::LogsRequestAccepted& wire) {
  instances_to_wire(accepted.instances, *wire.mutable_workloadnames());
}

LogsRequestAccepted from_wire(const ank_base::LogsRequestAccepted& wire) {
  return {instances_from_wire(wire.workloadnames())};
}

void to_wire(const LogEntriesResponse& response, ank_base::LogEntriesResponse& wire) {
  for (const auto& entry : response.entries) to_wire(entry, *wire.add_logentries());
}

LogEntriesResponse from_wire(const ank_base::LogEntriesResponse& wire) {
  LogEntriesResponse response;
  response.entries.reserve(static_cast<std::size_t>(wire.logentries_size()));
  for (const auto& entry : wire.logentries()) response.entries.push_back(from_wire(entry));
  return response;
}

void to_wire(const LogEntry& entry, ank_base::LogEntry& wire) {
  if (entry.instance != InstanceName{}) to_wire(entry.instance, *wire.mutable_workloadname());
  wire.set_message(with_valid_utf8(entry.message));
}

LogEntry from_wire(const ank_base::LogEntry& wire) {
  return {from_wire(wire.workloadname()), wire.message()};
}

void to_wire(const LogsStopResponse& response, ank_base::LogsStopResponse& wire) {
  if (response.instance != InstanceName{}) to_wire(response.instance, *wire.mutable_workloadname());
}

LogsStopResponse from_wire(const ank_base::LogsStopResponse& wire) {
  return {from_wire(wire.workloadname())};
}

void to_wire(const InstanceName& instance, ank_base::WorkloadInstanceName& wire) {
  wire.set_workloadname(with_valid_utf8(instance.workload.value));
  wire.set_agentname(with_valid_utf8(instance.agent.value));
  wire.set_id(with_valid_utf8(instance.id.value));
}

InstanceName from_wire(const ank_base::WorkloadInstanceName& wire) {
  return {{wire.workloadname()}, {wire.id()}, {wire.agentname()}};
}

void to_wire(const WorkloadState& state, ank_base::WorkloadState& wire) {
  to_wire(state.instance, *wire.mutable_instancename());
  to_wire(state.state, *wire.mutable_executionstate());
}

Result<WorkloadState> from_wire(const ank_base::WorkloadState& wire) {
  if (!wire.has_instancename()) return missing("instanceName");
  if (!wire.has_executionstate()) return missing("executionState");
  TIPHYS_TRY(ExecutionState state, from_wire(wire.executionstate()));
  return WorkloadState{from_wire(wire.instancename()), std::move(state)};
}

void to_wire(const ExecutionState& state, ank_base::ExecutionState& wire) {
  const PhaseRow& row = row_of(state.phase);
  set_member(wire, row.wire_field, row.wire_value);
  wire.set_additionalinfo(with_valid_utf8(state.additional_info));
}

Result<ExecutionState> from_wire(const ank_base::ExecutionState& wire) {
  if (!wire.has_additionalinfo()) return missing("additionalInfo");
  if (wire.ExecutionStateEnum_case() == ank_base::ExecutionState::EXECUTIONSTATEENUM_NOT_SET)
    return missing("ExecutionStateEnum");
  const int value = member_value(wire);
  const auto phase = phase_of_wire(wire.ExecutionStateEnum_case(), value);
  if (!phase) return unknown_value("executionState", value);
  return ExecutionState(*phase, wire.additionalinfo());
}

void set_member(ank_base::ExecutionState& wire, int field, int value) {
  switch (static_cast<ank_base::ExecutionState::ExecutionStateEnumCase>(field)) {
    case ank_base::ExecutionState::kAgentDisconnected:
      return wire.set_agentdisconnected(static_cast<ank_base::AgentDisconnected>(value));
    case ank_base::ExecutionState::kPending:
      return wire.set_pending(static_cast<ank_base::Pending>(value));
    case ank_base::ExecutionState::kRunning:
      return wire.set_running(static_cast<ank_base::Running>(value));
    case ank_base::ExecutionState::kStopping:
      return wire.set_stopping(static_cast<ank_base::Stopping>(value));
    case ank_base::ExecutionState::kSucceeded:
      return wire.set_succeeded(static_cast<ank_base::Succeeded>(value));
    case ank_base::ExecutionState::kFailed:
      return wire.set_failed(static_cast<ank_base::Failed>(value));
    case ank_base::ExecutionState::kNotScheduled:
      return wire.set_notscheduled(static_cast<ank_base::NotScheduled>(value));
    case ank_base::ExecutionState::kRemoved:
      return wire.set_removed(static_cast<ank_base::Removed>(value));
    case ank_base::ExecutionState::EXECUTIONSTATEENUM_NOT_SET:
      return wire.clear_ExecutionStateEnum();
  }
}

int member_value(const ank_base::ExecutionState& wire) {
  switch (wire.ExecutionStateEnum_case()) {
    case ank_base::ExecutionState::kAgentDisconnected:
      return wire.agentdisconnected();
    case ank_base::ExecutionState::kPending:
      return wire.pending();
    case ank_base::ExecutionState::kRunning:
      return wire.running();
    case ank_base::ExecutionState::kStopping:
      return wire.stopping();
    case ank_base::ExecutionState::kSucceeded:
      return wire.succeeded();
    case ank_base::ExecutionState::kFailed:
      return wire.failed();
    case ank_base::ExecutionState::kNotScheduled:
      return wire.notscheduled();
    case ank_base::ExecutionState::kRemoved:
      return wire.removed();
    case ank_base::ExecutionState::EXECUTIONSTATEENUM_NOT_SET:
      break;
  }
  return 0;
}

// [impl->swdd~api-conversions-between-ank-base-and-spec~1]
void to_wire(const Workload& workload, Empties empties, ank_base::Workload& wire) {
  const bool keep = empties == Empties::kKeep;
  wire.set_agent(with_valid_utf8(workload.agent));
  wire.set_restartpolicy(static_cast<ank_base::RestartPolicy>(workload.restart_policy));
  if (keep || !workload.dependencies.empty())
    to_wire(workload.dependencies, *wire.mutable_dependencies());
  if (keep || !workload.tags.empty()) to_wire(workload.tags, *wire.mutable_tags());
  wire.set_runtime(with_valid_utf8(workload.runtime));
  wire.set_runtimeconfig(with_valid_utf8(workload.runtime_config));
  if (keep || !workload.access.empty())
    to_wire(workload.access, *wire.mutable_controlinterfaceaccess());
  if (keep || !workload.configs.empty()) to_wire(workload.configs, *wire.mutable_configs());
  if (keep || !workload.files.empty()) to_wire(workload.files, *wire.mutable_files());
}

// [impl->swdd~api-conversions-between-ank-base-and-spec~1]
Result<WorkloadPtr> from_wire(const ank_base::Workload& wire) {
  if (!wire.has_agent()) return missing("agent");
  if (!wire.has_runtime()) return missing("runtime");
  if (!wire.has_runtimeconfig()) return missing("runtimeConfig");
  if (!ank_base::RestartPolicy_IsValid(wire.restartpolicy()))
    return unknown_value("restartPolicy", wire.restartpolicy());
  auto workload = std::make_shared<Workload>();
  workload->agent = wire.agent();
  workload->runtime = wire.runtime();
  workload->runtime_config = wire.runtimeconfig();
  workload->restart_policy = static_cast<RestartPolicy>(wire.restartpolicy());
  TIPHYS_TRY(workload->dependencies, from_wire(wire.dependencies()));
  workload->tags = from_wire(wire.tags());
  workload->configs = from_wire(wire.configs());
  TIPHYS_TRY(workload->files, from_wire(wire.files()));
  TIPHYS_TRY(workload->access, from_wire(wire.controlinterfaceaccess()));
  return workload;
}

void to_wire(const std::map<std::string, AddCondition>& dependencies,
             ank_base::Dependencies& wire) {
  for (const auto& [name, condition] : dependencies)
    (*wire.mutable_dependencies())[with_valid_utf8(name)] =
        static_cast<ank_base::AddCondition>(condition);
}

Result<std::map<std::string, AddCondition>> from_wire(const ank_base::Dependencies& wire) {
  std::map<std::string, AddCondition> dependencies;
  for (const auto& [name, condition] : wire.dependencies()) {
    if (!ank_base::AddCondition_IsValid(condition))
      return unknown_value(concat("dependencies.", name), condition);
    dependencies.emplace(name, static_cast<AddCondition>(condition));
  }
  return dependencies;
}

void to_wire(const Tags& tags, ank_base::Tags& wire) { map_to_wire(tags, *wire.mutable_tags()); }

Tags from_wire(const ank_base::Tags& wire) { return map_from_wire(wire.tags()); }

void to_wire(const std::map<std::string, std::string>& configs, ank_base::ConfigMappings& wire) {
  map_to_wire(configs, *wire.mutable_configs());
}

std::map<std::string, std::string> from_wire(const ank_base::ConfigMappings& wire) {
  return map_from_wire(wire.configs());
}

void to_wire(const std::vector<File>& files, ank_base::Files& wire) {
  for (const auto& file : files) to_wire(file, *wire.add_files());
}

Result<std::vector<File>> from_wire(const ank_base::Files& wire) {
  std::vector<File> files;
  for (const auto& file : wire.files()) {
    auto read = from_wire(file);
    if (!read) return at("files", files.size(), std::move(read).error());
    files.push_back(*std::move(read));
  }
  return files;
}

void to_wire(const File& file, ank_base::File& wire) {
  wire.set_mountpoint(with_valid_utf8(file.mount_point));
  if (file.encoding == File::Encoding::kText)
    wire.set_data(with_valid_utf8(file.content));
  else
    wire.set_binarydata(with_valid_utf8(file.content));
}

Result<File> from_wire(const ank_base::File& wire) {
  switch (wire.FileContent_case()) {
    case ank_base::File::kData:
      return File{wire.mountpoint(), File::Encoding::kText, wire.data()};
    case ank_base::File::kBinaryData:
      return File{wire.mountpoint(), File::Encoding::kBase64, wire.binarydata()};
    case ank_base::File::FILECONTENT_NOT_SET:
      break;
  }
  return missing("FileContent");
}

void to_wire(const ControlInterfaceAccess& access, ank_base::ControlInterfaceAccess& wire) {
  for (const auto& rule : access.allow_rules) to_wire(rule, *wire.add_allowrules());
  for (const auto& rule : access.deny_rules) to_wire(rule, *wire.add_denyrules());
}

Result<ControlInterfaceAccess> from_wire(const ank_base::ControlInterfaceAccess& wire) {
  ControlInterfaceAccess access;
  TIPHYS_TRY(access.allow_rules,
             rules_from_wire("controlInterfaceAccess.allowRules", wire.allowrules()));
  TIPHYS_TRY(access.deny_rules,
             rules_from_wire("controlInterfaceAccess.denyRules", wire.denyrules()));
  return access;
}

void to_wire(const AccessRule& rule, ank_base::AccessRightsRule& wire) {
  match(
      rule, [&](const StateRule& content) { to_wire(content, *wire.mutable_staterule()); },
      [&](const LogRule& content) { to_wire(content, *wire.mutable_logrule()); });
}

Result<AccessRule> from_wire(const ank_base::AccessRightsRule& wire) {
  switch (wire.AccessRightsRuleEnum_case()) {
    case ank_base::AccessRightsRule::kStateRule:
      return from_wire(wire.staterule());
    case ank_base::AccessRightsRule::kLogRule:
      return from_wire(wire.logrule());
    case ank_base::AccessRightsRule::ACCESSRIGHTSRULEENUM_NOT_SET:
      break;
  }
  return missing("AccessRightsRuleEnum");
}

void to_wire(const StateRule& rule, ank_base::StateRule& wire) {
  wire.set_operation(to_wire(rule.operation));
  strings_to_wire(rule.filter_masks, *wire.mutable_filtermasks());
}

Result<StateRule> from_wire(const ank_base::StateRule& wire) {
  const auto operation = from_wire(wire.operation());
  if (!operation) return unknown_value("operation", wire.operation());
  return StateRule{*operation, strings_from_wire(wire.filtermasks())};
}

void to_wire(const LogRule& rule, ank_base::LogRule& wire) {
  strings_to_wire(rule.workload_names, *wire.mutable_workloadnames());
}

LogRule from_wire(const ank_base::LogRule& wire) {
  return {strings_from_wire(wire.workloadnames())};
}

ank_base::ReadWriteEnum to_wire(Operation operation) {
  switch (operation) {
    case Operation::kNothing:
      return ank_base::RW_NOTHING;
    case Operation::kRead:
      return ank_base::RW_READ;
    case Operation::kWrite:
      return ank_base::RW_WRITE;
    case Operation::kReadWrite:
      break;
  }
  return ank_base::RW_READ_WRITE;
}

std::optional<Operation> from_wire(ank_base::ReadWriteEnum operation) {
  for (const auto known :
       {Operation::kNothing, Operation::kRead, Operation::kWrite, Operation::kReadWrite})
    if (to_wire(known) == operation) return known;
  return std::nullopt;
}

void to_wire(const AgentAttributes& attributes, Empties empties, ank_base::AgentAttributes& wire) {
  if (attributes.status) to_wire(*attributes.status, *wire.mutable_status());
  if (empties == Empties::kKeep || !attributes.tags.empty())
    to_wire(attributes.tags, *wire.mutable_tags());
}

void to_wire(const AgentStatus& status, ank_base::AgentStatus& wire) {
  wire.mutable_cpu_usage()->set_cpu_usage(status.cpu_usage);
  wire.mutable_free_memory()->set_free_memory(status.free_memory);
}

}  // namespace tiphys::wire
