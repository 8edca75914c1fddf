#include "io/link/agent_client.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/link/link_limits.h"
#include "io/link/test_link.h"
#include "io/rpc/memory/memory_network.h"
#include "io/rpc/server.h"
#include "io/wire/wire.h"
#include "shell/agent_shell.h"

namespace tiphys::link {
namespace {

using namespace std::chrono_literals;

// A server that keeps the calls and does what the test says.
class AgentClientTest : public ::testing::Test {
 public:
  ~AgentClientTest() override {
    client.reset();
    network.cut();
    server.close(Duration::zero(), [] {});
    threads.settle();
  }

 protected:
  struct Served {
    std::shared_ptr<rpc::ServerCall> call;
    std::vector<std::string> messages{};
    std::optional<rpc::Outcome> outcome{};
    bool reads = true;
  };

  void listen() {
    rpc::ListenOptions options;
    options.handlers.add(
        std::string(kConnectAgent), {.take = [this](const std::shared_ptr<rpc::ServerCall>& call) {
          auto served = std::make_shared<Served>();
          served->call = call;
          call->start([weak = std::weak_ptr(served)](rpc::CallEvent event) {
            const auto self = weak.lock();
            if (!self) return;
            match(
                std::move(event),
                [&](const rpc::Message& e) {
                  self->messages.push_back(summary(*wire::decode_to_server(e.bytes)));
                  if (self->reads) self->call->want();
                },
                [&](rpc::Finished e) { self->outcome = std::move(e.outcome); }, [](const auto&) {});
          });
          call->want();
          calls.push_back(std::move(served));
        }});
    listener = server.listen(network.listen("server"), std::move(options));
  }
  void start(AgentClientOptions options = {}) {
    options.hello = {"A", "1.1.0", {{"zone", "front"}}};
    if (options.pause == 1s) options.pause = 2ms;
    client = std::make_unique<AgentClient>(
        threads.io.get_executor(), threads.strand, log, network.connector(),
        std::vector<std::string>{"server"}, std::move(options),
        AgentEvents{
            .connected = [this] { events.emplace_back("connected"); },
            .disconnected =
                [this](bool cleanly) {
                  was_clean = cleanly;
                  events.emplace_back("disconnected");
                },
            .received =
                [this](FromServer&& message) {
                  if (mailbox_is_full) return false;
                  const FromServer taken = std::move(message);
                  events.push_back(summary(taken));
                  return true;
                },
            .fatal = [this](const std::string& text) { events.push_back("fatal: " + text); }});
    client->start();
  }
  // Until the server has taken the agent's n-th call and the machine knows.
  void accept(std::size_t number = 1) {
    ASSERT_TRUE(threads.until([&] { return calls.size() == number; }));
    calls.back()->call->send_headers();
    ASSERT_TRUE(threads.until([&] { return !events.empty() && events.back() == "connected"; }));
  }
  void say(const FromServer& message) { calls.back()->call->send({wire::encode(message)}); }

