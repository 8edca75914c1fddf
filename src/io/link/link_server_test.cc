#include "io/link/link_server.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/host/resolver.h"
#include "io/host/test_certificates.h"
#include "io/host/tls_context.h"
#include "io/link/link_limits.h"
#include "io/link/test_link.h"
#include "io/rpc/channel.h"
#include "io/rpc/http2/connector.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/memory/memory_network.h"
#include "io/rpc/server.h"
#include "io/wire/wire.h"
#include "model/protocol_version.h"

namespace tiphys::link {
namespace {

using server::ConnectionNumber;

std::string hello_of(const std::string& agent, std::string version = "1.0.7") {
  return wire::encode(ToServer(AgentHello{agent, std::move(version), {{"zone", "front"}}}));
}
std::string commander_hello(std::string version = "1.1.0-pre") {
  return wire::encode(ToServer(CommanderHello{std::move(version)}));
}

// A client's end of a call and what it was told.
struct TestCall {
  std::shared_ptr<rpc::ClientCall> call;
  bool has_headers = false;
  std::vector<FromServer> messages{};
  std::optional<rpc::Outcome> outcome{};
  bool reads = true;

  [[nodiscard]] std::string ending() const {
    if (!outcome) return "not ended";
    if (outcome->status) return "OK";
    return concat(to_string(outcome->status.error().code), ": ", outcome->status.error().message);
  }
};

class LinkServerTest : public ::testing::Test {
 public:
  ~LinkServerTest() override {
    for (const auto& each : calls) each->call->cancel();
    network.cut();
    rpc_server.close(Duration::zero(), [] {});
    threads.settle();
  }

 protected:
  // Over a connection in memory.
  LinkServerTest() { rpc_server.listen(network.listen("server"), link.listen_options()); }

  std::shared_ptr<TestCall> call(std::string_view method, std::string first,
                                 rpc::Channel* over = nullptr) {
    auto made = std::make_shared<TestCall>();
    made->call = (over == nullptr ? channel : *over).call(std::string(method));
    made->call->start([weak = std::weak_ptr(made)](rpc::CallEvent event) {
      const auto self = weak.lock();
      if (!self) return;
      match(
          std::move(event), [&](const rpc::Headers&) { self->has_headers = true; },
          [&](const rpc::Message& e) {
            self->messages.push_back(*wire::decode_from_server(e.bytes));
            if (self->reads) self->call->want();
          },
          [&](rpc::Finished e) { self->outcome = std::move(e.outcome); }, [](const auto&) {});
    });
    made->call->send({std::move(first)});
    made->call->want();
    calls.push_back(made);
    return made;
  }
  std::shared_ptr<TestCall> connect_agent(const std::string& name) {
    const std::size_t before = opened.size();
    auto agent = call(kConnectAgent, hello_of(name));
    EXPECT_TRUE(threads.until([&] { return opened.size() > before && agent->has_headers; }));
    return agent;
  }
  std::string refusal(std::string_view method, std::string first) {
    const auto refused = call(method, std::move(first));
    EXPECT_TRUE(threads.until([&] { return refused->outcome.has_value(); }));
    EXPECT_FALSE(refused->has_headers);
    EXPECT_TRUE(opened.empty());
    return refused->ending();
  }
  void say(TestCall& from, const ToServer& message) { from.call->send({wire::encode(message)}); }

  Threads threads;
  RecordingLog log;
  // What the machine heard:
  std::map<ConnectionNumber, decltype(server::Opened::peer)> opened;
  std::vector<ConnectionNumber> closed;
  std::vector<std::string> received;
  bool mailbox_is_full = false;

