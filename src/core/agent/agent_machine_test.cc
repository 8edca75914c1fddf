#include "core/agent/agent_machine.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::agent {
namespace {

const Settings kSettings{AgentName{"A"}, {"containerd", "podman"}};

InstanceName instance(const std::string& name, const std::string& id,
                      const std::string& agent = "A") {
  return {WorkloadName{name}, WorkloadId{id}, AgentName{agent}};
}

WorkloadSpecPtr spec(const std::string& name, const std::string& id,
                     const std::string& runtime = "podman") {
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->runtime = runtime;
  if (name == "web" && id == "2") workload->dependencies.edit() = {{"db", AddCondition::kRunning}};
  return WorkloadSpec::received(instance(name, id), std::move(workload)).value();
}

template <class T>
std::vector<T> all(const Effects& effects) {
  std::vector<T> found;
  for (const auto& effect : effects)
    if (const auto* e = std::get_if<T>(&effect)) found.push_back(*e);
  return found;
}

template <class Message>
std::vector<Message> sent(const Effects& effects) {
  std::vector<Message> messages;
  for (const auto& send : all<Send>(effects))
    if (const auto* message = std::get_if<Message>(&send.message)) messages.push_back(*message);
  return messages;
}

TEST(AgentMachine, ReportsTheLoadOfItsNode) {
  AgentMachine machine(kSettings);
  (void)machine.step(Connected{}, {});
  const auto loads = sent<AgentLoadStatus>(machine.step(LoadSampled{{12, 4096}}, {}));
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0], (AgentLoadStatus{"A", {12, 4096}}));
}

// [utest->swdd~agent-manager-stores-all-workload-states~1]
TEST(AgentMachine, StoresTheStatesOfOtherAgents) {
  AgentMachine machine(kSettings);
  const WorkloadState running{instance("db", "1", "B"), ExecutionState(Phase::kRunningOk)};
  const WorkloadState own{instance("web", "1"), ExecutionState(Phase::kRunningOk)};
  (void)machine.step(Received{UpdateWorkloadState{{running, own}}}, {});
  ASSERT_NE(machine.states().find(running.instance), nullptr);
  EXPECT_EQ(*machine.states().find(running.instance), running.state);
  EXPECT_EQ(machine.states().find(own.instance), nullptr)
      << "of its own workloads the agent knows better";

  const WorkloadState removed{running.instance, ExecutionState(Phase::kRemoved)};
  (void)machine.step(Received{UpdateWorkloadState{{removed}}}, {});
  EXPECT_EQ(machine.states().find(running.instance), nullptr);
}

// [utest->swdd~agent-stores-workload-states-of-its-workloads~1]
TEST(AgentMachine, StoresTheStatesOfItsOwnWorkloads) {
  AgentMachine machine(kSettings);
  (void)machine.step(Connected{}, {});
  const Effects effects = machine.step(Received{UpdateWorkload{{spec("web", "1")}, {}}}, {});
  ASSERT_NE(machine.states().find(instance("web", "1")), nullptr);
  EXPECT_EQ(machine.states().find(instance("web", "1"))->phase, Phase::kPendingStarting);

  const Token token = all<workload::CreateContainer>(effects).at(0).token;
  (void)machine.step(ForLoop{workload::CreateFailed{token, "no image given", false}}, {});
  EXPECT_EQ(*machine.states().find(instance("web", "1")),
            ExecutionState(Phase::kPendingStartingFailed, "no image given"));

  (void)machine.step(Received{UpdateWorkload{{}, {{instance("web", "1"), {}}}}}, {});
  EXPECT_EQ(machine.states().find(instance("web", "1")), nullptr);
}

