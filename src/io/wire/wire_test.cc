// Every message comes back as it went out; and what the decoder says of messages that it cannot use.

#include "io/wire/wire.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "control_api.pb.h"
#include "grpc_api.pb.h"
#include "model/path.h"

namespace tiphys::wire {
namespace {

// -- Random messages

std::string text() {
  return *rc::gen::element<std::string>("", "a", "v1", "ä€𝄞", "x.y", "a@b", "\n\t");
}

template <class Make>
auto several(Make make) {
  std::vector<decltype(make())> items;
  const auto count = *rc::gen::inRange<std::size_t>(0, 4);
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) items.push_back(make());
  return items;
}

std::vector<std::string> texts() { return several(text); }

bool maybe() { return *rc::gen::arbitrary<bool>(); }

std::map<std::string, std::string> text_map() {
  std::map<std::string, std::string> map;
  for (auto& key : texts()) map.emplace(std::move(key), text());
  return map;
}

template <class Enum>
Enum one_of(Enum last) {
  return static_cast<Enum>(*rc::gen::inRange(0, static_cast<int>(last) + 1));
}

InstanceName any_instance() { return {{text()}, {text()}, {text()}}; }

InstanceName valid_instance() {
  return {{*rc::gen::element<std::string>("w", "nginx")},
          {*rc::gen::element<std::string>("1", "ab0f")},
          {*rc::gen::element<std::string>("", "agent_A")}};
}

ExecutionState execution_state() { return ExecutionState(one_of(Phase::kRemoved), text()); }

AccessRule access_rule() {
  if (maybe()) return StateRule{one_of(Operation::kReadWrite), texts()};
  return LogRule{texts()};
}

WorkloadPtr workload() {
  auto made = std::make_shared<Workload>();
  made->agent = text();
  made->runtime = text();
  made->runtime_config = text();
  made->restart_policy = one_of(RestartPolicy::kAlways);
  for (auto& name : texts())
    made->dependencies.edit().emplace(std::move(name), one_of(AddCondition::kFailed));
  made->tags = text_map();
  made->configs = text_map();
  made->files = several([] { return File{text(), one_of(File::Encoding::kBase64), text()}; });
  made->access.edit().allow_rules = several(access_rule);
  made->access.edit().deny_rules = several(access_rule);
  return made;
}

// The names and access rules of a spec are well-formed, whatever else it holds.
WorkloadSpecPtr workload_spec() {
  Workload made = *workload();
  made.access.edit() = {{StateRule{one_of(Operation::kReadWrite), {"a.*"}}},
                        {LogRule{{"w*", "x"}}}};
  if (maybe()) made.access = {};
  return *WorkloadSpec::received(valid_instance(), std::make_shared<const Workload>(made));
}

Tree config_item(int depth) {
  switch (depth == 0 ? 0 : *rc::gen::inRange(0, 3)) {
    case 1:
      return Tree(several([&] { return config_item(depth - 1); }));
    case 2: {
      Tree::Map map;
      for (auto& key : texts()) map = map.set(std::move(key), config_item(depth - 1));
      return map;
    }
    default:
      return Tree(text());
  }
}

CompleteState complete_state() {
  CompleteState state;
  for (auto& name : texts())
    state.desired.workloads = state.desired.workloads.set(name, workload());
  for (auto& key : texts())
    state.desired.configs = state.desired.configs.set(std::move(key), config_item(3));
  for (const auto& instance : several(any_instance))
    state.workload_states.update({instance, execution_state()});
  for (auto& name : texts()) {
    auto attributes = std::make_shared<AgentAttributes>();
    if (maybe()) attributes->status = AgentStatus{*rc::gen::arbitrary<std::uint32_t>(), 7};
    attributes->tags = text_map();
    state.agents =
        state.agents.set(std::move(name), std::shared_ptr<const AgentAttributes>(attributes));
  }
  for (auto& name : texts())
    state.effective_workloads = state.effective_workloads.set(std::move(name), workload_spec());
  return state;
}

// What a mask selects. The API version goes with every state, as it does in a server's answer.
Tree masked_state() {
  static const std::vector<std::string> kMasks{"desiredState",
                                               "desiredState.workloads.*.agent",
                                               "desiredState.workloads.*.tags",
                                               "effectiveState",
                                               "desiredState.configs.a",
                                               "effectiveState.workloads.*.files",
                                               "workloadStates",
                                               "workloadStates.*.*.*.additionalInfo",
                                               "agents",
                                               "agents.*.status.cpuUsage",
                                               "agents.*.tags.a"};
  std::vector<Path> masks{parse_path("desiredState.apiVersion"),
                          parse_path("effectiveState.apiVersion")};
  for (const auto& mask : several([&] { return *rc::gen::elementOf(kMasks); }))
    masks.push_back(parse_path(mask));
  return *select(complete_state().to_tree(), masks);
}

template <class T, class Make>
std::optional<T> perhaps(Make make) {
  return maybe() ? std::optional<T>(make()) : std::nullopt;
}

LogsRequest logs_request() {
  return {several(any_instance), perhaps<bool>(maybe),
          perhaps<std::int32_t>([] { return *rc::gen::arbitrary<std::int32_t>(); }),
          perhaps<std::string>(text), perhaps<std::string>(text)};
}

LogEntriesResponse log_entries() {
  return {several([] { return LogEntry{any_instance(), text()}; })};
}

Request request() {
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return {text(), UpdateStateRequest{masked_state(), texts()}};
    case 1:
      return {text(), CompleteStateRequest{texts(), maybe()}};
    case 2:
      return {text(), logs_request()};
    case 3:
      return {text(), LogsCancelRequest{}};
    default:
      return {text(), EventsCancelRequest{}};
  }
}