  LinkServer link{
      threads.io.get_executor(), threads.strand, log,
      ServerEvents{
          .opened = [this](server::Opened e) { opened.emplace(e.connection, e.peer); },
          .closed = [this](ConnectionNumber number) { closed.push_back(number); },
          .received =
              [this](ConnectionNumber number, ToServer&& message) {
                if (mailbox_is_full) return false;
                const ToServer taken = std::move(message);
                received.push_back(concat("#", std::to_string(number), " ", summary(taken)));
                return true;
              },
      }};
  rpc::memory::Network network{threads.io.get_executor()};
  rpc::Server rpc_server{threads.io.get_executor(), log};
  rpc::Channel channel{threads.io.get_executor(), network.connector(), {.urls = {"server"}}};
  std::vector<std::shared_ptr<TestCall>> calls;
};

// [itest->swdd~communication-to-from-server-middleware~1]
// [itest->swdd~server-default-communication-grpc~1]
TEST_F(LinkServerTest, TakesAgentsAndCommandersOfAllThreeServices) {
  const auto agent = connect_agent("A");
  const auto cli = call(kConnectCli, commander_hello());
  ASSERT_TRUE(threads.until([&] { return opened.size() == 2; }));
  const auto commander = call(kConnectCommand, commander_hello());
  ASSERT_TRUE(threads.until([&] { return opened.size() == 3 && commander->has_headers; }));
  EXPECT_TRUE(cli->has_headers);
  EXPECT_EQ(std::get<server::AgentPeer>(opened.at(1)).name.value, "A");
  EXPECT_EQ(std::get<server::AgentPeer>(opened.at(1)).tags, (Tags{{"zone", "front"}}));
  EXPECT_TRUE(std::get<server::CommanderPeer>(opened.at(2)).gets_workload_states);
  EXPECT_FALSE(std::get<server::CommanderPeer>(opened.at(3)).gets_workload_states);
  EXPECT_TRUE(std::get<server::CommanderPeer>(opened.at(2)).name.starts_with("cli-conn-"));
  EXPECT_TRUE(std::get<server::CommanderPeer>(opened.at(3)).name.starts_with("commander-conn-"));
}

TEST_F(LinkServerTest, RefusesWhoeverDoesNotIntroduceItself) {
  EXPECT_EQ(refusal(kConnectAgent, ""), "INVALID_ARGUMENT: Empty");
  EXPECT_EQ(refusal(kConnectAgent, commander_hello()), "INVALID_ARGUMENT: No AgentHello received.");
  EXPECT_EQ(refusal(kConnectCli, hello_of("A")), "INVALID_ARGUMENT: No CommanderHello received.");
  EXPECT_EQ(refusal(kConnectCommand, wire::encode(ToServer(Goodbye{}))),
            "INVALID_ARGUMENT: No CommanderHello received.");
  EXPECT_EQ(refusal(kConnectAgent, hello_of("")), "INVALID_ARGUMENT: An agent needs a name.");
  EXPECT_EQ(refusal(kConnectAgent, hello_of("a.b")),
            "INVALID_ARGUMENT: Unsupported agent name 'a.b'. Only a-z, A-Z, 0-9 chars, underscore "
            "(_), and hyphen (-) allowed. Maximum length is 63 characters.");
  EXPECT_EQ(refusal(kConnectAgent, hello_of("", "2.0.0")),
            "FAILED_PRECONDITION: Unsupported protocol version '2.0.0'. Currently supported '1'");
  EXPECT_TRUE(refusal(kConnectAgent, "\xff\xff garbage").starts_with("INVALID_ARGUMENT: "));
  const auto silent = channel.call(std::string(kConnectAgent));
  std::optional<rpc::Outcome> outcome;
  silent->start([&](rpc::CallEvent event) {
    if (auto* finished = std::get_if<rpc::Finished>(&event)) outcome = finished->outcome;
  });
  silent->half_close();
  ASSERT_TRUE(threads.until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->status, fail(Code::kInvalidArgument, "Empty"));
}

TEST_F(LinkServerTest, RefusesOtherVersions) {
  for (const std::string version : {"2.0.0", "0.9.0", "1.0", "v1.0.0", ""}) {
    SCOPED_TRACE(version);
    const std::string text = concat("FAILED_PRECONDITION: Unsupported protocol version '", version,
                                    "'. Currently supported '1'");
    EXPECT_EQ(refusal(kConnectAgent, hello_of("A", version)), text);
    EXPECT_EQ(refusal(kConnectCli, commander_hello(version)), text);
  }
  EXPECT_TRUE(log.has("Refused a connection"));
}

TEST_F(LinkServerTest, CarriesMessagesBothWaysInOrder) {
  const auto agent = connect_agent("A");
  for (std::uint32_t i = 0; i < 100; ++i) say(*agent, AgentLoadStatus{"A", {i, 4096}});
  ASSERT_TRUE(threads.until([&] { return received.size() == 100; }));
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(received[i], concat("#1 ", summary(ToServer(AgentLoadStatus{"A", {i, 4096}}))));
  link.send(1, ServerHello{});
  for (int i = 0; i < 100; ++i) link.send(1, Response{std::to_string(i), ErrorResponse{"no"}});
  link.send(2, ServerHello{});  // nobody
  ASSERT_TRUE(threads.until([&] { return agent->messages.size() == 101; }));
  EXPECT_EQ(agent->messages[0], FromServer(ServerHello{}));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(agent->messages[static_cast<std::size_t>(i) + 1],
              FromServer(Response{std::to_string(i), ErrorResponse{"no"}}));
}

TEST_F(LinkServerTest, StopsReadingWhenTheMailboxIsFull) {
  const auto agent = connect_agent("A");
  mailbox_is_full = true;
  const std::string line(100'000, 'x');
  int writes = 0;
  // The stream takes no more: neither the machine nor the link hold all of this.
  while (agent->call->send({wire::encode(ToServer(Request{line, CompleteStateRequest{}}))}) &&
         ++writes < 1000);
  ASSERT_LT(writes, 1000);
  say(*agent, Goodbye{});
  for (int i = 0; i < 200; ++i) {
    threads.strand.run_one();
    threads.io.poll();
  }
  EXPECT_TRUE(received.empty());
  mailbox_is_full = false;
  ASSERT_TRUE(
      threads.until([&] { return received.size() == static_cast<std::size_t>(writes) + 2; }));
  EXPECT_EQ(received.back(), concat("#1 ", summary(ToServer(Goodbye{}))));
}

TEST_F(LinkServerTest, TellsEveryEndOfAStreamOnce) {
  const auto cancels = connect_agent("cancels");
  const auto half_closes = connect_agent("half-closes");
  const auto offends = connect_agent("offends");
  const auto is_closed = connect_agent("is-closed");
  cancels->call->cancel();
  ASSERT_TRUE(threads.until([&] { return closed == std::vector<ConnectionNumber>{1}; }));
  half_closes->call->half_close();
  ASSERT_TRUE(
      threads.until([&] { return half_closes->outcome.has_value() && closed.size() == 2; }));
  EXPECT_EQ(half_closes->ending(), "OK");
  offends->call->send({"\xff\xff garbage"});
  ASSERT_TRUE(threads.until([&] { return offends->outcome.has_value() && closed.size() == 3; }));
  EXPECT_TRUE(offends->ending().starts_with("INVALID_ARGUMENT: ")) << offends->ending();
  EXPECT_TRUE(log.has("Connection to agent offends interrupted with error: "));
  link.close(4);
  ASSERT_TRUE(threads.until([&] { return is_closed->outcome.has_value() && closed.size() == 4; }));
  EXPECT_EQ(is_closed->ending(), "OK");
  const auto lost = connect_agent("lost");
  network.cut();
  ASSERT_TRUE(threads.until([&] { return closed.size() == 5; }));
  link.close(5);
  int rounds = 0;
  ASSERT_TRUE(threads.until([&] { return ++rounds > 20; }));
  EXPECT_EQ(closed, (std::vector<ConnectionNumber>{1, 2, 3, 4, 5}));
}

TEST_F(LinkServerTest, SendsWhatWaitsBeforeItCloses) {
  const auto agent = connect_agent("A");
  link.send(1, Response{"last", ErrorResponse{std::string(3 * rpc::kMiB, 'x')}});
  link.send(1, Response{"words", ErrorResponse{"!"}});
  link.close(1);
  ASSERT_TRUE(threads.until([&] { return agent->outcome.has_value(); }));
  ASSERT_EQ(agent->messages.size(), 2U);
  EXPECT_EQ(agent->messages[1], FromServer(Response{"words", ErrorResponse{"!"}}));
  EXPECT_EQ(agent->ending(), "OK");
}

TEST_F(LinkServerTest, GivesUpAClientThatDoesNotRead) {
  const auto agent = connect_agent("A");
  agent->reads = false;
  const auto other = connect_agent("B");
  for (int i = 0; i < 80; ++i)
    link.send(1, Response{"", ErrorResponse{std::string(rpc::kMiB, 'x')}});
  link.send(2, ServerHello{});
  ASSERT_TRUE(threads.until([&] { return closed == std::vector<ConnectionNumber>{1}; }));
  ASSERT_TRUE(threads.until([&] { return other->messages.size() == 1; }));
  EXPECT_TRUE(log.has("the client does not read what it is sent"));
}

CompleteStateResponse news_of(std::size_t bytes) {
  const Tree tags = Tree::Map().set("k", std::string(bytes, 'x'));
  const Tree agents = Tree::Map().set("A", Tree::Map().set("tags", tags));
  return {Tree::Map().set("agents", agents), AlteredFields{{"agents.A"}, {}, {}}};
}

TEST_F(LinkServerTest, PublishesOneContentUnderTheIdOfEachSubscriber) {
  const auto agent = connect_agent("A");
  const auto commander = call(kConnectCommand, commander_hello());
  ASSERT_TRUE(threads.until([&] { return opened.size() == 2; }));
  link.publish({{{2, "s"}, {1, "web@1"}, {7, "nobody"}, {2, "t"}}, news_of(3)});
  link.send_all({{2, 7, 1}, ServerHello{}});
  ASSERT_TRUE(threads.until(
      [&] { return agent->messages.size() == 2 && commander->messages.size() == 3; }));
  EXPECT_EQ(agent->messages,
            (std::vector<FromServer>{Response{"web@1", news_of(3)}, ServerHello{}}));
  EXPECT_EQ(commander->messages,
            (std::vector<FromServer>{Response{"s", news_of(3)}, Response{"t", news_of(3)},
                                     ServerHello{}}));
}

TEST_F(LinkServerTest, CutsASubscriberOffThatDoesNotReadAndDelaysNobody) {
  const auto stalled = call(kConnectCommand, commander_hello());
  stalled->reads = false;
  ASSERT_TRUE(threads.until([&] { return opened.size() == 1; }));
  const auto reader = call(kConnectCommand, commander_hello());
  ASSERT_TRUE(threads.until([&] { return opened.size() == 2; }));
  constexpr std::size_t kEvents = 70;
  const CompleteStateResponse news = news_of(rpc::kMiB);
  for (std::size_t i = 1; i <= kEvents; ++i) {
    link.publish({{{1, "s"}, {2, "s"}}, news});
    ASSERT_TRUE(threads.until([&] { return reader->messages.size() == i; })) << i;
  }
  ASSERT_TRUE(threads.until([&] { return closed == std::vector<ConnectionNumber>{1}; }));
  EXPECT_TRUE(
      log.has("Gave up a client peer=memory reason=the client does not read what it is sent"));
  stalled->reads = true;
  stalled->call->want();
  ASSERT_TRUE(threads.until([&] { return stalled->outcome.has_value(); }));
  EXPECT_EQ(stalled->ending(), "RESOURCE_EXHAUSTED: the client does not read what it is sent");
  EXPECT_LT(stalled->messages.size(), kEvents / 2) << "what waited for it is gone";
}

TEST_F(LinkServerTest, SplitsLongListsOfStatesAndWarnsOfOtherLargeMessages) {
  const auto agent = connect_agent("A");
  UpdateWorkloadState states;
  for (int i = 0; i < 40; ++i)
    states.states.push_back({InstanceName{WorkloadName{concat("w", std::to_string(i))},
                                          WorkloadId{"1"}, AgentName{"B"}},
                             ExecutionState(Phase::kFailedLost, std::string(100'000, 'x'))});
  link.send(1, states);
  ASSERT_TRUE(threads.until([&] {
    std::size_t count = 0;
    for (const auto& message : agent->messages)
      count += std::get<UpdateWorkloadState>(message).states.size();
    return count == states.states.size();
  }));
  EXPECT_EQ(agent->messages.size(), 2U);
  EXPECT_FALSE(log.has("a large message"));
  link.send(1, Response{"id", ErrorResponse{std::string(kStockMessageLimit, 'x')}});
  ASSERT_TRUE(threads.until([&] { return agent->messages.size() == 3; }));
  EXPECT_TRUE(log.has("a large message is sent; some clients refuse it"));
}

// Over TLS: who an agent may be is in its certificate.
class LinkServerTls : public LinkServerTest {
 protected:
  LinkServerTls() {
    auto context = host::TlsContext::server(host::issue(ca, {.names = {"ank-server"}}), {"h2"});
    auto listener = rpc::http2::listen(threads.io.get_executor(), log,
                                       {.address = "127.0.0.1:0", .tls = *std::move(context)});
    url = "https://" + (*listener)->address();
    rpc_server.listen(*std::move(listener), link.listen_options());
  }
  // How the server takes an agent of that name that shows a certificate with these names.
  std::string answer_to(const std::string& name, const std::vector<std::string>& names,
                        std::string_view method = kConnectAgent) {
    const auto tls = host::TlsContext::client(host::issue(ca, {.names = names}), {"h2"});
    rpc::Channel own(threads.io.get_executor(),
                     rpc::http2::connector(threads.io.get_executor(), resolver,
                                           {.tls = *tls, .server_name = std::string(kServerName)}),
                     {.urls = {url}});
    const auto made =
        call(method, method == kConnectAgent ? hello_of(name) : commander_hello(), &own);
    EXPECT_TRUE(threads.until([&] { return made->has_headers || made->outcome; }));
    return made->has_headers ? "accepted" : made->ending();
  }

  struct NoWorkers final : shell::Workers {
    void run(std::function<void()>, std::function<void()>) override { ADD_FAILURE(); }
  };
  NoWorkers workers;
  host::Resolver resolver{workers};
  host::Authority ca = host::make_ca();
  std::string url;
};

TEST_F(LinkServerTls, TakesAgentsByTheNamesInTheirCertificates) {
  EXPECT_EQ(answer_to("A", {"A"}), "accepted");
  EXPECT_EQ(answer_to("B", {"A", "B"}), "accepted");
  EXPECT_EQ(answer_to("C", {"*"}), "accepted");
  EXPECT_EQ(answer_to("C", {"A", "B"}),
            "UNAUTHENTICATED: Agent name 'C' does not match SAN [\"A\", \"B\"] in agent "
            "certificates!");
  EXPECT_EQ(answer_to("a", {"A"}),
            "UNAUTHENTICATED: Agent name 'a' does not match SAN [\"A\"] in agent certificates!");
  EXPECT_EQ(answer_to("A", {}),
            "UNAUTHENTICATED: No subject alt names found in agent certificates!");
  EXPECT_EQ(answer_to("A", {"127.0.0.1"}),
            "UNAUTHENTICATED: Agent name 'A' does not match SAN [] in agent certificates!")
      << "names without a DNS name open no door";
}

TEST_F(LinkServerTls, AsksCommandersForNoName) {
  EXPECT_EQ(answer_to("", {"anything"}, kConnectCli), "accepted");
  EXPECT_EQ(answer_to("", {}, kConnectCommand), "accepted");
}

TEST(LinkLimits, AreThoseOfTheDesign) {
  EXPECT_EQ(agent_link_limits().keepalive, std::chrono::seconds(10));
  EXPECT_EQ(server_call_limits().warn_above, 4U * 1024 * 1024);
  EXPECT_EQ(server_call_limits().first_message, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tiphys::link