// [utest->swdd~agent-handles-workloads-with-fulfilled-dependencies~1]
// [utest->swdd~agent-handles-new-workload-operations]
// [utest->swdd~agent-handles-update-workload-state-requests~1]
TEST(AgentMachine, HoldsThousandsBackAndReleasesThemInOneStep) {
  constexpr std::size_t kMany = 10000;
  AgentMachine machine(kSettings);
  (void)machine.step(Connected{}, {});
  UpdateWorkload update;
  for (std::size_t i = 0; i < kMany; ++i) {
    auto workload = std::make_shared<Workload>();
    workload->agent = "A";
    workload->runtime = "podman";
    workload->dependencies.edit() = {{"db", AddCondition::kRunning}};
    update.added.push_back(
        WorkloadSpec::received(instance("w" + std::to_string(i), "1"), std::move(workload))
            .value());
  }
  const auto effects = machine.step(Received{update}, {});
  EXPECT_EQ(sent<UpdateWorkloadState>(effects).size(), kMany);
  EXPECT_TRUE(all<workload::CreateContainer>(effects).empty());
  const WorkloadState running{instance("db", "1", "B"), ExecutionState(Phase::kRunningOk)};
  EXPECT_EQ(
      all<workload::CreateContainer>(machine.step(Received{UpdateWorkloadState{{running}}}, {}))
          .size(),
      kMany);
}

TEST(AgentMachine, RemembersThousandsOfRemovals) {
  constexpr std::size_t kMany = 10000;
  AgentMachine machine(kSettings);
  UpdateWorkload update;
  for (std::size_t i = 0; i < kMany; ++i)
    update.deleted.push_back({instance("w" + std::to_string(i), "1"), {}});
  EXPECT_TRUE(machine.step(Received{update}, {}).empty()) << "nobody hears it";
  const auto reports = sent<UpdateWorkloadState>(machine.step(Connected{}, {}));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].states.size(), kMany);
}

TEST(AgentMachine, IgnoresCommandsForLoopsFromOutside) {
  AgentMachine machine(kSettings);
  EXPECT_TRUE(machine.step(ForLoop{workload::Delete{}}, {}).empty());
}

TEST(AgentMachine, WritesItsEventsForTheTrace) {
  const Token token = 1;
  for (const auto& [event, expected] : std::vector<std::pair<Event, std::string>>{
           {Connected{}, "connected"},
           {Disconnected{}, "disconnected"},
           {Received{ServerHello{{spec("web", "1")}}}, "received ServerHello +web.1.A"},
           {Listed{token, {{}, {}}}, "listed 2 containers"},
           {ListFailed{token, "broken pipe"}, "list failed: broken pipe"},
           {ForLoop{workload::Deleted{token}}, "deleted"},
           {LoadSampled{{1, 2}}, "load sampled"},
           {LogsArrived{7, {"a", "b"}}, "logs #7: 2 lines"},
           {LogsEnded{7, ""}, "logs #7 ended"},
           {LogsEnded{7, "gone"}, "logs #7 ended: gone"},
           {LogsSent{8}, "logs sent, receipt 8"},
       })
    EXPECT_EQ(to_string(event), expected);
  EXPECT_EQ(to_string(Effect(StopFetching{7})), "stop logs #7");
}

// A machine whose workload `web` runs as container c1.
class AgentLogsTest : public testing::Test {
 protected:
  AgentLogsTest() {
    step(Connected{});
    const auto created = step(Received{UpdateWorkload{{spec("web", "1")}, {}}});
    step(ForLoop{workload::Created{all<workload::CreateContainer>(created).at(0).token, {"c1"}}});
  }

  Effects step(const Event& event) { return machine.step(event, {}); }
  Effects request(const std::string& id, const std::string& workload) {
    LogsRequest wanted;
    wanted.instances = {instance(workload, "1")};
    return step(Received{LinkLogsRequest{id, wanted}});
  }

  AgentMachine machine{kSettings};
};

