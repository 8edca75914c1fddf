#include "core/server/server_machine.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "base/match.h"
#include "base/strings.h"
#include "model/path.h"

namespace tiphys::server {
namespace {

constexpr ConnectionNumber kAgent = 1;
constexpr ConnectionNumber kCommander = 2;

WorkloadPtr workload(const std::string& agent, const std::string& config) {
  auto made = std::make_shared<Workload>();
  made->agent = agent;
  made->runtime = "podman";
  made->runtime_config = config;
  return made;
}

InstanceName instance(const std::string& name, const std::string& agent,
                      const std::string& config) {
  return {WorkloadName{name}, workload_id_of(config), AgentName{agent}};
}

State state_with(const std::map<std::string, WorkloadPtr>& workloads) {
  State state;
  for (const auto& [name, made] : workloads) state.workloads = state.workloads.set(name, made);
  return state;
}

UpdateStateRequest set_workload(const std::string& name, const WorkloadPtr& made) {
  return {Tree::Map().set("desiredState", state_with({{name, made}}).to_tree()),
          {"desiredState.workloads." + name}};
}

template <class T>
std::vector<T> all(const Effects& effects) {
  std::vector<T> found;
  for (const auto& effect : effects)
    if (const auto* e = std::get_if<T>(&effect)) found.push_back(*e);
  return found;
}

// The contents of the answers of that kind, by the ids that they carry.
template <class Content>
std::map<std::string, Content> answers(const Effects& effects) {
  std::map<std::string, Content> found;
  for (const auto& send : all<Send>(effects))
    if (const auto* response = std::get_if<Response>(&send.message))
      if (const auto* content = std::get_if<Content>(&response->content))
        found.emplace(response->id, *content);
  return found;
}

// A machine that has started with that state, with agent A and a commander.
class ServerMachineTest : public testing::Test {
 protected:
  void SetUp() override { start(state_with({{"web", workload("A", "nginx")}})); }

  void start(const State& stored) {
    machine = ServerMachine();
    const Token token = all<Load>(machine.step(Start{})).at(0).token;
    (void)machine.step(Loaded{token, {stored, 1}});
    (void)machine.step(Opened{kAgent, AgentPeer{AgentName{"A"}, {{"zone", "front"}}}});
    (void)machine.step(Opened{kCommander, CommanderPeer{}});
  }

  Effects request(const std::string& id, decltype(Request::content) content) {
    return machine.step(Received{kCommander, Request{id, std::move(content)}});
  }

  Tree read(const std::vector<std::string>& masks) {
    return answers<CompleteStateResponse>(request("r", CompleteStateRequest{masks, false}))
        .at("r")
        .complete_state;
  }

