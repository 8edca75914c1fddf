#include "io/link/command_connection.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"
#include "io/host/test_certificates.h"
#include "io/host/tls_context.h"
#include "io/link/link_limits.h"
#include "io/link/test_link.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/server.h"
#include "io/wire/wire.h"

namespace tiphys::link {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

const FromServer kAnswer = Response{"1", ErrorResponse{"no"}};

// A server that answers each hello with headers, each request with a refusal, and a goodbye with the end.
class CommandConnectionTest : public ::testing::Test {
 public:
  ~CommandConnectionTest() override {
    connection.reset();
    last.reset();
    server.close(Duration::zero(), [] {});
    threads.settle();
  }

 protected:
  void listen(std::optional<host::TlsContext> tls = std::nullopt,
              std::vector<std::pair<std::string_view, rpc::Handler>> more = {}) {
    rpc::ListenOptions options;
    for (auto& [method, handler] : more)
      options.handlers.add(std::string(method), std::move(handler));
    for (const auto method : {kConnectCli, kConnectCommand})
      options.handlers.add(std::string(method),
                           {.take = [this](const auto& call) { serve(call); }});
    auto listener = rpc::http2::listen(threads.io.get_executor(), log,
                                       {.address = "127.0.0.1:0", .tls = std::move(tls)});
    ASSERT_TRUE(listener) << listener.error().message;
    address = (*listener)->address();
    server.listen(*std::move(listener), std::move(options));
  }

  void serve(const std::shared_ptr<rpc::ServerCall>& call) {
    methods.push_back(call->method());
    last = call;
    call->start([this, weak = std::weak_ptr(call)](rpc::CallEvent event) {
      const auto self = weak.lock();
      if (!self) return;
      const auto* message = std::get_if<rpc::Message>(&event);
      if (message == nullptr) return;
      const auto decoded = *wire::decode_to_server(message->bytes);
      heard.push_back(summary(decoded));
      if (std::holds_alternative<CommanderHello>(decoded)) greet(*self);
      if (std::holds_alternative<Request>(decoded)) self->send({wire::encode(kAnswer)});
      if (std::holds_alternative<Goodbye>(decoded)) self->finish({});
      self->want();
    });
    call->want();
  }
  void greet(rpc::ServerCall& call) {
    if (refusal) return call.finish(rpc::failed(*refusal));
    if (answers_hello) call.send_headers();
  }

  CommandConnection& connect(CommandOptions options = {}) {
    if (options.url.empty()) options.url = "http://" + address;
    connection = std::make_unique<CommandConnection>(threads.io.get_executor(), resolver,
                                                     std::move(options));
    return *connection;
  }
  template <class T>
  T run(asio::awaitable<T> coroutine) {
    std::optional<T> result;
    asio::co_spawn(threads.io, std::move(coroutine),
                   [&](const std::exception_ptr& failure, T value) {
                     if (failure) std::rethrow_exception(failure);
                     result = std::move(value);
                   });
    EXPECT_TRUE(threads.until([&] { return result.has_value(); }));
    return std::move(*result);
  }
  void run(asio::awaitable<void> coroutine) {
    bool is_done = false;
    asio::co_spawn(threads.io, std::move(coroutine), [&](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
      is_done = true;
    });
    EXPECT_TRUE(threads.until([&] { return is_done; }));
  }
  static CommandConnection::Deadline in(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
  }

  struct NoWorkers final : shell::Workers {
    void run(std::function<void()>, std::function<void()>) override { ADD_FAILURE(); }
  };
  Threads threads;
  RecordingLog log;
  NoWorkers workers;
  host::Resolver resolver{workers};
  std::optional<Error> refusal;
  bool answers_hello = true;
  std::vector<std::string> methods;
  std::vector<std::string> heard;
  std::shared_ptr<rpc::ServerCall> last;
  std::string address;
  rpc::Server server{threads.io.get_executor(), log};
  std::unique_ptr<CommandConnection> connection;
};

TEST_F(CommandConnectionTest, AsksAndHearsTheAnswer) {
  listen();
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  EXPECT_TRUE(run(commander.send(Request{"1", CompleteStateRequest{}})));
  EXPECT_EQ(run(commander.receive()), kAnswer);
  run(commander.say_goodbye());
  EXPECT_EQ(methods, std::vector<std::string>{std::string(kConnectCli)});
  EXPECT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[2], summary(ToServer(Goodbye{})));
  EXPECT_EQ(run(commander.receive()).error().code, Code::kAborted);
  EXPECT_EQ(run(commander.send(Goodbye{})).error().code, Code::kAborted);
}

TEST_F(CommandConnectionTest, UsesTheServiceThatItIsTold) {
  listen();
  auto& commander = connect({.service = CommandService::kCommand});
  ASSERT_TRUE(run(commander.open()));
  EXPECT_EQ(methods, std::vector<std::string>{std::string(kConnectCommand)});
}

TEST_F(CommandConnectionTest, SaysWhyItCannotConnect) {
  EXPECT_EQ(run(connect({.url = "http://127.0.0.1:1"}).open()).error().code, Code::kUnavailable);
  EXPECT_EQ(run(connect({.url = "nonsense"}).open()).error().code, Code::kInvalidArgument);
  listen();
  refusal = Error{Code::kFailedPrecondition, "Unsupported protocol version"};
  EXPECT_EQ(run(connect().open()), fail(*refusal));
}