Response response() {
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
      return {text(), ErrorResponse{text()}};
    case 1:
      return {text(), CompleteStateResponse{masked_state(), std::nullopt}};
    case 2:
      return {text(),
              CompleteStateResponse{complete_state().to_tree(), std::nullopt, Empties::kKeep}};
    case 3:
      return {text(),
              CompleteStateResponse{masked_state(), AlteredFields{texts(), texts(), texts()}}};
    case 4:
      return {text(), UpdateStateSuccess{texts(), texts()}};
    case 5:
      return {text(), LogsRequestAccepted{several(any_instance)}};
    case 6:
      return {text(), log_entries()};
    case 7:
      return {text(), LogsStopResponse{any_instance()}};
    default:
      return maybe() ? Response{text(), LogsCancelAccepted{}}
                     : Response{text(), EventsCancelAccepted{}};
  }
}

UpdateWorkloadState update_workload_state() {
  return {several([] { return WorkloadState{any_instance(), execution_state()}; })};
}

DeletedWorkload deleted_workload() {
  DeletedWorkload deleted{any_instance(), {}};
  for (auto& name : texts())
    deleted.dependencies.emplace(std::move(name), one_of(DeleteCondition::kNotPendingNorRunning));
  return deleted;
}

ToServer to_server() {
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return AgentHello{text(), text(), text_map()};
    case 1:
      return update_workload_state();
    case 2:
      return request();
    case 3:
      return Goodbye{};
    case 4:
      return AgentLoadStatus{
          text(), {*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint64_t>()}};
    case 5:
      return CommanderHello{text()};
    case 6:
      return LinkLogEntries{text(), log_entries()};
    default:
      return LinkLogsStop{text(), {any_instance()}};
  }
}

FromServer from_server() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return UpdateWorkload{several(workload_spec), several(deleted_workload)};
    case 1:
      return update_workload_state();
    case 2:
      return response();
    case 3:
      return ServerHello{several(workload_spec)};
    case 4:
      return LinkLogsRequest{text(), logs_request()};
    default:
      return LinkLogsCancel{text()};
  }
}

TEST(Wire, BringsBackWhatGoesToTheServer) {
  EXPECT_TRUE(rc::check([] {
    const ToServer message = to_server();
    const auto decoded = decode_to_server(encode(message));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT((*decoded == message));
  }));
}

TEST(Wire, BringsBackWhatComesFromTheServer) {
  EXPECT_TRUE(rc::check([] {
    const FromServer message = from_server();
    const auto decoded = decode_from_server(encode(message));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT((*decoded == message));
  }));
}