  ServerMachine machine;
};

// [utest->swdd~server-includes-id-in-control-interface-response~1]
TEST_F(ServerMachineTest, AnswersUnderTheIdOfTheRequest) {
  for (const auto& id : {"1", "web@7", "a@b@c", "with space"}) {
    const auto found = answers<CompleteStateResponse>(
        request(id, CompleteStateRequest{{"desiredState.workloads.web.agent"}, false}));
    ASSERT_TRUE(found.contains(id)) << id;
    EXPECT_EQ(*get(found.at(id).complete_state, parse_path("desiredState.workloads.web.agent")),
              Tree("A"));
    EXPECT_FALSE(found.at(id).altered_fields.has_value());
  }
}

TEST_F(ServerMachineTest, AnswersAMaskThatCannotBeReadWithAnEmptyState) {
  EXPECT_EQ(read({""}), Tree(Tree::Map()));
  EXPECT_EQ(read({"nope"}), Tree(Tree::Map()));
}

// [utest->swdd~server-stores-newly-connected-agent~2]
TEST_F(ServerMachineTest, KeepsConnectedAgentsWithTheirTags) {
  EXPECT_EQ(read({"agents"}),
            Tree(Tree::Map().set(
                "agents",
                Tree::Map().set("A", Tree::Map().set("tags", Tree::Map().set("zone", "front"))))));
  (void)machine.step(Received{kAgent, AgentLoadStatus{"A", {12, 4096}}});
  (void)machine.step(Opened{3, AgentPeer{AgentName{"A"}, {}}});
  EXPECT_EQ(read({"agents"}), Tree(Tree::Map().set("agents", Tree::Map().set("A", Tree::Map()))))
      << "a second hello begins anew";
}

// [utest->swdd~server-removes-disconnected-agents-from-state~2]
TEST_F(ServerMachineTest, ForgetsAgentsThatAreGone) {
  (void)machine.step(Closed{kAgent});
  EXPECT_EQ(read({"agents"}), Tree(Tree::Map().set("agents", Tree::Map())));
  EXPECT_EQ(machine.state().workload_states.find(instance("web", "A", "nginx"))->phase,
            Phase::kAgentDisconnected);
}

TEST_F(ServerMachineTest, LimitsTheOpenLogRequestsOfAConnection) {
  const LogsRequest logs{{instance("web", "A", "nginx")}, true, {}, {}, {}};
  for (std::size_t i = 0; i < kMaxCampaignsPerConnection; ++i)
    ASSERT_EQ(answers<LogsRequestAccepted>(request(std::to_string(i), logs)).size(), 1U);
  EXPECT_EQ(answers<ErrorResponse>(request("more", logs)).at("more").message,
            "Logs request rejected: '1000 others of this connection are open, cancel one first'");
  EXPECT_EQ(answers<LogsRequestAccepted>(request("0", logs)).size(), 1U) << "it is open already";
  EXPECT_EQ(answers<LogsRequestAccepted>(request("none", LogsRequest{})).size(), 1U);
  (void)request("0", LogsCancelRequest{});
  EXPECT_EQ(answers<LogsRequestAccepted>(request("more", logs)).size(), 1U);
  (void)machine.step(Closed{kCommander});
  EXPECT_EQ(machine.log_campaigns().size(), 0U);
}

// [utest->swdd~server-receives-resource-availability~2]
TEST_F(ServerMachineTest, KeepsTheLoadThatAnAgentReportsOfItself) {
  (void)machine.step(Received{kAgent, AgentLoadStatus{"A", {12, 4096}}});
  EXPECT_EQ(read({"agents.A.status"}),
            Tree(Tree::Map().set(
                "agents",
                Tree::Map().set(
                    "A", Tree::Map().set("status", Tree::Map()
                                                       .set("cpuUsage", std::uint64_t{12})
                                                       .set("freeMemory", std::uint64_t{4096}))))));
  const Tree before = read({"agents"});
  (void)machine.step(Received{kAgent, AgentLoadStatus{"B", {1, 1}}});
  (void)machine.step(Received{kCommander, AgentLoadStatus{"A", {1, 1}}});
  EXPECT_EQ(read({"agents"}), before);
}

// [utest->swdd~server-stores-workload-state~1]
TEST_F(ServerMachineTest, StoresWhatAnAgentReportsWithoutJudgingIt) {
  const InstanceName web = instance("web", "A", "nginx");
  EXPECT_EQ(machine.state().workload_states.find(web)->phase, Phase::kPendingInitial);
  for (const auto phase : {Phase::kStoppingRequestedAtRuntime, Phase::kRunningOk,
                           Phase::kFailedLost, Phase::kPendingStarting}) {
    (void)machine.step(Received{kAgent, UpdateWorkloadState{{{web, ExecutionState(phase, "i")}}}});
    EXPECT_EQ(*machine.state().workload_states.find(web), ExecutionState(phase, "i"));
  }
  (void)machine.step(
      Received{kAgent, UpdateWorkloadState{{{web, ExecutionState(Phase::kRemoved)}}}});
  EXPECT_EQ(machine.state().workload_states.find(web), nullptr);
}

TEST_F(ServerMachineTest, GivesNewWorkloadsAStateOfTheirOwn) {
  const auto effects = request("r1", set_workload("idle", workload("", "sleep")));
  (void)machine.step(Committed{all<Commit>(effects).at(0).token, 2});
  EXPECT_EQ(machine.state().workload_states.find(instance("idle", "", "sleep"))->phase,
            Phase::kNotScheduled);
  EXPECT_EQ(machine.state().workload_states.find(instance("web", "A", "nginx"))->phase,
            Phase::kPendingInitial);
}

TEST_F(ServerMachineTest, LeavesEverythingAsItWasWhenItRefuses) {
  const Tree before = machine.state().to_tree();
  for (const auto& update : std::vector<UpdateStateRequest>{
           set_workload("web", workload("bad agent", "nginx")),
           {Tree::Map(), {"desiredState.workloads.web.foo.bar"}},
           {Tree::Map(), {}},
           // The first mask fits, the second does not: neither counts.
           {Tree::Map(), {"desiredState.workloads.web", "desiredState.workloads.x.y"}},
       }) {
    const auto effects = request("r1", update);
    ASSERT_EQ(effects.size(), 1U);
    EXPECT_TRUE(answers<ErrorResponse>(effects).contains("r1"));
    EXPECT_EQ(machine.state().to_tree(), before);
  }
}

TEST_F(ServerMachineTest, LetsSixtyFourUpdatesWaitAndRefusesTheNext) {
  const auto first = request("first", set_workload("w", workload("A", "0")));
  const Token token = all<Commit>(first).at(0).token;
  for (std::size_t i = 1; i <= kMaxWaitingUpdates; ++i)
    EXPECT_TRUE(
        request(std::to_string(i), set_workload("w", workload("A", std::to_string(i)))).empty());
  EXPECT_EQ(answers<ErrorResponse>(request("late", set_workload("w", workload("A", "late"))))
                .at("late")
                .message,
            "Update rejected: '64 other updates are waiting, try again later'");
  EXPECT_FALSE(all<Send>(request("read", CompleteStateRequest{})).empty())
      << "everything else goes on";

  Effects effects = machine.step(Committed{token, 2});
  for (Version version = 3; !all<Commit>(effects).empty(); ++version)
    effects = machine.step(Committed{all<Commit>(effects).at(0).token, version});
  EXPECT_EQ(machine.state().desired.workload("w")->runtime_config,
            std::to_string(kMaxWaitingUpdates));
}

TEST_F(ServerMachineTest, StopsWhenWhatIsStoredBreaksTheRules) {
  const Token token = all<Load>(machine.step(Start{})).at(0).token;
  const auto effects =
      machine.step(Loaded{token, {state_with({{"bad name", workload("A", "x")}}), 4}});
  ASSERT_EQ(all<Fatal>(effects).size(), 1U);
}

// What peers say before the first state is known is bounded; who says too much is sent away and as if never come.
TEST(ServerMachineStart, SendsPeersAwayForWhichThereIsNoRoom) {
  ServerMachine machine;
  const Token token = all<Load>(machine.step(Start{})).at(0).token;
  constexpr ConnectionNumber kQuiet = 1;
  constexpr ConnectionNumber kTalker = 2;
  constexpr ConnectionNumber kLate = 3;
  const Request read{"r", CompleteStateRequest{}};
  EXPECT_TRUE(machine.step(Opened{kQuiet, CommanderPeer{}}).empty());
  EXPECT_TRUE(machine.step(Received{kQuiet, read}).empty());
  EXPECT_TRUE(machine.step(Opened{kTalker, CommanderPeer{}}).empty());
  for (std::size_t i = 3; i < kMaxEarlyEvents; ++i)
    ASSERT_TRUE(machine.step(Received{kTalker, read}).empty());

  EXPECT_EQ(all<Close>(machine.step(Opened{kLate, CommanderPeer{}})).at(0).connection, kLate);
  EXPECT_EQ(all<Close>(machine.step(Received{kTalker, read})).at(0).connection, kTalker);
  EXPECT_TRUE(machine.step(Received{kTalker, read}).empty()) << "its last words are dropped";
  EXPECT_TRUE(machine.step(Closed{kTalker}).empty());
  EXPECT_TRUE(machine.step(Opened{kLate + 1, CommanderPeer{}}).empty()) << "there is room again";

  const auto answers = all<Send>(machine.step(Loaded{token, {}}));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].connection, kQuiet);
}

