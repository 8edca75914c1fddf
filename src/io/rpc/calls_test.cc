// Calls from one end to the other, over every backend.

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "io/rpc/test_world.h"

namespace tiphys::rpc {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr const char* kMethod = "/test.Service/Method";

class Calls : public ::testing::TestWithParam<Backend> {
 protected:
  // In this order, because the end of the world may be told, and no call outlives it.
  Events server_;
  Events client_;
  World world_{GetParam()};
  std::shared_ptr<ServerCall> served_;  // the call that the handler took last

  // Keeps the call and records what it is told; the test acts.
  Handlers recording(Begins begins = Begins::kWithFirstMessage) {
    Handlers handlers;
    handlers.add(kMethod, {.take =
                               [this](std::shared_ptr<ServerCall> call) {
                                 served_ = std::move(call);
                                 served_->start(server_.tell());
                               },
                           .begins = begins});
    return handlers;
  }

  std::shared_ptr<ClientCall> call(CallOptions options = {}) {
    auto made = world_.channel->call(kMethod, std::move(options));
    made->start(client_.tell());
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Calls,
                         ::testing::Values(Backend::kMemory, Backend::kPlain, Backend::kTls,
                                           Backend::kUnix),
                         [](const auto& backend) { return to_string(backend.param); });

asio::awaitable<Outcome> echo(ServerStream call) {
  while (auto message = co_await call.read()) {
    Payload answer{.own = std::move(*message)};
    co_await call.write(std::move(answer));
  }
  co_return Outcome{};
}

Handlers echoing() {
  Handlers handlers;
  handlers.add(kMethod, coroutine(echo));
  return handlers;
}

TEST_P(Calls, AnswerBytesWithBytes) {
  world_.start(echoing());
  EXPECT_EQ(world_.run(unary(*world_.channel, kMethod, {"hello"})), "hello");
  EXPECT_EQ(world_.run(unary(*world_.channel, kMethod, {""})), "");
  const std::string large(5 * kMiB, 'x');
  EXPECT_TRUE(world_.run(unary(*world_.channel, kMethod, {large})) == large);
}

TEST_P(Calls, SendASharedBodyBehindAPrefixOfTheirOwn) {
  world_.start(echoing());
  const auto body = std::make_shared<const std::string>("shared");
  EXPECT_EQ(world_.run(unary(*world_.channel, kMethod, {"own, ", body})), "own, shared");
}

TEST_P(Calls, SpeakBeforeHeadersAreThereAndSeeHeadersBeforeMessages) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  served_->want();
  EXPECT_EQ(server_.messages, std::vector<std::string>{"hello"});
  EXPECT_FALSE(client_.headers);
  served_->send_headers({{"greeting", "yes"}});
  ASSERT_TRUE(world_.until([this] { return client_.headers.has_value(); }));
  EXPECT_EQ(*client_.headers, (Metadata{{"greeting", "yes"}}));
  EXPECT_TRUE(client_.messages.empty());
  EXPECT_FALSE(client_.outcome);
}

TEST_P(Calls, KeepTheOtherDirectionOpenAfterAHalfClose) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"last words"});
  calling->half_close();
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  served_->want();
  served_->want();
  ASSERT_TRUE(world_.until([this] { return server_.is_half_closed; }));
  for (const char* text : {"a", "b", "c"}) {
    calling->want();
    served_->send({text});
    ASSERT_TRUE(world_.until(
        [this, text] { return !client_.messages.empty() && client_.messages.back() == text; }));
  }
  served_->finish({});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0 && server_.finished > 0; }));
  EXPECT_EQ(client_.ending(), "");
  EXPECT_EQ(server_.ending(), "");
}

TEST_P(Calls, EndWhenTheServerSaysSoThoughTheClientWouldGoOn) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  served_->finish({.status = fail(Code::kFailedPrecondition, "größer als 5 %\n— ✓"),
                   .trailers = {{"why", "so"}}});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0 && server_.finished > 0; }));
  EXPECT_EQ(client_.ending(), "FAILED_PRECONDITION: größer als 5 %\n— ✓");
  EXPECT_EQ(client_.outcome->trailers, (Metadata{{"why", "so"}}));
  EXPECT_EQ(client_.finished, 1);
  EXPECT_EQ(server_.finished, 1);
  EXPECT_TRUE(calling->send({"too late"}));
}