TEST(Wire, BringsBackWhatGoesThroughTheControlInterface) {
  EXPECT_TRUE(rc::check([] {
    const ToAnkaios up = maybe() ? ToAnkaios(ControlInterfaceHello{text()}) : ToAnkaios(request());
    const auto decoded_up = decode_to_ankaios(encode(up));
    RC_ASSERT(decoded_up.has_value());
    RC_ASSERT((*decoded_up == up));
    const FromAnkaios down = *rc::gen::element<FromAnkaios>(response(), ControlInterfaceAccepted{},
                                                            ConnectionClosed{text()});
    const auto decoded_down = decode_from_ankaios(encode(down));
    RC_ASSERT(decoded_down.has_value());
    RC_ASSERT((*decoded_down == down));
  }));
}

TEST(Wire, WritesOneContentForManyIds) {
  EXPECT_TRUE(rc::check([] {
    const Response message = response();
    const std::string content = encode_content(message.content);
    RC_ASSERT(encode_head(message.id, content.size()) + content == encode(FromServer(message)));
  }));
}

TEST(Wire, WritesEqualMessagesAsEqualBytes) {
  EXPECT_TRUE(rc::check([] {
    const FromServer message = from_server();
    const std::string bytes = encode(message);
    RC_ASSERT(encode(message) == bytes);
    RC_ASSERT(encode(*decode_from_server(bytes)) == bytes);
  }));
}

// -- What cannot be used

grpc_api::ToServer to_server_with(const std::function<void(ank_base::Request&)>& fill) {
  grpc_api::ToServer wire;
  wire.mutable_request()->set_requestid("7");
  fill(*wire.mutable_request());
  return wire;
}

TEST(Wire, SaysWhatIsMissingInAMessageToTheServer) {
  grpc_api::ToServer entries;
  entries.mutable_logentriesresponse()->set_requestid("a@7");
  grpc_api::ToServer stop;
  stop.mutable_logsstopresponse()->set_requestid("a@7");
  using Row = std::tuple<grpc_api::ToServer, Code, std::string>;
  for (const auto& [wire, code, text] : std::vector<Row>{
           {{}, Code::kInvalidArgument, "Missing to_server"},
           {to_server_with([](ank_base::Request&) {}), Code::kInvalidArgument,
            "Request content empty for request ID: '7'"},
           {to_server_with(
                [](ank_base::Request& request) { request.mutable_updatestaterequest(); }),
            Code::kInvalidArgument, "No CompleteState for forwarding."},
           {entries, Code::kNotFound, "LogEntriesResponse without content for request ID: 'a@7'"},
           {stop, Code::kNotFound, "LogsStopResponse without content for request ID: 'a@7'"}}) {
    const auto decoded = decode_to_server(wire.SerializeAsString());
    ASSERT_FALSE(decoded.has_value()) << text;
    EXPECT_EQ(decoded.error(), (Error{code, text}));
  }
}

grpc_api::FromServer hello_with(
    const std::function<void(grpc_api::AddedWorkload&, ank_base::Workload&)>& spoil) {
  grpc_api::FromServer wire;
  auto& added = *wire.mutable_serverhello()->add_addedworkloads();
  added.mutable_instancename()->set_workloadname("w");
  added.mutable_instancename()->set_id("1");
  auto& workload = *added.mutable_workload();
  workload.set_agent("");
  workload.set_runtime("");
  workload.set_runtimeconfig("");
  spoil(added, workload);
  return wire;
}

