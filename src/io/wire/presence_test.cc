// Which fields are set in the bytes we send, and which keys the trees have that we read: peers tell an empty field
// from one that is not there.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "grpc_api.pb.h"
#include "io/wire/wire.h"
#include "model/path.h"

namespace tiphys::wire {
namespace {

template <class Message>
grpc_api::FromServer sent(const Message& message) {
  grpc_api::FromServer wire;
  EXPECT_TRUE(wire.ParseFromString(encode(FromServer(message))));
  return wire;
}

ank_base::CompleteState answer(const Tree& tree, Empties empties = Empties::kOmit) {
  return sent(Response{"r", CompleteStateResponse{tree, std::nullopt, empties}})
      .response()
      .completestateresponse()
      .completestate();
}

Tree masked(const CompleteState& state, const std::vector<std::string>& masks) {
  std::vector<Path> paths;
  paths.reserve(masks.size());
  for (const auto& mask : masks) paths.push_back(parse_path(mask));
  return *select(state.to_tree(), paths);
}

WorkloadPtr plain_workload() {
  auto workload = std::make_shared<Workload>();
  workload->runtime_config = "image: x";
  return workload;
}

CompleteState small_state() {
  CompleteState state;
  state.desired.workloads = Tree::Map().set("w", plain_workload());
  state.effective_workloads = Tree::Map().set("w", *WorkloadSpec::make("w", plain_workload()));
  state.agents =
      Tree::Map().set("a", std::shared_ptr<const AgentAttributes>(new AgentAttributes()));
  state.workload_states.update({{{"w"}, {"1"}, {"a"}}, ExecutionState(Phase::kRunningOk)});
  return state;
}

void expect_all_nine_fields(const ank_base::Workload& workload) {
  EXPECT_TRUE(workload.has_agent());
  EXPECT_TRUE(workload.has_restartpolicy());
  EXPECT_TRUE(workload.has_dependencies());
  EXPECT_TRUE(workload.has_tags());
  EXPECT_TRUE(workload.has_runtime());
  EXPECT_TRUE(workload.has_runtimeconfig());
  EXPECT_TRUE(workload.has_controlinterfaceaccess());
  EXPECT_TRUE(workload.has_configs());
  EXPECT_TRUE(workload.has_files());
}

void expect_no_empty_parts(const ank_base::Workload& workload) {
  EXPECT_TRUE(workload.has_agent());
  EXPECT_TRUE(workload.has_restartpolicy());
  EXPECT_FALSE(workload.has_dependencies());
  EXPECT_FALSE(workload.has_tags());
  EXPECT_TRUE(workload.has_runtime());
  EXPECT_TRUE(workload.has_runtimeconfig());
  EXPECT_FALSE(workload.has_controlinterfaceaccess());
  EXPECT_FALSE(workload.has_configs());
  EXPECT_FALSE(workload.has_files());
}

TEST(Presence, AgentsGetEveryFieldOfAWorkload) {
  const auto spec = *WorkloadSpec::make("w", plain_workload());
  expect_all_nine_fields(sent(ServerHello{{spec}}).serverhello().addedworkloads(0).workload());
  expect_all_nine_fields(
      sent(UpdateWorkload{{spec}, {}}).updateworkload().addedworkloads(0).workload());
}

TEST(Presence, AdditionalInfoIsSetEvenWhenEmpty) {
  const auto wire = sent(UpdateWorkloadState{{{{}, ExecutionState(Phase::kRunningOk)}}});
  const auto& state = wire.updateworkloadstate().workloadstates(0);
  EXPECT_TRUE(state.has_instancename());
  EXPECT_TRUE(state.executionstate().has_additionalinfo());
  EXPECT_TRUE(state.executionstate().has_running());
}

TEST(Presence, AnAnswerWithoutMasksShowsItsEmptyCollections) {
  const auto state = answer(small_state().to_tree(), Empties::kKeep);
  for (const auto& part : {state.desiredstate(), state.effectivestate()}) {
    EXPECT_TRUE(part.has_configs());
    expect_all_nine_fields(part.workloads().workloads().at("w"));
  }
  EXPECT_TRUE(state.agents().agents().at("a").has_tags());
  EXPECT_FALSE(state.agents().agents().at("a").has_status());
}

TEST(Presence, AnAnswerWithoutMasksStaysThatWhenAnAgentPassesItOn) {
  const std::string bytes = encode(FromServer(
      Response{"r", CompleteStateResponse{small_state().to_tree(), std::nullopt, Empties::kKeep}}));
  EXPECT_EQ(encode(*decode_from_server(bytes)), bytes);
}

TEST(Presence, AnEmptyServerAnswersWithFourParts) {
  const auto state = answer(CompleteState().to_tree(), Empties::kKeep);
  EXPECT_TRUE(state.desiredstate().has_workloads());
  EXPECT_TRUE(state.desiredstate().has_configs());
  EXPECT_TRUE(state.has_workloadstates());
  EXPECT_TRUE(state.has_agents());
  EXPECT_TRUE(state.effectivestate().has_workloads());
  EXPECT_TRUE(state.effectivestate().has_configs());
}

TEST(Presence, AMaskedAnswerHidesEmptyCollections) {
  const auto state = answer(masked(small_state(), {"*"}));
  for (const auto& part : {state.desiredstate(), state.effectivestate()}) {
    EXPECT_FALSE(part.has_configs());
    expect_no_empty_parts(part.workloads().workloads().at("w"));
  }
  ASSERT_EQ(state.agents().agents().count("a"), 1U);
  EXPECT_FALSE(state.agents().agents().at("a").has_tags());
}

TEST(Presence, AMaskedAnswerShowsTheEmptyMapsThatWereAskedFor) {
  const auto state =
      answer(masked(CompleteState(), {"agents", "workloadStates", "desiredState.workloads"}));
  EXPECT_TRUE(state.has_agents());
  EXPECT_TRUE(state.has_workloadstates());
  EXPECT_TRUE(state.desiredstate().has_workloads());
  EXPECT_FALSE(state.has_effectivestate());
}

TEST(Presence, AMaskedAnswerHoldsOnlyWhatWasAskedFor) {
  const auto state = answer(masked(small_state(), {"desiredState.workloads.w.agent"}));
  const auto& workload = state.desiredstate().workloads().workloads().at("w");
  EXPECT_TRUE(workload.has_agent());
  EXPECT_FALSE(workload.has_restartpolicy());
  EXPECT_FALSE(workload.has_runtime());
  EXPECT_FALSE(workload.has_runtimeconfig());
  EXPECT_FALSE(state.has_agents());
  EXPECT_FALSE(state.has_workloadstates());
  EXPECT_FALSE(state.has_effectivestate());
}

TEST(Presence, NothingFoundIsAPresentEmptyState) {
  const auto wire = sent(Response{"r", CompleteStateResponse{Tree(Tree::Map()), std::nullopt}});
  const auto& response = wire.response().completestateresponse();
  EXPECT_TRUE(response.has_completestate());
  EXPECT_EQ(response.completestate().ByteSizeLong(), 0U);
  EXPECT_FALSE(response.has_alteredfields());
}

TEST(Presence, HalfAnExecutionStateHasNoMember) {
  const auto state = answer(masked(small_state(), {"workloadStates.*.*.*.state"}));
  const auto& ids = state.workloadstates().agentstatemap().at("a").wlnamestatemap().at("w");
  EXPECT_EQ(ids.idstatemap().at("1").ByteSizeLong(), 0U);
  const auto both = answer(
      masked(small_state(), {"workloadStates.*.*.*.state", "workloadStates.*.*.*.subState"}));
  const auto& running = both.workloadstates().agentstatemap().at("a").wlnamestatemap().at("w");
  EXPECT_TRUE(running.idstatemap().at("1").has_running());
  EXPECT_FALSE(running.idstatemap().at("1").has_additionalinfo());
}

TEST(Presence, HalfAnAgentStatusIsHalfAMessage) {
  auto attributes = std::make_shared<AgentAttributes>();
  attributes->status = AgentStatus{42, 7};
  CompleteState state;
  state.agents = Tree::Map().set("a", std::shared_ptr<const AgentAttributes>(attributes));
  const auto wire = answer(masked(state, {"agents.a.status.freeMemory"}));
  EXPECT_FALSE(wire.agents().agents().at("a").status().has_cpu_usage());
  EXPECT_EQ(wire.agents().agents().at("a").status().free_memory().free_memory(), 7U);
}

// -- Updates

Tree received(const ank_base::CompleteState& state) {
  grpc_api::ToServer wire;
  *wire.mutable_request()->mutable_updatestaterequest()->mutable_newstate() = state;
  const auto decoded = decode_to_server(wire.SerializeAsString());
  EXPECT_TRUE(decoded.has_value());
  return std::get<UpdateStateRequest>(std::get<Request>(*decoded).content).new_state;
}

TEST(Presence, AnEmptyUpdateIsAnEmptyMap) { EXPECT_EQ(received({}), Tree(Tree::Map())); }

TEST(Presence, EveryPartOfAnUpdateThatIsSetHasAKey) {
  ank_base::CompleteState wire;
  wire.mutable_desiredstate();
  wire.mutable_workloadstates();
  wire.mutable_agents();
  wire.mutable_effectivestate()->mutable_workloads();
  const Tree state = received(wire);
  const Tree nothing{Tree::Map()};
  const auto version = Tree::Map().set("apiVersion", "");
  EXPECT_EQ(state, Tree(Tree::Map()
                            .set("desiredState", version)
                            .set("workloadStates", nothing)
                            .set("agents", nothing)
                            .set("effectiveState", version.set("workloads", nothing))));
}

TEST(Presence, EmptyCollectionsOfAnUpdateHaveNoKey) {
  ank_base::CompleteState wire;
  auto& state = *wire.mutable_desiredstate();
  state.mutable_configs();
  auto& workload = (*state.mutable_workloads()->mutable_workloads())["w"];
  workload.mutable_dependencies();
  workload.mutable_tags();
  workload.mutable_controlinterfaceaccess();
  workload.mutable_configs();
  workload.mutable_files();
  EXPECT_EQ(
      get(received(wire), parse_path("desiredState")),
      Tree(Tree::Map().set("apiVersion", "").set("workloads", Tree::Map().set("w", Tree::Map()))));
}

TEST(Presence, OnlySetScalarsOfAWorkloadHaveAKey) {
  ank_base::CompleteState wire;
  auto& workloads = *wire.mutable_desiredstate()->mutable_workloads()->mutable_workloads();
  workloads["w"].set_agent("");
  workloads["w"].set_restartpolicy(ank_base::NEVER);
  EXPECT_EQ(get(received(wire), parse_path("desiredState.workloads.w")),
            Tree(Tree::Map().set("agent", "").set("restartPolicy", "NEVER")));
}

CompleteStateResponse received_answer(const ank_base::CompleteState& state) {
  grpc_api::FromServer wire;
  *wire.mutable_response()->mutable_completestateresponse()->mutable_completestate() = state;
  auto message = decode_from_server(wire.SerializeAsString());
  return std::get<CompleteStateResponse>(std::get<Response>(*std::move(message)).content);
}

TEST(Presence, AWorkloadOfAnAnswerIsReadWhenItIsAskedFor) {
  ank_base::CompleteState wire;
  auto& workload = (*wire.mutable_desiredstate()->mutable_workloads()->mutable_workloads())["w"];
  workload.set_agent("a");
  workload.set_restartpolicy(ank_base::NEVER);
  (*workload.mutable_tags()->mutable_tags())["key"] = "value";
  const CompleteStateResponse response = received_answer(wire);
  const auto read = get(response.complete_state, parse_path("desiredState.workloads.w"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->child("agent"), Tree("a"));
  EXPECT_EQ(read->child("runtime"), std::nullopt);
  EXPECT_EQ(read->child("restartPolicy"), Tree("NEVER"));
  EXPECT_EQ(*read, Tree(Tree::Map()
                            .set("agent", "a")
                            .set("restartPolicy", "NEVER")
                            .set("tags", Tree::Map().set("key", "value"))));
  EXPECT_EQ(response.empties, Empties::kOmit);
}

TEST(Presence, OneEmptyCollectionOfAWorkloadSaysThatAnAnswerShowsThem) {
  for (const auto& set : std::vector<std::function<void(ank_base::Workload&)>>{
           [](auto& workload) { workload.mutable_configs(); },
           [](auto& workload) { workload.mutable_controlinterfaceaccess(); },
           [](auto& workload) { workload.mutable_dependencies(); },
           [](auto& workload) { workload.mutable_files(); },
           [](auto& workload) { workload.mutable_tags(); }}) {
    ank_base::CompleteState wire;
    set((*wire.mutable_effectivestate()->mutable_workloads()->mutable_workloads())["w"]);
    EXPECT_EQ(received_answer(wire).empties, Empties::kKeep);
  }
}

TEST(Presence, TheTagsOfAnAgentHaveAKeyWhenTheyAreSet) {
  ank_base::CompleteState wire;
  auto& agents = *wire.mutable_agents()->mutable_agents();
  agents["with"].mutable_tags();
  agents["without"].mutable_status()->mutable_cpu_usage()->set_cpu_usage(3);
  EXPECT_EQ(get(received(wire), parse_path("agents")),
            Tree(Tree::Map()
                     .set("with", Tree::Map().set("tags", Tree::Map()))
                     .set("without", Tree::Map().set("status", Tree::Map().set("cpuUsage", 3U)))));
}

TEST(Presence, UnknownNumbersAndMissingMembersAreLeftToTheReader) {
  ank_base::CompleteState wire;
  auto& state = *wire.mutable_desiredstate();
  auto& workload = (*state.mutable_workloads()->mutable_workloads())["w"];
  workload.set_restartpolicy(static_cast<ank_base::RestartPolicy>(9));
  (*workload.mutable_dependencies()->mutable_dependencies())["d"] =
      static_cast<ank_base::AddCondition>(8);
  workload.mutable_files()->add_files()->set_mountpoint("/f");
  auto& access = *workload.mutable_controlinterfaceaccess();
  access.add_allowrules();
  access.add_denyrules()->mutable_staterule()->set_operation(
      static_cast<ank_base::ReadWriteEnum>(3));
  (*state.mutable_configs()->mutable_configs())["c"];
  auto& ids = (*(*wire.mutable_workloadstates()->mutable_agentstatemap())["a"]
                    .mutable_wlnamestatemap())["w"];
  (*ids.mutable_idstatemap())["1"].set_stopping(static_cast<ank_base::Stopping>(5));
  const Tree tree = received(wire);
  const auto at = [&](const char* path) { return get(tree, parse_path(path)); };
  EXPECT_EQ(at("desiredState.workloads.w.restartPolicy"), Tree(9U));
  EXPECT_EQ(at("desiredState.workloads.w.dependencies.d"), Tree(8U));
  EXPECT_EQ(at("desiredState.workloads.w.files.0"), Tree(Tree::Map().set("mountPoint", "/f")));
  EXPECT_EQ(at("desiredState.workloads.w.controlInterfaceAccess.allowRules.0"), Tree(Tree::Map()));
  EXPECT_EQ(at("desiredState.workloads.w.controlInterfaceAccess.denyRules.0.operation"), Tree(3U));
  EXPECT_EQ(at("desiredState.configs.c"), Tree());
  EXPECT_EQ(at("workloadStates.a.w.1"),
            Tree(Tree::Map().set("state", "Stopping").set("subState", 5U)));

  // They survive being passed on.
  const auto again = decode_to_server(encode(ToServer(Request{"r", UpdateStateRequest{tree, {}}})));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(std::get<UpdateStateRequest>(std::get<Request>(*again).content).new_state, tree);
}

TEST(Presence, WhatAMessageHasNoPlaceForIsLeftOut) {
  const Tree odd =
      Tree::Map()
          .set("unknown", "x")
          .set("agents", "not a map")
          .set("desiredState",
               Tree::Map()
                   .set("apiVersion", 7U)
                   .set("workloads", Tree::Map().set("w", Tree::Map()
                                                              .set("agent", true)
                                                              .set("restartPolicy", "SOMETIMES")
                                                              .set("tags", Tree::Map().set("k", 1U))
                                                              .set("files", "none")
                                                              .set("unknown", "x"))));
  const auto state = answer(odd);
  EXPECT_FALSE(state.has_agents());
  const auto& workload = state.desiredstate().workloads().workloads().at("w");
  EXPECT_FALSE(workload.has_agent());
  EXPECT_FALSE(workload.has_restartpolicy());
  EXPECT_FALSE(workload.has_files());
  EXPECT_EQ(workload.tags().tags_size(), 0);
}

}  // namespace
}  // namespace tiphys::wire