TEST_F(AgentLogsTest, FetchesFromTheContainerOfTheWorkloadOfThatName) {
  const auto fetches = all<FetchLogs>(request("cli@1", "web"));
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].runtime, "podman");
  EXPECT_EQ(fetches[0].container, ContainerId{"c1"});
  EXPECT_EQ(machine.log_campaigns(), 1U);

  const auto logs = all<SendLogs>(step(LogsArrived{fetches[0].fetch, {"one"}}));
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].entries, (LinkLogEntries{"cli@1", {{LogEntry{instance("web", "1"), "one"}}}}));
  EXPECT_EQ(all<ContinueFetching>(step(LogsSent{logs[0].receipt})).size(), 1U);
  EXPECT_EQ(sent<LinkLogsStop>(step(LogsEnded{fetches[0].fetch, ""})),
            (std::vector<LinkLogsStop>{{"cli@1", {instance("web", "1")}}}));
  EXPECT_EQ(machine.log_campaigns(), 0U);
}

TEST_F(AgentLogsTest, WhatHasNoContainerIsStoppedAtOnceWithAWord) {
  step(Received{UpdateWorkload{{spec("new", "1")}, {}}});
  for (const auto& [name, text] :
       {std::pair{"new", "Could not start collecting logs for 'new' as it has no workload ID yet."},
        std::pair{"ghost",
                  "Could not start collecting logs for 'ghost': there is no such workload."}}) {
    const auto effects = request("r", name);
    EXPECT_EQ(sent<LinkLogsStop>(effects).size(), 1U);
    ASSERT_EQ(all<Warn>(effects).size(), 1U);
    EXPECT_EQ(all<Warn>(effects)[0].text, text);
    EXPECT_TRUE(all<FetchLogs>(effects).empty());
  }
}

TEST_F(AgentLogsTest, ABusyLoopHoldsUpNobodysLogs) {
  step(Received{UpdateWorkload{{}, {{instance("web", "1"), {}}}}});  // its deletion is under way
  EXPECT_EQ(all<FetchLogs>(request("r", "web")).size(), 1U);
}

TEST_F(AgentLogsTest, DeletingAFollowedWorkloadDoesNotEndTheCampaign) {
  const auto fetch = all<FetchLogs>(request("r", "web")).at(0).fetch;
  const auto deletion = step(Received{UpdateWorkload{{}, {{instance("web", "1"), {}}}}});
  const auto token = all<workload::DeleteContainer>(deletion).at(0).token;
  EXPECT_TRUE(all<StopFetching>(step(ForLoop{workload::Deleted{token}})).empty());
  EXPECT_EQ(all<SendLogs>(step(LogsArrived{fetch, {"last words"}})).size(), 1U);
  EXPECT_EQ(sent<LinkLogsStop>(step(LogsEnded{fetch, ""})).size(), 1U);
}

TEST_F(AgentLogsTest, ALostServerEndsCampaignsAndOneThatEndedWellDoesNot) {
  const auto first = all<FetchLogs>(request("r", "web")).at(0).fetch;
  EXPECT_TRUE(all<StopFetching>(step(Disconnected{.cleanly = true})).empty());
  EXPECT_TRUE(step(LogsArrived{first, {"later"}}).empty());
  EXPECT_EQ(all<SendLogs>(step(Connected{})).size(), 1U);
  EXPECT_EQ(all<StopFetching>(step(Disconnected{})).size(), 1U);
  EXPECT_EQ(machine.log_campaigns(), 0U);
}

TEST_F(AgentLogsTest, ACancelStopsTheFetching) {
  const auto fetch = all<FetchLogs>(request("r", "web")).at(0).fetch;
  const auto stops = all<StopFetching>(step(Received{LinkLogsCancel{"r"}}));
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].fetch, fetch);
  EXPECT_TRUE(step(LogsArrived{fetch, {"late"}}).empty());
  EXPECT_TRUE(step(LogsEnded{fetch, ""}).empty());
}