TEST(Wire, SaysWhatIsMissingInAWorkloadFromTheServer) {
  using Added = grpc_api::AddedWorkload;
  using Spec = ank_base::Workload;
  using Row = std::pair<std::function<void(Added&, Spec&)>, std::string>;
  for (const auto& [spoil, text] : std::vector<Row>{
           {[](Added& added, Spec&) { added.clear_instancename(); }, "No instance name"},
           {[](Added& added, Spec&) { added.clear_workload(); }, "No workload"},
           {[](Added& added, Spec&) { added.mutable_instancename()->set_workloadname("a.b"); },
            "Unsupported instance name 'a.b.1.'. Expected <workload>.<id>.<agent>."},
           {[](Added&, Spec& workload) {
              workload.mutable_controlinterfaceaccess()
                  ->add_denyrules()
                  ->mutable_staterule()
                  ->add_filtermasks("");
            },
            "Empty filter masks are not allowed in Control Interface access rules"},
           {[](Added&, Spec& workload) { workload.clear_agent(); }, "Missing field 'agent'"},
           {[](Added&, Spec& workload) { workload.clear_runtime(); }, "Missing field 'runtime'"},
           {[](Added&, Spec& workload) { workload.clear_runtimeconfig(); },
            "Missing field 'runtimeConfig'"},
           {[](Added&, Spec& workload) {
              workload.set_restartpolicy(static_cast<ank_base::RestartPolicy>(9));
            },
            "restartPolicy: unknown enumeration value 9"},
           {[](Added&, Spec& workload) {
              (*workload.mutable_dependencies()->mutable_dependencies())["d"] =
                  static_cast<ank_base::AddCondition>(-1);
            },
            "dependencies.d: unknown enumeration value -1"},
           {[](Added&, Spec& workload) { workload.mutable_files()->add_files(); },
            "files[0]: Missing field 'FileContent'"},
           {[](Added&, Spec& workload) {
              workload.mutable_controlinterfaceaccess()->add_allowrules();
            },
            "controlInterfaceAccess.allowRules[0]: Missing field 'AccessRightsRuleEnum'"},
           {[](Added&, Spec& workload) {
              auto& access = *workload.mutable_controlinterfaceaccess();
              access.add_denyrules()->mutable_logrule();
              access.add_denyrules()->mutable_staterule()->set_operation(
                  static_cast<ank_base::ReadWriteEnum>(3));
            },
            "controlInterfaceAccess.denyRules[1]: operation: unknown enumeration value 3"}}) {
    SCOPED_TRACE(text);
    const auto decoded = decode_from_server(hello_with(spoil).SerializeAsString());
    ASSERT_FALSE(decoded.has_value());
    EXPECT_EQ(decoded.error(),
              (Error{Code::kInvalidArgument, "ServerHello.addedWorkloads[0]: " + text}));
  }
}

TEST(Wire, SaysWhatIsMissingInAMessageFromTheServer) {
  grpc_api::FromServer no_name;
  no_name.mutable_updateworkload()->add_deletedworkloads();
  grpc_api::FromServer condition;
  auto& deleted = *condition.mutable_updateworkload()->add_deletedworkloads();
  deleted.mutable_instancename();
  (*deleted.mutable_dependencies())["d"] = static_cast<grpc_api::DeleteCondition>(2);
  grpc_api::FromServer added;
  added.mutable_updateworkload()->add_addedworkloads();
  grpc_api::FromServer response;
  response.mutable_response()->set_requestid("7");
  grpc_api::FromServer logs;
  logs.mutable_logsrequest()->set_requestid("7");
  using Row = std::tuple<grpc_api::FromServer, Code, std::string>;
  for (const auto& [wire, code, text] : std::vector<Row>{
           {{}, Code::kInvalidArgument, "Missing from_server"},
           {no_name, Code::kInvalidArgument,
            "UpdateWorkload.deletedWorkloads[0]: No instance name"},
           {condition, Code::kInvalidArgument,
            "UpdateWorkload.deletedWorkloads[0]: dependencies.d: unknown enumeration value 2"},
           {added, Code::kInvalidArgument, "UpdateWorkload.addedWorkloads[0]: No instance name"},
           {response, Code::kInvalidArgument, "Response content empty for request ID: '7'"},
           {logs, Code::kNotFound, "LogsRequest without content for request ID: '7'"}}) {
    const auto decoded = decode_from_server(wire.SerializeAsString());
    ASSERT_FALSE(decoded.has_value()) << text;
    EXPECT_EQ(decoded.error(), (Error{code, text}));
  }
}

// One way each to spoil a workload state, and what an agent says of it.
std::vector<std::pair<ank_base::WorkloadState, std::string>> spoilt_states() {
  ank_base::WorkloadState good;
  good.mutable_instancename()->set_workloadname("w");
  good.mutable_executionstate()->set_additionalinfo("");
  good.mutable_executionstate()->set_running(ank_base::RUNNING_OK);
  auto no_name = good;
  no_name.clear_instancename();
  auto no_state = good;
  no_state.clear_executionstate();
  auto no_info = good;
  no_info.mutable_executionstate()->clear_additionalinfo();
  auto no_member = good;
  no_member.mutable_executionstate()->clear_running();
  auto unknown = good;
  unknown.mutable_executionstate()->set_pending(static_cast<ank_base::Pending>(7));
  return {{no_name, "Missing field 'instanceName'"},
          {no_state, "Missing field 'executionState'"},
          {no_info, "Missing field 'additionalInfo'"},
          {no_member, "Missing field 'ExecutionStateEnum'"},
          {unknown, "executionState: unknown enumeration value 7"},
          {good, ""}};
}