TEST(Records, AreTheStateInPieces) {
  State before = state_with({{"web", workload("A", "nginx")}, {"db", workload("B", "pg")}});
  before.configs = before.configs.set("cfg", Tree::Map().set("a", "1"));
  State after = state_with({{"web", workload("A", "httpd")}});
  after.api_version = "v0.1";
  after.configs = after.configs.set("cfg", Tree::Map().set("a", "2")).set("n", "x");

  std::map<std::string, Tree> records;
  for (const auto& [from, to] : {std::pair(State(), before), std::pair(before, after)}) {
    for (const auto& write : writes_between(from, to))
      if (write.value)
        records[write.key] = *write.value;
      else
        records.erase(write.key);
    EXPECT_EQ(state_from_records(records).value(), to);
  }
  EXPECT_TRUE(writes_between(after, after).empty());
}

TEST(Records, AreRefusedWhenTheyAreDamaged) {
  EXPECT_EQ(state_from_records({{"something", Tree("x")}}).error().message,
            "the store holds a record of no known kind: 'something'");
  EXPECT_EQ(state_from_records({{"apiVersion", Tree(Tree::Map())}}).error().code, Code::kDataLoss);
  EXPECT_EQ(state_from_records({{"workloads/web", Tree::Map().set("agent", "A")}}).error().message,
            "the stored state cannot be read: workloads.web: missing field `runtime`");
}

