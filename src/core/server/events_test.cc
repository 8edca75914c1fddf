#include "core/server/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "core/server/server_machine.h"
#include "model/path.h"

namespace tiphys::server {
namespace {

using Texts = std::vector<std::string>;

WorkloadPtr workload(const std::string& agent, const std::string& config, Tags tags = {}) {
  auto made = std::make_shared<Workload>();
  made->agent = agent;
  made->runtime = "podman";
  made->runtime_config = config;
  made->tags = std::move(tags);
  return made;
}

InstanceName instance(const std::string& name, const std::string& agent,
                      const std::string& config) {
  return {WorkloadName{name}, workload_id_of(config), AgentName{agent}};
}

CompleteState complete(const std::map<std::string, WorkloadPtr>& workloads) {
  CompleteState state;
  for (const auto& [name, made] : workloads)
    state.desired.workloads = state.desired.workloads.set(name, made);
  return state;
}

// -- The subscriptions by themselves --------------------------------------------------------------------------------

const CompleteState kBefore = complete({});
const CompleteState kAfter = complete({{"web", workload("A", "nginx")}});

// The ids that are told of a new workload, connection or agent in front.
Texts told(const Subscriptions& subscriptions) {
  Texts all;
  for (const auto& news : subscriptions.news(kBefore, kAfter))
    for (const auto& [peer, request_id] : news.to)
      all.push_back(
          concat(peer.connection == 0 ? peer.agent.value : std::to_string(peer.connection), "/",
                 request_id));
  std::sort(all.begin(), all.end());
  return all;
}

// Two commanders, two workloads of agent A and one of the same name on agent B.
Subscriptions some_subscriptions() {
  Subscriptions made;
  for (const auto& of :
       {subscriber(7, "x"), subscriber(7, "y"), subscriber(8, "x"),
        *subscriber(AgentName{"A"}, "web@1"), *subscriber(AgentName{"A"}, "web@2@3"),
        *subscriber(AgentName{"A"}, "db@1"), *subscriber(AgentName{"B"}, "web@1")})
    made.subscribe(of, {"desiredState"});
  return made;
}

// [utest->swdd~provides-functionality-to-handle-event-subscriptions~1]
TEST(Subscriptions, EndByRequestByConnectionByAgentAndByWorkload) {
  const Texts all{"7/x", "7/y", "8/x", "A/db@1", "A/web@1", "A/web@2@3", "B/web@1"};
  EXPECT_EQ(told(some_subscriptions()), all);
  EXPECT_EQ(some_subscriptions().size(), all.size());
  const auto without = [&](const Texts& ended) {
    Texts left;
    std::set_difference(all.begin(), all.end(), ended.begin(), ended.end(),
                        std::back_inserter(left));
    return left;
  };
  auto subscriptions = some_subscriptions();
  subscriptions.cancel(subscriber(7, "x"));
  subscriptions.cancel(subscriber(9, "y"));
  subscriptions.cancel(subscriber(8, "y"));
  EXPECT_EQ(told(subscriptions), without({"7/x"}));
  subscriptions = some_subscriptions();
  subscriptions.drop_connection(7);
  subscriptions.drop_connection(9);
  EXPECT_EQ(told(subscriptions), without({"7/x", "7/y"}));
  subscriptions = some_subscriptions();
  subscriptions.drop_agent(AgentName{"A"});
  subscriptions.drop_agent(AgentName{"C"});
  EXPECT_EQ(told(subscriptions), without({"A/db@1", "A/web@1", "A/web@2@3"}));
  subscriptions = some_subscriptions();
  subscriptions.drop_workload(AgentName{"A"}, WorkloadName{"web"});
  subscriptions.drop_workload(AgentName{"B"}, WorkloadName{"db"});
  EXPECT_EQ(told(subscriptions), without({"A/web@1", "A/web@2@3"}));
}

TEST(Subscriptions, OfTheSameIdTakeThePlaceOfTheFormer) {
  Subscriptions subscriptions;
  subscriptions.subscribe(subscriber(7, "x"), {"desiredState"});
  subscriptions.subscribe(subscriber(7, "x"), {"agents"});
  EXPECT_EQ(subscriptions.size(), 1U);
  EXPECT_EQ(told(subscriptions), Texts{});
  subscriptions.subscribe(subscriber(7, "x"), {});
  EXPECT_EQ(told(subscriptions), Texts{"7/x"});
  subscriptions.cancel(subscriber(7, "x"));
  EXPECT_TRUE(subscriptions.empty());
}

TEST(Subscriptions, WithTheSameMasksAreToldInOne) {
  Subscriptions subscriptions;
  subscriptions.subscribe(subscriber(1, "a"), {"desiredState", "agents"});
  subscriptions.subscribe(subscriber(2, "b"), {"agents", "desiredState"});
  subscriptions.subscribe(subscriber(3, "c"), {"desiredState"});
  const auto news = subscriptions.news(kBefore, kAfter);
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].to.size() + news[1].to.size(), 3U);
}