TEST_F(AgentLogsTest, RequestsWaitForTheListingsOfAServerHello) {
  AgentMachine restarted(kSettings);
  (void)restarted.step(Connected{}, {});
  const auto asked = restarted.step(Received{ServerHello{{spec("web", "1")}}}, {});
  LogsRequest wanted;
  wanted.instances = {instance("web", "1")};
  for (const std::string id : {"r", "cancelled", "r"})
    EXPECT_TRUE(restarted.step(Received{LinkLogsRequest{id, wanted}}, {}).empty());
  EXPECT_EQ(restarted.log_campaigns(), 2U);
  EXPECT_TRUE(restarted.step(Received{LinkLogsCancel{"cancelled"}}, {}).empty());
  const auto listings = all<ListWorkloads>(asked);
  ASSERT_EQ(listings.size(), 2U);
  (void)restarted.step(Listed{listings[0].token, {}}, {});
  const auto effects = restarted.step(
      Listed{listings[1].token,
             {{"podman", instance("web", "1"), ExecutionState(Phase::kRunningOk), {"c7"}}}},
      {});
  const auto fetches = all<FetchLogs>(effects);
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].container, ContainerId{"c7"});

  // Nobody waits any more when the server is lost meanwhile.
  (void)restarted.step(Received{ServerHello{}}, {});
  (void)restarted.step(Received{LinkLogsRequest{"s", wanted}}, {});
  (void)restarted.step(Disconnected{}, {});
  EXPECT_EQ(restarted.log_campaigns(), 0U);
}

// -- A node with two runtimes, and a server that wants this and that
// ------------------------------------------------------------------------------------------------------------------

class Node {
 public:
  // What the server wants: name -> id. The same name may move between the runtimes.
  using Desired = std::map<std::string, std::string>;

  void want(const std::string& name, const std::string& id) {
    UpdateWorkload update;
    const bool is_needed = name == "db" && desired_.contains("web") && desired_.at("web") == "2";
    std::map<std::string, DeleteCondition> conditions;
    if (is_needed) conditions = {{"web", DeleteCondition::kNotPendingNorRunning}};
    if (const auto old = desired_.find(name); old != desired_.end())
      update.deleted.push_back({instance(name, old->second), conditions});
    if (id.empty()) {
      desired_.erase(name);
    } else {
      desired_[name] = id;
      update.added.push_back(spec(name, id));
    }
    if (connected_) tell(Received{update});
  }

  void connect() {
    if (connected_) return;
    connected_ = true;
    tell(Connected{});
    hello();
  }

  // The server's list once more, as after a hello that was lost.
  void hello() {
    ServerHello message;
    for (const auto& [name, id] : desired_) message.added.push_back(spec(name, id));
    if (connected_) tell(Received{message});
  }

  // The newest reports may be lost with the connection.
  void disconnect(std::size_t lost) {
    if (!connected_) return;
    connected_ = false;
    tell(Disconnected{});
    unsure_.resize(unsure_.size() - std::min(unsure_.size(), lost));
    believe();
  }

  void wait() {
    now_ = now_ + 2 * kReportCertainlyArrived;
    believe();
  }

  // The agent's process dies and starts again; what it asked of the runtimes is done, but nobody hears of it.
  void restart_agent() {
    disconnect(0);
    for (auto& call : std::exchange(calls_, {})) (void)carry_out(call, true);
    timers_.clear();
    sweep_timer_.reset();
    machine_ = std::make_unique<AgentMachine>(kSettings);
    restarted_ = true;
  }

  void end_container(std::size_t choice) {
    if (live_.empty()) return;
    auto container = live_.begin();
    std::advance(container, static_cast<std::ptrdiff_t>(choice % live_.size()));
    container->second.state = ExecutionState(Phase::kSucceededOk);
  }

  void leave_orphan(const std::string& name, const std::string& id, const std::string& runtime) {
    add_container(runtime, instance(name, id));
  }

  // One call that is under way is answered, well or badly.
  void answer(std::size_t choice, bool well) {
    if (calls_.empty()) return;
    const auto entry = calls_.begin() + static_cast<std::ptrdiff_t>(choice % calls_.size());
    const Effect call = std::move(*entry);
    calls_.erase(entry);
    tell(carry_out(call, well));
  }