TEST(Wire, LeavesOutWorkloadStatesThatTheServerCannotRead) {
  grpc_api::ToServer wire;
  for (const auto& [state, text] : spoilt_states())
    *wire.mutable_updateworkloadstate()->add_workloadstates() = state;
  const auto decoded = decode_to_server(wire.SerializeAsString());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(
      *decoded,
      (ToServer(UpdateWorkloadState{{{{{"w"}, {""}, {""}}, ExecutionState(Phase::kRunningOk)}}})));
}

TEST(Wire, RefusesTheWholeMessageWhenAnAgentCannotReadAWorkloadState) {
  for (const auto& [state, text] : spoilt_states()) {
    grpc_api::FromServer wire;
    *wire.mutable_updateworkloadstate()->add_workloadstates() = spoilt_states().back().first;
    *wire.mutable_updateworkloadstate()->add_workloadstates() = state;
    const auto decoded = decode_from_server(wire.SerializeAsString());
    EXPECT_EQ(decoded ? "" : decoded.error().message,
              text.empty() ? "" : "UpdateWorkloadState.workloadStates[1]: " + text);
  }
}

TEST(Wire, SaysWhatIsMissingInTheControlInterface) {
  EXPECT_EQ(decode_to_ankaios("").error().message, "Missing to_ankaios");
  EXPECT_EQ(decode_from_ankaios("").error().message, "Missing from_ankaios");
  control_api::ToAnkaios request;
  request.mutable_request()->set_requestid("7");
  EXPECT_EQ(decode_to_ankaios(request.SerializeAsString()).error().message,
            "Request content empty for request ID: '7'");
  control_api::FromAnkaios response;
  response.mutable_response()->set_requestid("7");
  EXPECT_EQ(decode_from_ankaios(response.SerializeAsString()).error().message,
            "Response content empty for request ID: '7'");
}

// -- Hostile bytes

TEST(Wire, ReplacesIllFormedTextOnItsWayOut) {
  const std::string bad = "a\xff";
  auto workload = std::make_shared<Workload>();
  workload->agent = workload->runtime = workload->runtime_config = bad;
  workload->tags = workload->configs.edit() = {{bad, bad}};
  workload->dependencies.edit() = {{bad, AddCondition::kRunning}};
  workload->files.edit() = {{bad, File::Encoding::kText, bad}, {bad, File::Encoding::kBase64, bad}};
  workload->access.edit().allow_rules = {StateRule{Operation::kRead, {bad}}, LogRule{{bad}}};
  CompleteState state;
  state.desired.api_version = bad;
  state.desired.workloads = Tree::Map().set(bad, WorkloadPtr(workload));
  state.desired.configs = Tree::Map().set(bad, Tree::List{bad, Tree::Map().set(bad, Tree(bad))});
  state.workload_states.update({{{bad}, {bad}, {bad}}, ExecutionState(Phase::kRunningOk, bad)});
  auto attributes = std::make_shared<AgentAttributes>();
  attributes->tags = {{bad, bad}};
  state.agents = Tree::Map().set(bad, std::shared_ptr<const AgentAttributes>(attributes));
  const Tree whole = state.to_tree();
  // The same once more as plain maps, and once more as typed messages.
  const auto plain = *set(whole, parse_path(concat("desiredState.workloads.", bad, ".agent")), bad);
  const InstanceName instance{{bad}, {bad}, {bad}};

  for (const FromServer& message : std::vector<FromServer>{
           Response{bad, CompleteStateResponse{whole, AlteredFields{{bad}, {bad}, {bad}}}},
           Response{bad, CompleteStateResponse{plain, std::nullopt}},
           Response{bad, ErrorResponse{bad}}, Response{bad, UpdateStateSuccess{{bad}, {bad}}},
           Response{bad, LogsRequestAccepted{{instance}}},
           Response{bad, LogEntriesResponse{{{instance, bad}}}},
           Response{bad, LogsStopResponse{instance}},
           UpdateWorkloadState{{{instance, ExecutionState(Phase::kRemoved, bad)}}},
           UpdateWorkload{{}, {{instance, {{bad, DeleteCondition::kRunning}}}}},
           LinkLogsRequest{bad, LogsRequest{{instance}, {}, {}, bad, bad}}, LinkLogsCancel{bad}}) {
    EXPECT_TRUE(decode_from_server(encode(message)).has_value());
  }
  for (const ToServer& message : std::vector<ToServer>{
           AgentHello{bad, bad, {{bad, bad}}}, CommanderHello{bad}, AgentLoadStatus{bad, {}},
           LinkLogEntries{bad, {}}, LinkLogsStop{bad, {}},
           Request{bad, CompleteStateRequest{{bad}, false}},
           Request{bad, UpdateStateRequest{plain, {bad}}}}) {
    EXPECT_TRUE(decode_to_server(encode(message)).has_value());
  }
  EXPECT_EQ(*decode_to_ankaios(encode(ToAnkaios(ControlInterfaceHello{bad}))),
            ToAnkaios(ControlInterfaceHello{"a\xef\xbf\xbd"}));
  EXPECT_EQ(*decode_from_ankaios(encode(FromAnkaios(ConnectionClosed{bad}))),
            FromAnkaios(ConnectionClosed{"a\xef\xbf\xbd"}));
}