TEST(Subscriptions, OfOnePeerAreLimited) {
  Subscriptions subscriptions;
  for (std::size_t i = 0; i < kMaxSubscriptions; ++i) {
    const auto next = subscriber(1, std::to_string(i));
    ASSERT_TRUE(subscriptions.check_room(next, {"agents"}));
    subscriptions.subscribe(next, {"agents"});
  }
  const auto refused = subscriptions.check_room(subscriber(1, "more"), {"agents"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Too many subscriptions for events: one client may have 1000, cancel some first");
  EXPECT_TRUE(subscriptions.check_room(subscriber(1, "0"), {"agents"})) << "in place of the former";
  EXPECT_TRUE(subscriptions.check_room(subscriber(2, "0"), {"agents"}));
  subscriptions.cancel(subscriber(1, "5"));
  EXPECT_TRUE(subscriptions.check_room(subscriber(1, "more"), {"agents"}));

  const Texts long_masks{std::string(kMaxMaskBytes / 2, 'x')};
  subscriptions.subscribe(subscriber(3, "a"), long_masks);
  EXPECT_FALSE(subscriptions.check_room(subscriber(3, "b"), long_masks));
  EXPECT_TRUE(subscriptions.check_room(subscriber(3, "a"), long_masks));
  subscriptions.drop_connection(3);
  EXPECT_TRUE(subscriptions.check_room(subscriber(3, "b"), long_masks));
}

TEST(Subscriptions, ThroughAnAgentNameTheirWorkload) {
  for (const auto* id : {"", "x", "web"})
    EXPECT_FALSE(subscriber(AgentName{"A"}, id).has_value()) << id;
  EXPECT_EQ(subscriber(AgentName{"A"}, "w@x@y")->peer.workload.value, "w");
}

// [utest->swdd~event-handler-sends-complete-state-differences-including-altered-fields~1]
TEST(Subscriptions, AreToldThePathsAndTheStateAtThem) {
  Subscriptions subscriptions;
  subscriptions.subscribe(subscriber(1, "a"), {"desiredState.workloads.*.agent", "agents"});
  const auto news = subscriptions.news(kBefore, kAfter);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].content.altered_fields,
            (AlteredFields{{"desiredState.workloads.web.agent"}, {}, {}}));
  EXPECT_EQ(news[0].content.complete_state,
            Tree(Tree::Map().set(
                "desiredState",
                Tree::Map()
                    .set("apiVersion", "v1")
                    .set("workloads", Tree::Map().set("web", Tree::Map().set("agent", "A"))))));
  const auto back = subscriptions.news(kAfter, kBefore);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].content.altered_fields,
            (AlteredFields{{}, {}, {"desiredState.workloads.web.agent"}}));
  EXPECT_EQ(back[0].content.complete_state,
            Tree(Tree::Map().set("desiredState", Tree::Map().set("apiVersion", "v1"))));
  EXPECT_TRUE(subscriptions.news(kAfter, kAfter).empty());
}

TEST(Subscriptions, GetBothHalvesOfAnExecutionState) {
  for (const auto* agent : {"A", ""}) {
    CompleteState after;
    after.workload_states.add_initial({instance("web", agent, "nginx")});
    Subscriptions subscriptions;
    subscriptions.subscribe(subscriber(1, "a"), {"workloadStates.*.*.*.subState"});
    const auto news = subscriptions.news(CompleteState{}, after);
    ASSERT_EQ(news.size(), 1U) << agent;
    const Path path{{"workloadStates", agent, "web", workload_id_of("nginx").value}};
    EXPECT_EQ(news[0].content.altered_fields->added, Texts{to_string(path.child("subState"))});
    const auto state = get(news[0].content.complete_state, path);
    ASSERT_TRUE(state.has_value()) << agent;
    EXPECT_TRUE(state->child("state") && state->child("subState") &&
                !state->child("additionalInfo"));
  }
}