  Threads threads;
  RecordingLog log;
  std::vector<std::string> events;  // what the machine heard
  bool mailbox_is_full = false;
  bool was_clean = false;  // the last end
  rpc::memory::Network network{threads.io.get_executor()};
  rpc::Server server{threads.io.get_executor(), log};
  rpc::Server::ListenerNumber listener = 0;
  std::vector<std::shared_ptr<Served>> calls;
  std::unique_ptr<AgentClient> client;
};

// [itest->swdd~agent-sends-hello~1]
// [itest->swdd~communication-to-from-agent-middleware~1]
// [itest->swdd~agent-default-communication-grpc~1]
TEST_F(AgentClientTest, IntroducesItselfFirstAndIsConnectedOnceItIsTaken) {
  listen();
  start();
  ASSERT_TRUE(threads.until([&] { return calls.size() == 1 && calls[0]->messages.size() == 1; }));
  EXPECT_EQ(calls[0]->messages[0],
            summary(ToServer(AgentHello{"A", "1.1.0", {{"zone", "front"}}})));
  EXPECT_TRUE(events.empty()) << "connected before the server took it";
  accept();
  say(ServerHello{});
  ASSERT_TRUE(threads.until([&] { return events.size() == 2; }));
  EXPECT_EQ(events[1], summary(FromServer(ServerHello{})));
}

// [itest->swdd~agent-manager-listens-requests-from-server~1]
TEST_F(AgentClientTest, TellsTheMachineWhateverTheServerSays) {
  listen();
  start();
  accept();
  const InstanceName web{WorkloadName{"web"}, WorkloadId{"id"}, AgentName{"A"}};
  const std::vector<FromServer> said{
      ServerHello{},
      UpdateWorkload{{}, {{web, {}}}},
      UpdateWorkloadState{{{web, ExecutionState(Phase::kRunningOk)}}},
      Response{"web@1", ErrorResponse{"no"}},
      LinkLogsRequest{"logs", {}},
      LinkLogsCancel{"logs"}};
  for (const auto& message : said) say(message);
  ASSERT_TRUE(threads.until([&] { return events.size() == said.size() + 1; }));
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(events[i + 1], summary(said[i]));
}

// Time that does not pass, and pipes and a disk that nobody needs.
class Stillness final : public shell::Clock,
                        public shell::Timers,
                        public shell::Trace,
                        public shell::ControlInterfaces,
                        public shell::WorkloadFolders {
 public:
  [[nodiscard]] Instant now() const override { return {}; }
  void after(Duration, std::function<void()>) override {}
  [[nodiscard]] bool enabled() const override { return false; }
  void event(std::string_view, const std::string&) override {}
  void effect(std::string_view, const std::string&) override {}
  void open(shell::InterfaceNumber, const InstanceName&, std::function<void(Result<std::string>)>,
            std::function<void(shell::InterfaceEvent)>) override {
    ADD_FAILURE() << "nothing is opened";
  }
  void send(shell::InterfaceNumber, FromAnkaios) override {}
  void read_on(shell::InterfaceNumber) override {}
  void stop_reading(shell::InterfaceNumber) override {}
  void close(shell::InterfaceNumber) override {}
  void write_files(WorkloadSpecPtr,
                   std::function<void(Result<std::vector<shell::Mount>>)>) override {
    ADD_FAILURE() << "nothing is written";
  }
  void remove_files(const InstanceName&, std::function<void(Status)>) override {
    ADD_FAILURE() << "nothing is removed";
  }
  void remove(const InstanceName&, std::function<void(Status)>) override {
    ADD_FAILURE() << "nothing is removed";
  }
};

// The machine has nothing but the link to reach a server, and all that it says arrives there.
// [itest->swdd~agent-shall-use-interfaces-to-server~1]
TEST_F(AgentClientTest, IsAllThatAnAgentHasOfItsServer) {
  listen();
  Stillness still;
  std::optional<shell::AgentShell> agent;
  client = std::make_unique<AgentClient>(
      threads.io.get_executor(), threads.strand, log, network.connector(),
      std::vector<std::string>{"server"}, AgentClientOptions{.hello = {"A", "1.1.0", {}}},
      AgentEvents{
          .connected = [&] { agent->connected(); },
          .disconnected = [&](bool cleanly) { agent->disconnected(cleanly); },
          .received = [&](FromServer&& message) { return agent->received(std::move(message)); },
          .fatal = [](const std::string& text) { ADD_FAILURE() << text; }});
  agent.emplace(agent::Settings{.name = AgentName{"A"}, .runtimes = {}}, threads.strand, still,
                still, still, log, *client, still, std::map<std::string, shell::Runtime*>{}, still);
  client->start();
  ASSERT_TRUE(threads.until([&] { return calls.size() == 1; }));
  calls[0]->call->send_headers();
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->runtime = "none";
  const auto spec = *WorkloadSpec::make("web", workload);
  say(ServerHello{{spec}});
  ASSERT_TRUE(threads.until([&] { return calls[0]->messages.size() == 3; }));
  const auto report = [&](Phase phase, std::string info) {
    return summary(ToServer(
        UpdateWorkloadState{{{spec->instance(), ExecutionState(phase, std::move(info))}}}));
  };
  EXPECT_EQ(calls[0]->messages, (std::vector<std::string>{
                                    summary(ToServer(AgentHello{"A", "1.1.0", {}})),
                                    report(Phase::kPendingStarting, "Triggered at runtime."),
                                    report(Phase::kPendingStartingFailed, "Unsupported Runtime")}));
}

TEST_F(AgentClientTest, SendsInOrder) {
  listen();
  start();
  accept();
  for (std::uint32_t i = 0; i < 100; ++i) client->send(AgentLoadStatus{"A", {i, 0}});
  ASSERT_TRUE(threads.until([&] { return calls[0]->messages.size() == 101; }));
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(calls[0]->messages[i + 1], summary(ToServer(AgentLoadStatus{"A", {i, 0}})));
}

TEST_F(AgentClientTest, TellsWhenAMessageIsTakenAndWaitsWithASlowServer) {
  listen();
  start();
  accept();
  calls[0]->reads = false;
  constexpr std::size_t kMessages = 40;
  std::size_t taken = 0;
  const LinkLogEntries entries{"r", {{LogEntry{{}, std::string(200'000, 'x')}}}};
  for (std::size_t i = 0; i < kMessages; ++i) client->send(entries, [&] { ++taken; });
  EXPECT_EQ(taken, 0U);
  // What the windows and the send queue hold, and no more.
  ASSERT_TRUE(threads.until([&] { return taken > 0; }));
  for (int turn = 0; turn < 500; ++turn)
    if (!threads.strand.run_one()) {
      threads.io.restart();
      threads.io.poll_one();
    }
  EXPECT_LT(taken, kMessages);
  calls[0]->reads = true;
  calls[0]->call->want();
  ASSERT_TRUE(threads.until([&] { return taken == kMessages; }));
  ASSERT_TRUE(threads.until([&] { return calls[0]->messages.size() == kMessages + 1; }));
}

TEST_F(AgentClientTest, WhatIsDroppedIsTakenToo) {
  listen();
  start();
  accept();
  calls[0]->reads = false;
  std::size_t taken = 0;
  const LinkLogEntries entries{"r", {{LogEntry{{}, std::string(1'000'000, 'x')}}}};
  for (int i = 0; i < 20; ++i) client->send(entries, [&] { ++taken; });
  ASSERT_TRUE(threads.until([&] { return taken > 0; }));
  calls[0]->call->finish({});
  ASSERT_TRUE(threads.until([&] { return taken == 20; }));
  client->send(entries, [&] { ++taken; });
  ASSERT_TRUE(threads.until([&] { return taken == 21; }));
}

TEST_F(AgentClientTest, WhoGoesTellsNobody) {
  listen();
  start();
  accept();
  client->send(LinkLogEntries{"r", {}}, [] { FAIL() << "told"; });
  client.reset();
  threads.settle();
  while (threads.strand.run_one()) {
  }
}

TEST_F(AgentClientTest, ConnectsAgainHoweverTheConnectionEnds) {
  listen();
  start();
  accept();
  calls.back()->call->finish({});
  ASSERT_TRUE(threads.until([&] { return events.back() == "disconnected"; }));
  EXPECT_TRUE(log.has("interrupted: 'the server has ended the connection'"));
  EXPECT_TRUE(was_clean);
  accept(2);
  calls.back()->call->finish(rpc::failed(Code::kInternal, "broken"));
  ASSERT_TRUE(threads.until([&] { return events.back() == "disconnected"; }));
  EXPECT_FALSE(was_clean);
  accept(3);
  network.cut();
  ASSERT_TRUE(threads.until([&] { return events.back() == "disconnected"; }));
  accept(4);
  EXPECT_EQ(events,
            (std::vector<std::string>{"connected", "disconnected", "connected", "disconnected",
                                      "connected", "disconnected", "connected"}));
  for (const auto& call : calls) EXPECT_EQ(call->messages.size(), 1U) << "says hello each time";
}

TEST_F(AgentClientTest, WaitsForAServerAndSaysSoOnce) {
  start();
  ASSERT_TRUE(threads.until([&] { return log.has("Connection to server interrupted: '"); }));
  int rounds = 0;
  ASSERT_TRUE(threads.until([&] { return ++rounds > 10; }));
  EXPECT_EQ(log.lines.size(), 1U) << log.lines.back();
  EXPECT_TRUE(events.empty());
  listen();
  accept();
}

TEST_F(AgentClientTest, EndsWithAServerOfAnotherVersion) {
  listen();
  start();
  ASSERT_TRUE(threads.until([&] { return calls.size() == 1; }));
  calls[0]->call->finish(rpc::failed(Code::kFailedPrecondition, "Unsupported protocol version"));
  ASSERT_TRUE(threads.until([&] { return !events.empty(); }));
  EXPECT_EQ(events[0], "fatal: Ankaios version mismatch: 'Unsupported protocol version'.");
  int rounds = 0;
  ASSERT_TRUE(threads.until([&] { return ++rounds > 10; }));
  EXPECT_EQ(calls.size(), 1U) << "tried again";
}

TEST_F(AgentClientTest, DropsWhatWasMeantForAConnectionThatHasEnded) {
  listen();
  start();
  accept();
  threads.strand_runs = false;  // the machine is slow to hear
  calls.back()->call->finish({});
  ASSERT_TRUE(threads.until([&] { return calls.size() == 2; }));
  client->send(AgentLoadStatus{"A", {1, 0}});  // the machine believes in the first connection
  calls.back()->call->send_headers();
  threads.strand_runs = true;
  ASSERT_TRUE(threads.until([&] { return events.size() == 3; }));
  client->send(AgentLoadStatus{"A", {2, 0}});
  ASSERT_TRUE(threads.until([&] { return calls[1]->messages.size() == 2; }));
  EXPECT_EQ(calls[1]->messages[1], summary(ToServer(AgentLoadStatus{"A", {2, 0}})));
}

TEST_F(AgentClientTest, StopsReadingWhenTheMailboxIsFull) {
  listen();
  start();
  accept();
  mailbox_is_full = true;
  int writes = 1;
  while (calls[0]->call->send(
             {wire::encode(FromServer(Response{std::string(100'000, 'x'), ErrorResponse{}}))}) &&
         writes < 1000)
    ++writes;
  ASSERT_LT(writes, 1000);
  for (int i = 0; i < 200; ++i) {
    threads.strand.run_one();
    threads.io.poll();
  }
  EXPECT_EQ(events.size(), 1U);
  mailbox_is_full = false;
  ASSERT_TRUE(threads.until([&] { return events.size() == static_cast<std::size_t>(writes) + 1; }));
}

TEST_F(AgentClientTest, DropsWhatItCannotRead) {
  listen();
  start();
  accept();
  const std::string log_request_without_body = "\x2a\x03\x0a\x01r";
  for (const std::string& bytes :
       {std::string("\xff\xff garbage"), std::string(), log_request_without_body})
    calls[0]->call->send({bytes});
  say(ServerHello{});
  ASSERT_TRUE(threads.until([&] { return events.size() == 2; }));
  EXPECT_EQ(events[1], summary(FromServer(ServerHello{})));
}

TEST_F(AgentClientTest, GivesUpAServerThatNeverAnswersItsHello) {
  listen();
  start({.hello = {}, .acceptance = 5ms});
  ASSERT_TRUE(threads.until([&] { return calls.size() == 2; }));
  EXPECT_TRUE(events.empty());
}

TEST_F(AgentClientTest, GivesUpAServerThatDoesNotRead) {
  listen();
  start();
  accept();
  calls[0]->reads = false;
  for (int i = 0; i < 80; ++i)
    client->send(Request{std::string(rpc::kMiB, 'x'), CompleteStateRequest{}});
  ASSERT_TRUE(threads.until([&] { return calls.size() == 2; }));
  EXPECT_EQ(events.back(), "disconnected");
  EXPECT_TRUE(log.has("does not read what it is sent"));
}

TEST_F(AgentClientTest, EndsItsCallWithoutAGoodbye) {
  listen();
  start();
  accept();
  client.reset();
  ASSERT_TRUE(threads.until([&] { return calls[0]->outcome.has_value(); }));
  EXPECT_EQ(calls[0]->messages.size(), 1U);
}

}  // namespace
}  // namespace tiphys::link