TEST_F(CommandConnectionTest, GivesUpAtItsDeadline) {
  listen();
  answers_hello = false;
  EXPECT_EQ(run(connect().open(in(5ms))).error().code, Code::kDeadlineExceeded);
  answers_hello = true;
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  EXPECT_EQ(run(commander.receive(in(5ms))).error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(run(commander.send(Request{"1", CompleteStateRequest{}})));
  EXPECT_EQ(run(commander.receive()), kAnswer) << "a deadline ends the wait and nothing else";
}

TEST_F(CommandConnectionTest, CanBeInterrupted) {
  listen();
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  std::optional<Result<FromServer>> received;
  asio::co_spawn(
      threads.io, commander.receive(),
      [&](const std::exception_ptr&, Result<FromServer> result) { received = std::move(result); });
  commander.interrupt();
  ASSERT_TRUE(threads.until([&] { return received.has_value(); }));
  EXPECT_EQ(received->error().code, Code::kCancelled);
  EXPECT_EQ(run(commander.receive()).error().code, Code::kCancelled);
  EXPECT_TRUE(run(commander.send(Request{"1", LogsCancelRequest{}}))) << "last words";
}

TEST_F(CommandConnectionTest, TellsWhatCameBeforeTheServerEnded) {
  listen();
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  for (int i = 0; i < 200; ++i) last->send({wire::encode(kAnswer)});
  last->send({"\xff\xff garbage"});
  last->finish(rpc::failed(Code::kUnavailable, "the server shuts down"));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(run(commander.receive()), kAnswer) << i;
  const auto ending = run(commander.receive());
  EXPECT_EQ(ending, fail(Code::kAborted, "the server shuts down"));
  run(commander.say_goodbye());
}

TEST_F(CommandConnectionTest, AsksWhatAnUpdateWouldDo) {
  const DryRunRequest question{{Tree(Tree::Map()), {"desiredState.workloads.web"}}};
  const DryRunResponse plan = DryRun{{}, {"careful"}, {}};
  std::optional<DryRunRequest> asked;
  rpc::Handler planner{.take = [&](const std::shared_ptr<rpc::ServerCall>& call) {
    call->start([&, weak = std::weak_ptr(call)](rpc::CallEvent event) {
      const auto* message = std::get_if<rpc::Message>(&event);
      const auto self = weak.lock();
      if (message == nullptr || !self) return;
      asked = *wire::decode_dry_run_request(message->bytes);
      self->send({wire::encode(plan)});
      self->finish({});
    });
    call->want();
  }};
  listen({}, {{kDryRunUpdate, std::move(planner)}});
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  EXPECT_EQ(run(commander.dry_run(question)), plan);
  EXPECT_EQ(asked, question);
  EXPECT_TRUE(run(commander.send(Request{"1", CompleteStateRequest{}})));
  EXPECT_EQ(run(commander.receive()), kAnswer) << "the conversation goes on";
}

TEST_F(CommandConnectionTest, AsksForTheAgesOfStates) {
  const StateAgesRequest question{{"web"}};
  const StateAgesResponse ages{{{{{"web"}, {"1"}, {"A"}}, 1500ms}}};
  std::optional<StateAgesRequest> asked;
  rpc::Handler observer{.take = [&](const std::shared_ptr<rpc::ServerCall>& call) {
    call->start([&, weak = std::weak_ptr(call)](rpc::CallEvent event) {
      const auto* message = std::get_if<rpc::Message>(&event);
      const auto self = weak.lock();
      if (message == nullptr || !self) return;
      asked = *wire::decode_state_ages_request(message->bytes);
      self->send({wire::encode(ages)});
      self->finish({});
    });
    call->want();
  }};
  listen({}, {{kGetStateAges, std::move(observer)}});
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  EXPECT_EQ(run(commander.state_ages(question)), ages);
  EXPECT_EQ(asked, question);
}

TEST_F(CommandConnectionTest, TellsWhyNobodyAnswersAQuestion) {
  std::shared_ptr<rpc::ServerCall> silent;
  listen({}, {{kDryRunUpdate, {.take = [&](const auto& call) { silent = call; }}}});
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  EXPECT_EQ(run(commander.dry_run({}, in(5ms))).error().code, Code::kDeadlineExceeded);
  commander.interrupt();
  EXPECT_EQ(run(commander.dry_run({})).error().code, Code::kCancelled);
  silent.reset();
}

TEST_F(CommandConnectionTest, FindsOutThatAServerKnowsNoQuestions) {
  listen();
  auto& commander = connect();
  ASSERT_TRUE(run(commander.open()));
  EXPECT_EQ(run(commander.state_ages({})).error().code, Code::kUnimplemented);
  EXPECT_EQ(run(commander.dry_run({})).error().code, Code::kUnimplemented);
}

TEST_F(CommandConnectionTest, SpeaksTlsToTheNameOfEveryServer) {
  const auto ca = host::make_ca();
  listen(*host::TlsContext::server(host::issue(ca, {.names = {"ank-server"}}), {"h2"}));
  const auto ours = host::issue(ca, {.names = {"ank"}});
  EXPECT_TRUE(run(connect({.url = "https://" + address, .tls = ours}).open()));
  const auto foreign = host::issue(host::make_ca(), {.names = {"ank"}});
  EXPECT_FALSE(run(connect({.url = "https://" + address, .tls = foreign}).open()));
  host::TlsMaterial broken = ours;
  broken.key = "nothing";
  EXPECT_EQ(run(connect({.url = "https://" + address, .tls = broken}).open()).error().code,
            Code::kInvalidArgument);
}

TEST_F(CommandConnectionTest, SpeaksPlainTextWithoutCertificatesWhateverTheUrlSays) {
  listen();
  EXPECT_TRUE(run(connect({.url = "https://" + address}).open()));
}

}  // namespace
}  // namespace tiphys::link