TEST_P(Calls, TellMessagesBeforeTheStatusThatFollowsThem) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  served_->send({"one"});
  served_->send({"two"});
  served_->finish(failed(Code::kAborted, "enough"));
  ASSERT_TRUE(world_.until([this] { return server_.finished > 0; }));
  calling->want();
  ASSERT_TRUE(world_.until([this] { return client_.messages.size() == 1; }));
  EXPECT_FALSE(client_.outcome);
  calling->want();
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
  EXPECT_EQ(client_.messages, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(client_.ending(), "ABORTED: enough");
}

TEST_P(Calls, OfUnknownMethodsAreUnimplemented) {
  world_.start({});
  const auto answer = world_.run(unary(*world_.channel, "/test.Service/Other", {"x"}));
  EXPECT_EQ(answer.error(), (Error{Code::kUnimplemented, "unknown method /test.Service/Other"}));
}

TEST_P(Calls, GoToTheFallbackWhichLearnsTheirMethod) {
  Handlers handlers = echoing();
  handlers.add_fallback(coroutine([](ServerStream call) -> asio::awaitable<Outcome> {
    Payload answer{.own = call.method()};
    co_await call.write(std::move(answer));
    co_return Outcome{};
  }));
  world_.start(std::move(handlers));
  EXPECT_EQ(world_.run(unary(*world_.channel, "/learnt.Service/Later", {"x"})),
            "/learnt.Service/Later");
  EXPECT_EQ(world_.run(unary(*world_.channel, kMethod, {"x"})), "x");
}

TEST_P(Calls, CarryMetadataBothWays) {
  world_.start(recording());
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const Metadata sent = {{"text", "first"},
                         {"data-bin", all},
                         {"text", "second value"},
                         {"empty", ""},
                         {"data-bin", ""}};
  const auto calling = call({.metadata = sent});
  calling->send({"x"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  EXPECT_EQ(served_->metadata(), sent);
  served_->send_headers(sent);
  served_->finish({.trailers = sent});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
  EXPECT_EQ(*client_.headers, sent);
  EXPECT_EQ(client_.outcome->trailers, sent);
}

TEST_P(Calls, RefuseMetadataThatCannotBeSent) {
  world_.start(echoing());
  for (const auto& [name, value] :
       Metadata{{"Upper", "x"}, {"text", "ä"}, {"grpc-status", "0"}, {"", "x"}, {"a b", "x"}}) {
    SCOPED_TRACE(name);
    const auto answer =
        world_.run(unary(*world_.channel, kMethod, {"x"}, {.metadata = {{name, value}}}));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kInvalidArgument);
  }
}

TEST_P(Calls, EndAtTheirDeadlineOnBothSides) {
  world_.start(recording());
  const auto calling = call({.timeout = 50ms});
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0 && server_.finished > 0; }));
  EXPECT_EQ(client_.code(), Code::kDeadlineExceeded);
  ASSERT_TRUE(served_->deadline());
  EXPECT_TRUE(server_.code() == Code::kDeadlineExceeded || server_.code() == Code::kCancelled)
      << server_.ending();
}

TEST_P(Calls, ReachTheHandlerWhenTheClientCancels) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  calling->cancel();
  EXPECT_EQ(client_.ending(), "CANCELLED: the call was cancelled");
  ASSERT_TRUE(world_.until([this] { return server_.finished > 0; }));
  EXPECT_EQ(server_.ending(), "CANCELLED: the client cancelled the call");
  EXPECT_EQ(client_.finished, 1);
}

TEST_P(Calls, StopASenderWhoseReaderDoesNotRead) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  const std::string message(10'000, 'x');
  const auto send_until_full = [&message](auto& sender) {
    int sent = 1;
    while (sender.send({message}) && sent < 1000) ++sent;
    return sent;
  };
  // Round after round goes into the peer's window until that is full too.
  const auto settle = [this] {
    for (int turn = 0; turn < 50; ++turn) {
      world_.context.restart();
      world_.context.run_for(1ms);
    }
  };
  int to_client = send_until_full(*served_);
  int to_server = send_until_full(*calling);
  EXPECT_LT(to_client, 1000);
  EXPECT_LT(to_server, 1000);
  settle();
  if (client_.writable > 0) to_server += send_until_full(*calling);
  if (server_.writable > 0) to_client += send_until_full(*served_);
  settle();
  // A queue and a window for each direction, and the message that did not fit.
  const auto bound =
      static_cast<int>((world_.http_limits.send_queue + world_.http_limits.stream_window) /
                       message.size()) +
      55;
  EXPECT_LT(to_client, bound + 105);
  EXPECT_LT(to_server, bound + 105);
  for (int round = 0; round < to_client; ++round) {
    calling->want();
    ASSERT_TRUE(
        world_.until([&] { return client_.messages.size() > static_cast<std::size_t>(round); }));
  }
  for (int round = 0; round < to_server + 1; ++round) {
    served_->want();
    ASSERT_TRUE(
        world_.until([&] { return server_.messages.size() > static_cast<std::size_t>(round); }));
  }
  EXPECT_GE(client_.writable, 1);
  EXPECT_GE(server_.writable, 1);
  served_->finish({});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
  EXPECT_EQ(client_.ending(), "");
}