TEST(ServerMachine, WritesItsEventsForTheTrace) {
  const Token token = 1;
  for (const auto& [event, expected] : std::vector<std::pair<Event, std::string>>{
           {Start{}, "start"},
           {Start{State()}, "start with a manifest"},
           {Opened{1, AgentPeer{AgentName{"A"}, {}}}, "opened #1 agent A"},
           {Opened{2, CommanderPeer{}}, "opened #2 commander"},
           {Closed{1}, "closed #1"},
           {Received{1, Goodbye{}}, "received #1 Goodbye"},
           {Loaded{token, {State(), 3}}, "loaded version 3"},
           {LoadFailed{token, "cause"}, "load failed: cause"},
           {Committed{token, 4}, "committed version 4"},
           {CommitConflict{token}, "commit conflict"},
           {CommitFailed{token, "cause"}, "commit failed: cause"},
           {TimerFired{token}, "timer fired"},
       })
    EXPECT_EQ(to_string(event), expected);
}

// -- A cluster of two agents, commanders that want this and that, and a store with other writers
// ------------------------------------------------------------------------------------------------------------------

// A workload as the model of the test knows it.
struct Wanted {
  std::string agent;
  std::string config;
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
using Model = std::map<std::string, Wanted>;

class Cluster {
 public:
  Cluster() {
    tell(Start{});
    answer_store(true);
    tell(Opened{kCommander, CommanderPeer{}});
  }

  // Without a wanted workload: delete it. A name with a blank is one that breaks the rules.
  void update(const std::string& name, const std::optional<Wanted>& wanted) {
    const std::string id = std::to_string(++last_request_);
    requests_[id] = {name, wanted};
    tell(Received{
        kCommander,
        Request{id, wanted ? set_workload(name, workload(wanted->agent, wanted->config))
                           : UpdateStateRequest{Tree::Map(), {"desiredState.workloads." + name}}}});
  }

  void connect(const std::string& agent) {
    connections_[++last_connection_] = agent;
    tell(Opened{last_connection_, AgentPeer{AgentName{agent}, {}}});
  }