  void fire_timer() {
    if (timers_.empty()) return;
    const Token token = timers_.front();
    timers_.pop_front();
    tell(ForLoop{workload::TimerFired{token}});
  }

  void settle() {
    connect();
    for (int round = 0; round < 3; ++round) {
      while (!calls_.empty() || !timers_.empty()) {
        while (!calls_.empty()) answer(0, true);
        fire_timer();
      }
      if (sweep_timer_) tell(ForLoop{workload::TimerFired{*std::exchange(sweep_timer_, {})}});
    }
    believe();
  }

  [[nodiscard]] std::set<InstanceName> wanted() const {
    std::set<InstanceName> names;
    for (const auto& [name, id] : desired_) names.insert(instance(name, id));
    return names;
  }
  [[nodiscard]] std::vector<InstanceName> live() const {
    std::vector<InstanceName> names;
    names.reserve(live_.size());
    for (const auto& [id, container] : live_) names.push_back(container.instance);
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] const std::set<InstanceName>& known_to_the_server() const { return believed_; }
  // What the agent knows of that workload: is one of these states among it?
  [[nodiscard]] bool knows(const std::string& name, const std::set<Phase>& phases) const {
    const auto states = machine_->states().of_workload(WorkloadName{name});
    return std::any_of(states.begin(), states.end(),
                       [&](const auto& state) { return phases.contains(state.state.phase); });
  }
  [[nodiscard]] bool restarted() const { return restarted_; }

 private:
  void tell(const Event& event) {
    for (auto& effect : machine_->step(event, now_)) perform(std::move(effect));
  }

  void perform(Effect effect) {
    match(
        effect,
        [&](const Send& e) {
          RC_ASSERT(connected_);
          if (const auto* states = std::get_if<UpdateWorkloadState>(&e.message))
            unsure_.insert(unsure_.end(), states->states.begin(), states->states.end());
        },
        [&](const ListWorkloads& e) {
          listings_[e.token] = containers_of(e.runtime);
          calls_.emplace_back(e);
        },
        [](const Warn&) {}, [](const workload::Unwatch&) {},
        [&](const workload::ArmTimer& e) {
          if (e.after == kSweepPeriod)
            sweep_timer_ = e.token;
          else
            timers_.push_back(e.token);
        },
        [&](const auto& e) { calls_.emplace_back(e); });
  }

  // What a runtime does about a call, and how it answers.
  Event carry_out(const Effect& call, bool well) {
    if (const auto* list = std::get_if<ListWorkloads>(&call)) {
      // The listing shows the runtime as it was when it was asked.
      if (!well) return ListFailed{list->token, "broken pipe"};
      return Listed{list->token, listings_.at(list->token)};
    }
    if (const auto* remove = std::get_if<workload::DeleteContainer>(&call)) {
      if (!well) return ForLoop{workload::DeleteFailed{remove->token, "device busy"}};
      live_.erase(remove->container->value);
      return ForLoop{workload::Deleted{remove->token}};
    }
    if (const auto* clear = std::get_if<workload::ClearFolder>(&call))
      return ForLoop{workload::FolderCleared{clear->token}};
    if (const auto* watch = std::get_if<workload::Watch>(&call)) {
      const auto container = live_.find(watch->container.value);
      return ForLoop{workload::Observed{watch->token, container == live_.end()
                                                          ? ExecutionState(Phase::kFailedLost)
                                                          : container->second.state}};
    }
    const auto& create = std::get<workload::CreateContainer>(call);
    const InstanceName& of = create.spec->instance();
    if (create.reuse) {
      const auto container = live_.find(create.reuse->value);
      if (well && container != live_.end()) {
        container->second.state = ExecutionState(Phase::kRunningOk);
        return ForLoop{workload::Created{create.token, *create.reuse}};
      }
    }
    // The name of a container is taken while another one has it; a failed creation leaves nothing behind.
    const auto left = std::erase_if(live_, [&](const auto& container) {
      return container.second.runtime == create.runtime && container.second.instance == of;
    });
    if (!well || left != 0 || create.reuse)
      return ForLoop{workload::CreateFailed{create.token, "name in use", true}};
    return ForLoop{workload::Created{create.token, add_container(create.runtime, of)}};
  }