TEST_P(Calls, WithTooLargeMessagesAreRefusedByTheServer) {
  world_.call_limits.message = 1000;
  world_.start(echoing());
  EXPECT_TRUE(world_.run(unary(*world_.channel, kMethod, {std::string(1000, 'x')})));
  const auto answer = world_.run(unary(*world_.channel, kMethod, {std::string(1001, 'x')}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(
      answer.error(),
      (Error{Code::kResourceExhausted,
             "received message larger than the limit: found 1001 bytes, the limit is 1000 bytes"}));
}

TEST_P(Calls, WithTooLargeAnswersAreGivenUpByTheClient) {
  world_.channel_options.limits.message = 1000;
  world_.start(echoing());
  EXPECT_TRUE(world_.run(unary(*world_.channel, kMethod, {std::string(1000, 'x')})));
  const auto answer = world_.run(unary(*world_.channel, kMethod, {std::string(1001, 'x')}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
}

TEST_P(Calls, WarnOfMessagesThatSomeClientsRefuse) {
  world_.call_limits.warn_above = 1000;
  world_.start(echoing());
  EXPECT_TRUE(world_.run(unary(*world_.channel, kMethod, {std::string(1000, 'x')})));
  EXPECT_TRUE(world_.log.lines.empty()) << world_.log.lines.front();
  EXPECT_TRUE(world_.run(unary(*world_.channel, kMethod, {std::string(1001, 'x')})));
  ASSERT_EQ(world_.log.lines.size(), 1U);
  EXPECT_TRUE(
      world_.log.lines[0].starts_with("a large message is sent; some clients refuse it peer="))
      << world_.log.lines[0];
  EXPECT_TRUE(world_.log.lines[0].ends_with(std::string(" method=") + kMethod + " bytes=1001"))
      << world_.log.lines[0];
}

TEST_P(Calls, ShareOneBudgetForMessagesThatAreNotComplete) {
  world_.call_limits.budget = std::make_shared<ReceiveBudget>(10'000);
  world_.start(echoing());
  const auto answer = world_.run(unary(*world_.channel, kMethod, {std::string(20'000, 'x')}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(world_.run(unary(*world_.channel, kMethod, {std::string(9'000, 'x')})))
      << "the budget was not given back";
}

TEST_P(Calls, CountTheirMetadataUntilTheyHaveAHandler) {
  world_.call_limits.budget = std::make_shared<ReceiveBudget>(3000);
  world_.start(recording());
  const CallOptions options{.metadata = {{"large", std::string(2000, 'x')}}};
  const auto silent = world_.channel->call(kMethod, options);
  silent->start(client_.tell());
  Events refused;
  const auto second = world_.channel->call(kMethod, options);
  second->start(refused.tell());
  ASSERT_TRUE(world_.until([&refused] { return refused.finished > 0; }));
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  silent->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  EXPECT_TRUE(world_.call_limits.budget->take(2900));
}

TEST_P(Calls, WithoutAFirstMessageEndInTime) {
  world_.call_limits.first_message = 20ms;
  world_.start(recording());
  const auto calling = call();
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
  EXPECT_EQ(client_.ending(), "DEADLINE_EXCEEDED: no message arrived in time");
  EXPECT_EQ(served_, nullptr);
}

TEST_P(Calls, BeginAtOnceWhenTheHandlerWantsTo) {
  world_.start(recording(Begins::kAtOnce));
  const auto calling = call();
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  served_->send({"I speak first"});
  calling->want();
  ASSERT_TRUE(world_.until([this] { return client_.messages.size() == 1; }));
  served_->finish({});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
}

TEST_P(Calls, BeginWithTheClientsEndWhenItSaysNothing) {
  world_.start(recording());
  const auto calling = call();
  calling->half_close();
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  served_->want();
  ASSERT_TRUE(world_.until([this] { return server_.is_half_closed; }));
  EXPECT_TRUE(server_.messages.empty());
  served_->finish({});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
}

TEST_P(Calls, AreManyOnOneConnection) {
  world_.start(echoing());
  constexpr int kCalls = 1000;  // ten times what runs at once
  int answered = 0;
  for (int number = 0; number < kCalls; ++number)
    asio::co_spawn(
        world_.context, unary(*world_.channel, kMethod, {std::to_string(number)}),
        [&answered, number](const std::exception_ptr&, const Result<std::string>& answer) {
          EXPECT_EQ(answer, std::to_string(number));
          ++answered;
        });
  ASSERT_TRUE(world_.until([&answered] { return answered == kCalls; }));
  EXPECT_EQ(world_.server->connection_count(), 1U);
}

// --- the ends of connections ---

TEST_P(Calls, FinishWhileTheServerDrainsAndNewOnesAreNotTaken) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  int closed = 0;
  world_.server->close(60s, [&closed] { ++closed; });
  world_.context.restart();
  world_.context.run_for(20ms);
  EXPECT_EQ(closed, 0);
  const auto late = world_.run(unary(*world_.channel, kMethod, {"late"}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnavailable);

  calling->want();
  served_->send({"still here"});
  served_->finish({});
  ASSERT_TRUE(world_.until([&] { return closed > 0; }));
  EXPECT_EQ(client_.ending(), "");
  EXPECT_EQ(client_.messages, std::vector<std::string>{"still here"});
  EXPECT_EQ(world_.server->connection_count(), 0U);
  world_.context.restart();
  world_.context.run_for(5ms);
  EXPECT_EQ(closed, 1);
}

TEST_P(Calls, EndWithUnavailableWhenTheGraceIsOver) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  int closed = 0;
  world_.server->close(10ms, [&closed] { ++closed; });
  ASSERT_TRUE(
      world_.until([&] { return closed > 0 && client_.finished > 0 && server_.finished > 0; }));
  EXPECT_EQ(client_.code(), Code::kUnavailable);
  EXPECT_EQ(server_.code(), Code::kCancelled);
}

TEST_P(Calls, OfAServerThatNeverListensEndAtOnce) {
  world_.start(echoing());
  bool is_closed = false;
  world_.server->close(0s, [&is_closed] { is_closed = true; });
  ASSERT_TRUE(world_.until([&] { return is_closed; }));
  const auto answer = world_.run(unary(*world_.channel, kMethod, {"x"}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_TRUE(answer.error().message.starts_with("cannot connect to " + world_.url + ": "))
      << answer.error().message;
}

TEST_P(Calls, GoToTheNextAddressAndBack) {
  world_.start(echoing());
  Handlers second;
  second.add(kMethod, coroutine([](ServerStream call) -> asio::awaitable<Outcome> {
               Payload answer{.own = "second"};
               co_await call.write(std::move(answer));
               co_return Outcome{};
             }));
  const Server::ListenerNumber first = world_.number;
  const std::string other = world_.listen({.handlers = std::move(second)});
  const auto channel = world_.connect({world_.url, other});
  EXPECT_EQ(world_.run(unary(*channel, kMethod, {"x"})), "x");
  bool is_closed = false;
  world_.server->close(first, 0s, [&is_closed] { is_closed = true; });
  ASSERT_TRUE(world_.until([&] { return is_closed; }));
  EXPECT_EQ(world_.run(unary(*channel, kMethod, {"x"}, {.waits_for_server = true})), "second");
}

TEST_P(Calls, WaitForAServerThatComesLaterIfTheyAreToldTo) {
  world_.start(echoing());
  bool is_closed = false;
  world_.server->close(0s, [&is_closed] { is_closed = true; });
  ASSERT_TRUE(world_.until([&] { return is_closed; }));
  const auto calling = call({.waits_for_server = true});
  calling->send({"hello"});
  calling->half_close();
  calling->want();
  world_.context.restart();
  world_.context.run_for(30ms);  // several rounds in vain
  EXPECT_EQ(client_.finished, 0);

  if (GetParam() == Backend::kMemory) {
    world_.server->listen(world_.network->listen(world_.url), {.handlers = echoing()});
  } else {
    const std::string address =
        GetParam() == Backend::kUnix ? world_.url : world_.url.substr(world_.url.find("//") + 2);
    auto listener = http2::listen(world_.context.get_executor(), world_.log,
                                  {.address = address, .tls = world_.server_tls});
    ASSERT_TRUE(listener) << listener.error().message;
    world_.server->listen(std::move(*listener), {.handlers = echoing()});
  }
  ASSERT_TRUE(
      world_.until([this] { return client_.finished > 0 || client_.messages.size() == 1; }));
  EXPECT_EQ(client_.messages, std::vector<std::string>{"hello"}) << client_.ending();
}

TEST_P(Calls, ThatWaitForAServerKeepTheirDeadline) {
  world_.start(echoing());
  bool is_closed = false;
  world_.server->close(0s, [&is_closed] { is_closed = true; });
  ASSERT_TRUE(world_.until([&] { return is_closed; }));
  const auto calling = call({.timeout = 50ms, .waits_for_server = true});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
  EXPECT_EQ(client_.code(), Code::kDeadlineExceeded);
}

TEST_P(Calls, ThatWaitEndWithTheirChannel) {
  world_.start(echoing());
  bool is_closed = false;
  world_.server->close(0s, [&is_closed] { is_closed = true; });
  ASSERT_TRUE(world_.until([&] { return is_closed; }));
  const auto calling = call({.waits_for_server = true});
  world_.channel.reset();
  EXPECT_EQ(client_.ending(), "UNAVAILABLE: the channel is closed");
}

TEST_P(Calls, ThatRunGoOnWithoutTheirChannel) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  world_.channel.reset();
  calling->want();
  served_->send({"answer"});
  served_->finish({});
  ASSERT_TRUE(world_.until([this] { return client_.finished > 0; }));
  EXPECT_EQ(client_.messages, std::vector<std::string>{"answer"});
  EXPECT_EQ(client_.ending(), "");
  ASSERT_TRUE(world_.until([this] { return world_.server->connection_count() == 0; }));
}

// --- coroutines ---

asio::awaitable<Outcome> wait_for_ever(bool* is_waiting, bool* was_cancelled) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
  *is_waiting = true;
  try {
    co_await timer.async_wait(asio::use_awaitable);
  } catch (const boost::system::system_error&) {
    *was_cancelled = true;
    throw;
  }
  co_return Outcome{};
}

TEST_P(Calls, CancelAnyWaitOfTheirCoroutine) {
  bool is_waiting = false;
  bool was_cancelled = false;
  Handlers handlers;
  handlers.add(kMethod, coroutine([&](const ServerStream&) {
                 return wait_for_ever(&is_waiting, &was_cancelled);
               }));
  world_.start(std::move(handlers));
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([&] { return is_waiting; }));
  EXPECT_FALSE(was_cancelled);
  calling->cancel();
  ASSERT_TRUE(world_.until([&] { return was_cancelled; }));
}

TEST_P(Calls, AnswerInternalWhenTheirHandlerThrows) {
  Handlers handlers;
  handlers.add(kMethod, coroutine([](ServerStream) -> asio::awaitable<Outcome> {
                 throw std::runtime_error("a bug");
                 co_return Outcome{};
               }));
  world_.start(std::move(handlers));
  const auto answer = world_.run(unary(*world_.channel, kMethod, {"x"}));
  EXPECT_EQ(answer.error(), (Error{Code::kInternal, "a bug"}));
}

TEST_P(Calls, AreCancelledWithTheLastCopyOfTheirStream) {
  world_.start(recording());
  {
    const ClientStream stream(world_.channel->call(kMethod));
    asio::co_spawn(
        world_.context,
        [](ClientStream call) -> asio::awaitable<void> {
          Payload hello{.own = "hello"};
          co_await call.write(std::move(hello));
        }(stream),
        [](const std::exception_ptr&) {});
    ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  }
  ASSERT_TRUE(world_.until([this] { return server_.finished > 0; }));
  EXPECT_EQ(server_.code(), Code::kCancelled);
}

// --- who is there ---

TEST_P(Calls, KnowTheirPeer) {
  world_.start(recording());
  const auto calling = call();
  calling->send({"hello"});
  ASSERT_TRUE(world_.until([this] { return served_ != nullptr; }));
  const Peer& peer = served_->peer();
  EXPECT_EQ(peer.certificate.has_value(), GetParam() == Backend::kTls);
  EXPECT_EQ(peer.credentials.has_value(), GetParam() == Backend::kUnix);
  if (GetParam() == Backend::kTls) {
    EXPECT_EQ(peer.certificate->dns_names, (std::vector<std::string>{"agent_A", "other"}));
    EXPECT_TRUE(peer.certificate->has_alt_names);
    EXPECT_EQ(peer.certificate->certificates, 1U);
  }
  if (GetParam() == Backend::kUnix) {
    EXPECT_EQ(peer.address, "unix");
    EXPECT_EQ(peer.credentials->pid, getpid());
    EXPECT_EQ(peer.credentials->uid, getuid());
  }
  if (GetParam() == Backend::kPlain) {
    EXPECT_TRUE(peer.address.starts_with("127.0.0.1:"));
  }
}

}  // namespace
}  // namespace tiphys::rpc