// A key is taken as it is: neither a star nor a dot in it means anything.
TEST(Subscriptions, AreToldOfKeysWithAnyCharacters) {
  const auto before =
      complete({{"web", workload("A", "nginx", {{"a", "1"}, {"*", "1"}, {"d.e", "1"}})}});
  const auto after =
      complete({{"web", workload("A", "nginx", {{"a", "1"}, {"*", "2"}, {"d.e", "2"}})}});
  Subscriptions subscriptions;
  subscriptions.subscribe(subscriber(1, "a"), {});
  const auto news = subscriptions.news(before, after);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(get(news[0].content.complete_state, parse_path("desiredState.workloads.web.tags")),
            Tree(Tree::Map().set("*", "2").set("d.e", "2")));
}

// -- Subscriptions in the machine -----------------------------------------------------------------------------------

constexpr ConnectionNumber kAgent = 1;
constexpr ConnectionNumber kCommander = 2;
constexpr ConnectionNumber kWatcher = 3;

UpdateStateRequest update(const std::map<std::string, WorkloadPtr>& workloads, Texts masks) {
  return {Tree::Map().set("desiredState", complete(workloads).desired.to_tree()), std::move(masks)};
}

UpdateStateRequest set_workload(const std::string& name, const WorkloadPtr& made) {
  return update({{name, made}}, {"desiredState.workloads." + name});
}

UpdateStateRequest set_config(const std::string& value) {
  const Tree desired =
      Tree::Map().set("apiVersion", "v1").set("configs", Tree::Map().set("c", value));
  return {Tree::Map().set("desiredState", desired), {"desiredState.configs.c"}};
}

// One line for each effect that others see: who is told what.
Texts lines(const Effects& effects) {
  Texts all;
  for (const auto& effect : effects) {
    if (const auto* send = std::get_if<Send>(&effect)) {
      const auto* response = std::get_if<Response>(&send->message);
      const auto* error = response ? std::get_if<ErrorResponse>(&response->content) : nullptr;
      all.push_back(error ? concat("#", std::to_string(send->connection), " error ", error->message)
                          : to_string(effect));
    } else if (std::holds_alternative<Publish>(effect) || std::holds_alternative<SendAll>(effect)) {
      all.push_back(to_string(effect));
    }
  }
  return all;
}

Texts published(const Effects& effects) {
  Texts all;
  for (const auto& effect : effects)
    if (std::holds_alternative<Publish>(effect))
      all.push_back(to_string(effect).substr(std::string_view("publish ").size()));
  return all;
}

// A machine with agent A, which runs web, a commander that changes things and one that watches.
class EventsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto effects = machine.step(Start{});
    const State stored = complete({{"web", workload("A", "nginx")}}).desired;
    (void)machine.step(Loaded{std::get<Load>(effects.at(0)).token, {stored, 1}});
    (void)machine.step(Opened{kAgent, AgentPeer{AgentName{"A"}, {{"zone", "front"}}}});
    (void)machine.step(Opened{kCommander, CommanderPeer{}});
    (void)machine.step(Opened{kWatcher, CommanderPeer{}});
  }

  Effects request(ConnectionNumber connection, const std::string& id,
                  decltype(Request::content) content) {
    return machine.step(Received{connection, Request{id, std::move(content)}});
  }

  Effects subscribe(ConnectionNumber connection, const std::string& id, Texts masks) {
    return request(connection, id, CompleteStateRequest{std::move(masks), true});
  }

  // The update and its word from the store; what follows from that.
  Effects apply(UpdateStateRequest update_request) {
    Effects effects = request(kCommander, "u", std::move(update_request));
    for (const auto& effect : effects)
      if (const auto* commit = std::get_if<Commit>(&effect))
        return machine.step(Committed{commit->token, commit->decided_on + 1});
    return effects;
  }

  Effects report(const std::string& name, const std::string& config, ExecutionState state) {
    return machine.step(
        Received{kAgent, UpdateWorkloadState{{{instance(name, "A", config), std::move(state)}}}});
  }

  ServerMachine machine;
};