  ContainerId add_container(const std::string& runtime, const InstanceName& of) {
    const ContainerId id{"c" + std::to_string(++last_container_)};
    live_[id.value] = {runtime, of, ExecutionState(Phase::kRunningOk), id};
    return id;
  }

  [[nodiscard]] std::vector<FoundWorkload> containers_of(const std::string& runtime) const {
    std::vector<FoundWorkload> found;
    for (const auto& [id, container] : live_)
      if (container.runtime == runtime) found.push_back(container);
    return found;
  }

  void believe() {
    for (const auto& state : std::exchange(unsure_, {}))
      if (state.state.phase == Phase::kRemoved)
        believed_.erase(state.instance);
      else
        believed_.insert(state.instance);
  }

  std::unique_ptr<AgentMachine> machine_ = std::make_unique<AgentMachine>(kSettings);
  Instant now_;
  Desired desired_;
  bool connected_ = false;
  bool restarted_ = false;
  std::map<std::string, FoundWorkload> live_;
  int last_container_ = 0;
  std::vector<Effect> calls_;
  std::map<Token, std::vector<FoundWorkload>> listings_;
  std::deque<Token> timers_;
  std::optional<Token> sweep_timer_;
  std::vector<WorkloadState> unsure_;  // reports that the server may not get
  std::set<InstanceName> believed_;    // instances of which the server has a state
};

// Whatever the server wants, however the runtimes answer and whenever connection or agent are lost: once all is quiet,
// each wanted workload has one container, there is no other, and the server has states of the wanted ones alone. What
// waits may be missing or still there: web.2 until a db runs, a db that web.2 needed as long as a web runs.
TEST(AgentMachine, BringsTheNodeInLineWithTheServer) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& choices) {
    Node node;
    for (const auto choice : choices) {
      const std::size_t number = choice / 16;
      const std::string name = number % 2 == 0 ? "web" : "db";
      const std::string id = std::to_string(number / 2 % 3);
      const std::string runtime = number % 8 == 0 ? "containerd" : "podman";
      switch (choice % 16) {
        case 0:
          node.connect();
          break;
        case 1:
          node.disconnect(number % 4);
          break;
        case 2:
        case 3:
          node.want(name, id);
          break;
        case 4:
          node.want(name, "");
          break;
        case 5:
          node.hello();
          break;
        case 6:
          node.restart_agent();
          break;
        case 7:
          node.end_container(number);
          break;
        case 8:
          node.wait();
          break;
        case 9:
          node.leave_orphan(name, id, runtime);
          break;
        case 10:
          node.fire_timer();
          break;
        case 11:
          node.answer(number, false);
          break;
        default:
          node.answer(number, true);
      }
    }
    node.settle();
    const bool web_may_wait = !node.knows("db", {Phase::kRunningOk});
    const bool db_may_wait = node.knows("web", {Phase::kRunningOk, Phase::kPendingStarting});
    const auto certain = [&](std::set<InstanceName> names) {
      std::erase_if(names, [&](const InstanceName& name) {
        return (web_may_wait && name == instance("web", "2")) ||
               (db_may_wait && name.workload.value == "db");
      });
      return names;
    };
    const auto live = node.live();
    RC_ASSERT(std::adjacent_find(live.begin(), live.end()) == live.end());
    RC_ASSERT(certain({live.begin(), live.end()}) == certain(node.wanted()));
    // A process that died may have taken the news of a removal with it.
    if (!node.restarted()) RC_ASSERT(certain(node.known_to_the_server()) == certain(node.wanted()));
  }));
}

}  // namespace
}  // namespace tiphys::agent