  void disconnect(const std::string& agent) {
    for (const auto& [connection, name] : connections_)
      if (name == agent) {
        const ConnectionNumber gone = connection;
        connections_.erase(gone);
        lists_.erase(agent);
        return tell(Closed{gone});
      }
  }

  // Another server writes between our decision and our commit.
  void foreign_write(const std::string& name, const Wanted& wanted) {
    stored_[name] = wanted;
    ++version_;
  }

  void answer_store(bool well) {
    if (const auto load = std::exchange(load_, std::nullopt)) {
      Loaded loaded{load->token, {State(), version_}};
      for (const auto& [name, wanted] : stored_)
        loaded.stored.desired.workloads =
            loaded.stored.desired.workloads.set(name, workload(wanted.agent, wanted.config));
      return tell(loaded);
    }
    const auto commit = std::exchange(commit_, std::nullopt);
    if (!commit) return;
    if (commit->decided_on != version_) return tell(CommitConflict{commit->token});
    if (!well) return tell(CommitFailed{commit->token, "disk full"});
    for (const auto& write : commit->writes) {
      const std::string name = write.key.substr(write.key.find('/') + 1);
      if (!write.value) {
        stored_.erase(name);
      } else {
        const auto made = write.value->object<Workload>();
        stored_[name] = {made->agent, made->runtime_config};
      }
    }
    tell(Committed{commit->token, ++version_});
  }

  void settle() {
    while (load_ || commit_) answer_store(true);
  }

  [[nodiscard]] bool waits_for_the_store() const { return load_ || commit_; }
  [[nodiscard]] const std::map<std::string, Model>& lists() const { return lists_; }
  [[nodiscard]] const Model& stored() const { return stored_; }
  [[nodiscard]] std::size_t unanswered() const { return requests_.size(); }

  [[nodiscard]] Model desired() const {
    Model model;
    machine_.state().desired.workloads.for_each([&](const std::string& name, const Tree& value) {
      const auto made = value.object<Workload>();
      model[name] = {made->agent, made->runtime_config};
    });
    return model;
  }

 private:
  void tell(const Event& event) {
    const bool stored =
        std::holds_alternative<Committed>(event) || std::holds_alternative<Loaded>(event);
    for (const auto& effect : machine_.step(event))
      match(
          effect,
          [&](const Send& e) {
            const bool is_update = std::holds_alternative<UpdateWorkload>(e.message);
            RC_ASSERT((stored || !is_update));  // nothing is told before it is stored
            received(e);
          },
          [&](const SendAll& e) {
            for (const auto connection : e.to) received({connection, e.message});
          },
          [](const Publish&) { RC_FAIL("nobody has subscribed"); },
          [&](const Load& e) { load_ = e; },
          [&](const Commit& e) {
            RC_ASSERT_FALSE(commit_.has_value());
            commit_ = e;
          },
          [&](const Close& e) { connections_.erase(e.connection); },
          [](const Fatal& e) { RC_FAIL(e.text); }, [](const RunHook&) {}, [](const ArmTimer&) {},
          [](const AnswerDryRun&) {}, [](const AnswerStateAges&) {}, [](const Warn&) {},
          [](const WriteLog&) {});
  }

  void received(const Send& send) {
    const auto agent = connections_.find(send.connection);
    match(
        send.message,
        [&](const ServerHello& m) {
          Model& list = lists_[agent->second] = {};
          for (const auto& spec : m.added) add(list, *spec);
        },
        [&](const UpdateWorkload& m) {
          Model& list = lists_.at(agent->second);
          for (const auto& deleted : m.deleted) {
            const std::string& name = deleted.instance.workload.value;
            RC_ASSERT(list.contains(name));
            RC_ASSERT(workload_id_of(list.at(name).config) == deleted.instance.id);
            list.erase(name);
          }
          for (const auto& spec : m.added) add(list, *spec);
        },
        [&](const Response& m) {
          const auto request = requests_.find(m.id);
          RC_ASSERT(request != requests_.end());
          const bool refused = std::holds_alternative<ErrorResponse>(m.content);
          // What breaks the rules is never accepted.
          RC_ASSERT((refused || request->second.first.find(' ') == std::string::npos ||
                     !request->second.second));
          requests_.erase(request);
        },
        [](const auto&) {});
  }