// [utest->swdd~server-stores-new-event-subscription~1]
TEST_F(EventsTest, BeginWithAnOrdinaryAnswer) {
  const auto subscribed = subscribe(kWatcher, "s", {"desiredState.configs"});
  const auto read = request(kWatcher, "s", CompleteStateRequest{{"desiredState.configs"}, false});
  ASSERT_EQ(subscribed.size(), 1U);
  EXPECT_EQ(std::get<Send>(subscribed[0]).message, std::get<Send>(read.at(0)).message);
  EXPECT_EQ(published(apply(set_config("1"))), Texts{"#3 s +desiredState.configs"})
      << "an ordinary read with the same id leaves the subscription alone";
  EXPECT_EQ(published(apply(set_config("2"))), Texts{"#3 s ~desiredState.configs.c"});
}

TEST_F(EventsTest, AreNotSubscribedByAMaskThatCannotBeRead) {
  EXPECT_EQ(std::get<Send>(subscribe(kWatcher, "s", {"", "desiredState"}).at(0)).message,
            FromServer(Response{"s", CompleteStateResponse{Tree(Tree::Map()), {}, {}}}));
  EXPECT_EQ(published(apply(set_config("1"))), Texts{});
  (void)subscribe(kWatcher, "s", {"nope"});
  (void)subscribe(kWatcher, "t", {"*.workloads"});
  EXPECT_EQ(published(apply(set_config("2"))), Texts{});
  EXPECT_EQ(published(apply(set_workload("db", workload("A", "pg")))),
            Texts{"#3 t +desiredState.workloads.db +effectiveState.workloads.db"});
}

// [utest->swdd~server-removes-event-subscription~1]
TEST_F(EventsTest, EndWhenTheyAreCancelled) {
  (void)subscribe(kWatcher, "s", {"desiredState.configs"});
  const auto accepted =
      Texts{"send #2 " + summary(FromServer(Response{"s", EventsCancelAccepted{}}))};
  EXPECT_EQ(lines(request(kCommander, "s", EventsCancelRequest{})), accepted) << "not its own";
  EXPECT_EQ(published(apply(set_config("1"))), Texts{"#3 s +desiredState.configs"});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(std::get<Send>(request(kWatcher, "s", EventsCancelRequest{}).at(0)).message,
              FromServer(Response{"s", EventsCancelAccepted{}}));
  EXPECT_EQ(published(apply(set_config("2"))), Texts{});
}

// [utest->swdd~server-removes-event-subscription-for-disconnected-cli~1]
TEST_F(EventsTest, OfACommanderEndWithItsStreamHoweverThatEnds) {
  (void)subscribe(kWatcher, "s", {});
  (void)machine.step(Received{kWatcher, Goodbye{}});
  EXPECT_EQ(published(apply(set_config("1"))), Texts{});
  (void)machine.step(Opened{4, CommanderPeer{}});
  (void)subscribe(4, "s", {});
  (void)machine.step(Closed{4});
  EXPECT_EQ(published(apply(set_config("2"))), Texts{});
}

TEST_F(EventsTest, NeedAnIdThatNamesTheWorkload) {
  const std::string text = "names no workload: through an agent it has to be <workload>@<id>";
  EXPECT_EQ(lines(subscribe(kAgent, "s", {})), Texts{"#1 error The request id 's' " + text});
  EXPECT_EQ(lines(request(kAgent, "web", EventsCancelRequest{})),
            Texts{"#1 error The request id 'web' " + text});
  for (const auto connection : {kAgent, kWatcher})
    EXPECT_EQ(lines(subscribe(connection, "", {})),
              Texts{concat("#", std::to_string(connection),
                           " error A request needs an id that its answer can carry")});
  EXPECT_EQ(published(apply(set_config("1"))), Texts{});
}