TEST(Wire, RefusesIllFormedTextWithoutAWordOnStandardError) {
  testing::internal::CaptureStderr();
  const auto decoded = decode_to_server("\x32\x03\x12\x01\xff");  // CommanderHello
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().code, Code::kInvalidArgument);
  EXPECT_EQ(decoded.error().message.find("ToServer: the bytes are not a well-formed message"), 0U);
}

TEST(Wire, SurvivesEveryTruncation) {
  EXPECT_TRUE(rc::check([] {
    const std::string bytes = encode(to_server());
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto decoded = decode_to_server(std::string_view(bytes).substr(0, length));
      // A shorter message may be a whole one; then it is one that can be written again.
      if (decoded) RC_ASSERT(decode_to_server(encode(*decoded)).has_value());
    }
  }));
}

TEST(Wire, SurvivesChangedBytes) {
  EXPECT_TRUE(rc::check([] {
    std::string bytes = encode(from_server());
    for (int i = 0; i < 3 && !bytes.empty(); ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[at] = static_cast<char>(*rc::gen::inRange(0, 256));
    }
    const auto decoded = decode_from_server(bytes);
    if (decoded) RC_ASSERT(decode_from_server(encode(*decoded)).has_value());
  }));
}

TEST(Wire, RefusesConfigItemsThatNestTooDeeply) {
  const auto update_with = [](int depth) {
    Tree item("leaf");
    for (int i = 0; i < depth; ++i) item = Tree(Tree::List{item});
    const Tree state = *set(Tree(Tree::Map()), parse_path("desiredState.configs.deep"), item);
    return encode(ToServer(Request{"r", UpdateStateRequest{state, {}}}));
  };
  EXPECT_TRUE(decode_to_server(update_with(40)).has_value());
  EXPECT_FALSE(decode_to_server(update_with(60)).has_value());
  EXPECT_FALSE(decode_to_server(update_with(2000)).has_value());
}

TEST(Wire, ReadsManySmallPartsInOneMessage) {
  std::string states;
  for (int i = 0; i < 200'000; ++i) states += std::string("\x0a\x00", 2);  // states without a name
  // Field 2 of ToServer with its length as a varint of three bytes.
  const std::size_t size = states.size();
  const std::string message = std::string("\x12") + static_cast<char>((size & 0x7fU) | 0x80U) +
                              static_cast<char>(((size >> 7U) & 0x7fU) | 0x80U) +
                              static_cast<char>(size >> 14U) + states;
  EXPECT_EQ(*decode_to_server(message), ToServer(UpdateWorkloadState{}));
}

}  // namespace
}  // namespace tiphys::wire