  static void add(Model& list, const WorkloadSpec& spec) {
    const bool fresh = list.emplace(spec.instance().workload.value,
                                    Wanted{spec.workload().agent, spec.workload().runtime_config})
                           .second;
    RC_ASSERT(fresh);
  }

  ServerMachine machine_;
  Model stored_;  // what the store holds, in the words of the model
  Version version_ = 0;
  std::optional<Load> load_;
  std::optional<Commit> commit_;
  int last_request_ = 0;
  std::map<std::string, std::pair<std::string, std::optional<Wanted>>> requests_;  // unanswered
  ConnectionNumber last_connection_ = 10;
  std::map<ConnectionNumber, std::string> connections_;
  std::map<std::string, Model> lists_;  // what each connected agent was told to run
};

// Whatever is asked, refused, stored, lost in a conflict or not stored at all: the machine's state is the stored one,
// every request is answered once, and each connected agent has been told exactly its share of it.
TEST(ServerMachine, KeepsStateStoreAndAgentsInLine) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& choices) {
    Cluster cluster;
    for (const auto choice : choices) {
      const unsigned number = choice / 8U;
      const std::string agent = number % 2 == 0 ? "A" : "B";
      const std::string name = std::vector<std::string>{"web", "db", "bad name"}[number / 2 % 3];
      const std::string config = std::to_string(number / 6 % 3);
      switch (choice % 8) {
        case 0:
        case 1:
          cluster.update(name, Wanted{agent, config});
          break;
        case 2:
          cluster.update(name, std::nullopt);
          break;
        case 3:
          cluster.connect(agent);
          break;
        case 4:
          cluster.disconnect(agent);
          break;
        case 5:
          cluster.answer_store(number % 2 == 0);
          break;
        case 6:
          if (cluster.waits_for_the_store() && number % 2 == 0)
            cluster.foreign_write("foreign", Wanted{agent, config});
          break;
        default:
          cluster.answer_store(true);
      }
      if (!cluster.waits_for_the_store()) RC_ASSERT(cluster.desired() == cluster.stored());
    }
    cluster.settle();
    RC_ASSERT(cluster.desired() == cluster.stored());
    RC_ASSERT(cluster.unanswered() == 0U);
    for (const auto& [agent, list] : cluster.lists()) {
      Model share;
      for (const auto& [name, wanted] : cluster.stored())
        if (wanted.agent == agent) share.emplace(name, wanted);
      RC_ASSERT(list == share);
    }
  }));
}

// Any sequence of updates, some of them refused and some not stored, gives what it gives on a plain map.
TEST(ServerMachine, AgreesWithAPlainMapOnAnySequenceOfUpdates) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& choices) {
    Cluster cluster;
    Model model;
    for (const auto choice : choices) {
      const std::string name = std::vector<std::string>{"web", "db", "api", "bad name"}[choice % 4];
      const std::string agent = choice / 4 % 2 == 0 ? "A" : "bad agent";
      const Wanted wanted{agent, std::to_string(choice / 8 % 4)};
      const bool well = choice / 32 % 8 != 0;
      if (choice / 256 % 4 == 0) {
        cluster.update(name, std::nullopt);
        if (well || !cluster.waits_for_the_store()) model.erase(name);
      } else {
        cluster.update(name, wanted);
        const bool fits = name != "bad name" && agent != "bad agent";
        RC_ASSERT((fits || !cluster.waits_for_the_store()));
        if (fits && (well || !cluster.waits_for_the_store())) model[name] = wanted;
      }
      cluster.answer_store(well);
      RC_ASSERT(cluster.desired() == model);
    }
  }));
}

}  // namespace
}  // namespace tiphys::server