// [utest->swdd~server-sends-state-differences-as-events~1]
// [utest->swdd~server-sends-event-for-initial-workload-states~1]
TEST_F(EventsTest, OfWorkloadsComeBeforeTheAnswerAndOthersAfterIt) {
  (void)subscribe(kCommander, "s", {"desiredState", "workloadStates"});
  const auto workloads = lines(apply(set_workload("db", workload("A", "pg"))));
  ASSERT_EQ(workloads.size(), 3U);
  EXPECT_EQ(workloads[0], "publish #2 s +desiredState.workloads.db +workloadStates.A.db");
  EXPECT_TRUE(workloads[1].starts_with("send #1 UpdateWorkload")) << workloads[1];
  EXPECT_TRUE(workloads[2].starts_with("send #2 ")) << workloads[2];
  const auto configs = lines(apply(set_config("1")));
  ASSERT_EQ(configs.size(), 2U);
  EXPECT_TRUE(configs[0].starts_with("send #2 ")) << configs[0];
  EXPECT_EQ(configs[1], "publish #2 s +desiredState.configs");
  EXPECT_EQ(published(apply(set_config("1"))), Texts{}) << "nothing changed";
  EXPECT_EQ(published(apply(set_workload("no name!", workload("A", "x")))), Texts{}) << "refused";
}

TEST_F(EventsTest, OfADeleteThatNoAgentDoesComeBeforeItIsBroadcast) {
  (void)apply(set_workload("idle", workload("", "x")));
  (void)subscribe(kWatcher, "s", {"workloadStates"});
  const auto gone = lines(apply(update({}, {"desiredState.workloads.idle"})));
  ASSERT_EQ(gone.size(), 3U);
  EXPECT_EQ(gone[0], "publish #3 s -workloadStates.");
  EXPECT_TRUE(gone[1].starts_with("send #1 UpdateWorkloadState")) << gone[1];
}

TEST_F(EventsTest, TellOfAgentTagsThatAnUpdateChanges) {
  (void)subscribe(kWatcher, "s", {"agents"});
  const Tree tags = Tree::Map().set("zone", "back");
  const Tree agents = Tree::Map().set("A", Tree::Map().set("tags", tags));
  const auto told = lines(apply({Tree::Map().set("agents", agents), {"agents.A.tags"}}));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1], "publish #3 s ~agents.A.tags.zone");
}

TEST_F(EventsTest, TellOfTheVersionOfTheWantedStateOnly) {
  (void)subscribe(kWatcher, "s", {});
  const Tree desired = Tree::Map().set("apiVersion", "v0.1");
  EXPECT_EQ(
      published(apply({Tree::Map().set("desiredState", desired), {"desiredState.apiVersion"}})),
      Texts{"#3 s ~desiredState.apiVersion"});
}

// [utest->swdd~server-sends-event-for-newly-connected-agent~1]
// [utest->swdd~server-sends-event-for-updated-agent-resource-availability~1]
// [utest->swdd~server-sends-events-for-disconnected-agent~1]
TEST_F(EventsTest, FollowAnAgent) {
  (void)subscribe(kWatcher, "s", {});
  const auto joined = lines(machine.step(Opened{9, AgentPeer{AgentName{"B"}, {}}}));
  EXPECT_EQ(joined.back(), "publish #3 s +agents.B") << "after the hello";
  (void)apply(set_workload("db", workload("B", "pg")));
  const auto load = [&](std::uint32_t cpu, std::uint64_t memory) {
    return published(machine.step(Received{9, AgentLoadStatus{"B", {cpu, memory}}}));
  };
  EXPECT_EQ(load(1, 2), Texts{"#3 s +agents.B.status"});
  EXPECT_EQ(load(3, 2), Texts{"#3 s ~agents.B.status.cpuUsage"});
  EXPECT_EQ(load(3, 2), Texts{});
  EXPECT_EQ(published(machine.step(Opened{10, AgentPeer{AgentName{"B"}, {{"k", "v"}}}})),
            Texts{"#3 s +agents.B.tags -agents.B.status"});
  const auto left = lines(machine.step(Closed{10}));
  const std::string path = "workloadStates.B.db." + workload_id_of("pg").value;
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0], concat("publish #3 s ~", path, ".state ~", path, ".subState -agents.B"));
  EXPECT_TRUE(left[1].starts_with("send #1 UpdateWorkloadState")) << left[1];
}

// [utest->swdd~server-sends-event-for-updated-workload-states~1]
// [utest->swdd~server-sends-event-for-removed-workload-states~1]
TEST_F(EventsTest, FollowAWorkload) {
  (void)machine.step(Opened{9, AgentPeer{AgentName{"B"}, {}}});
  (void)subscribe(kWatcher, "s", {"workloadStates.A.web"});
  const std::string path = "workloadStates.A.web." + workload_id_of("nginx").value;
  const auto starting =
      lines(report("web", "nginx", ExecutionState(Phase::kPendingStarting, "soon")));
  ASSERT_EQ(starting.size(), 2U) << "the event, then the broadcast";
  EXPECT_EQ(starting[0], concat("publish #3 s ~", path, ".additionalInfo ~", path, ".subState"));
  EXPECT_EQ(published(report("web", "nginx", ExecutionState(Phase::kPendingStarting, "soon"))),
            Texts{});
  EXPECT_EQ(published(report("web", "nginx", ExecutionState(Phase::kRemoved))),
            Texts{"#3 s -workloadStates.A.web"})
      << "also when nothing else is left of the agent";
  EXPECT_EQ(published(report("web", "nginx", ExecutionState(Phase::kRunningOk))),
            Texts{"#3 s +workloadStates.A.web"});
}

// [utest->swdd~server-removes-subscription-for-deleted-subscriber-workload~1]
TEST_F(EventsTest, OfAWorkloadEndWithIt) {
  const auto removed = ExecutionState(Phase::kRemoved);
  (void)subscribe(kAgent, "web@1", {"workloadStates", "desiredState.configs"});
  (void)subscribe(kAgent, "other@1", {"desiredState.configs"});
  EXPECT_EQ(published(report("web", "another instance", removed)), Texts{});
  EXPECT_EQ(published(apply(set_config("1"))), Texts{"#1 other@1 +desiredState.configs"})
      << "an instance of it was removed";

  (void)subscribe(kAgent, "web@1", {"workloadStates", "desiredState.configs"});
  EXPECT_EQ(published(report("web", "nginx", removed)), Texts{"#1 web@1 -workloadStates.A"})
      << "it hears of its own end";
  EXPECT_EQ(published(apply(set_config("2"))), Texts{"#1 other@1 ~desiredState.configs.c"});

  (void)subscribe(kAgent, "web@1", {"desiredState"});
  EXPECT_EQ(published(apply(update({}, {"desiredState.workloads.web"}))),
            Texts{"#1 web@1 -desiredState.workloads.web"})
      << "its deletion was decided";
  EXPECT_EQ(published(apply(set_config("3"))), Texts{"#1 other@1 ~desiredState.configs.c"});
}

TEST_F(EventsTest, OfAWorkloadEndWithTheLossOfItsAgentOnly) {
  (void)subscribe(kAgent, "web@1", {"desiredState.configs"});
  (void)machine.step(Opened{9, AgentPeer{AgentName{"A"}, {}}});
  (void)machine.step(Closed{kAgent});
  EXPECT_EQ(published(apply(set_config("1"))), Texts{"#9 web@1 +desiredState.configs"});
  (void)machine.step(Closed{9});
  (void)machine.step(Opened{10, AgentPeer{AgentName{"A"}, {}}});
  EXPECT_EQ(published(apply(set_config("2"))), Texts{});
}

TEST_F(EventsTest, GoToAllWithTheSameMasksInOneEffect) {
  (void)subscribe(kWatcher, "s", {"desiredState.configs"});
  (void)subscribe(kWatcher, "t", {"desiredState.configs"});
  (void)subscribe(kAgent, "web@1", {"desiredState.configs"});
  (void)subscribe(kCommander, "s", {"desiredState.configs.*"});
  EXPECT_EQ(published(apply(set_config("1"))),
            (Texts{"#3 s #3 t #1 web@1 +desiredState.configs", "#2 s +desiredState.configs.c"}));
}

TEST_F(EventsTest, TakeTheSameBroadcastToAllInOneEffect) {
  (void)machine.step(Opened{8, AgentPeer{AgentName{"B"}, {}}});
  (void)machine.step(Opened{9, AgentPeer{AgentName{"C"}, {}}});
  (void)machine.step(Opened{10, CommanderPeer{true}});
  const auto effects = report("web", "nginx", ExecutionState(Phase::kRunningOk));
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(std::get<SendAll>(effects[0]).to, (std::vector<ConnectionNumber>{8, 9, 10}));
}

}  // namespace
}  // namespace tiphys::server
