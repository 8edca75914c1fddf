// Any bytes from a peer are survived by either end of an HTTP/2 connection with calls on it: every call hears of its end
// exactly once, every byte of the budget comes back, and no connection stays.
//
// The first byte of an input says who we are and how the peer behaves, the second how many bytes arrive at once; the rest
// is what the peer sends after its preface.

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "io/rpc/channel.h"
#include "io/rpc/coroutines.h"
#include "io/rpc/http2/session.h"
#include "io/rpc/server.h"
#include "shell/log.h"

namespace {

namespace asio = boost::asio;
using namespace tiphys;

constexpr std::uint8_t kIsClient = 1;    // we are the client
constexpr std::uint8_t kNeverReads = 2;  // the peer takes nothing of what we send
constexpr std::uint8_t kNoPreface = 4;   // the input begins with the preface, or what stands for it
constexpr std::uint8_t kDrains = 8;      // we drain in the middle
constexpr std::uint8_t kOwnSettings = 16;  // the input has the settings too
constexpr std::size_t kBudget = 64 * rpc::kKiB;
constexpr std::size_t kEnough = 64 * rpc::kKiB;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);

struct NoLog final : shell::Log {
  void write(shell::Level, std::string_view, Fields) override {}
};

rpc::CallLimits call_limits() {
  return {.message = 16 * rpc::kKiB, .budget = std::make_shared<rpc::ReceiveBudget>(kBudget)};
}

std::shared_ptr<rpc::http2::Session> make_session(rpc::http2::Role role) {
  return std::make_shared<rpc::http2::Session>(
      role, rpc::HttpLimits{.field_list = 1 * rpc::kKiB, .send_queue = 4 * rpc::kKiB},
      std::make_shared<const rpc::Peer>(rpc::Peer{.address = "fuzz"}),
      rpc::Origin{.scheme = "http", .authority = "fuzz"}, [] {});
}

// Everything happens on the executor, as it does in a process.
template <class Function>
void run(asio::io_context& context, Function function) {
  asio::post(context, function);
  context.restart();
  context.poll();
}

// Carries the bytes of an input to the session, and the session's to nobody.
void converse(asio::io_context& context, rpc::http2::Session& session, std::string_view preface,
              std::string_view input, std::uint8_t ways, std::uint8_t chunk) {
  std::string out;
  const auto receive = [&](std::string_view bytes) {
    if (session.is_over()) return;
    run(context, [&] { session.receive(bytes); });
    if ((ways & kNeverReads) != 0) return;
    out.clear();
    run(context, [&] { session.produce(out, kEnough); });
    TIPHYS_CHECK(out.size() < 2 * kEnough, "more was produced than was asked for");
  };
  if (!preface.empty()) receive(preface);
  const std::size_t step = chunk == 0 ? std::max<std::size_t>(input.size(), 1) : chunk;
  const std::size_t middle = input.size() / 2;
  for (std::size_t at = 0; at < input.size(); at += step) {
    if ((ways & kDrains) != 0 && at >= middle) run(context, [&] { session.drain(); });
    receive(input.substr(at, step));
  }
  run(context, [&] { session.lost(session.failure()); });
}

// --- we serve ---

class OneConnection final : public rpc::HttpListener {
 public:
  explicit OneConnection(std::shared_ptr<rpc::http2::Session> session)
      : session_(std::move(session)) {}
  [[nodiscard]] std::string address() const override { return "fuzz"; }
  void start(Accept accept) override { session_->set_owner(accept(session_)); }
  void stop() override {}

 private:
  std::shared_ptr<rpc::http2::Session> session_;
};

asio::awaitable<rpc::Outcome> echo(rpc::ServerStream call) {
  while (auto message = co_await call.read()) {
    rpc::Payload answer{.own = std::move(*message)};
    const bool goes_on = co_await call.write(std::move(answer));
    if (!goes_on) break;
  }
  co_return rpc::Outcome{};
}

// Takes a call, sends before it is asked, and counts the ends that it is told.
rpc::Handler greeting(std::size_t& open) {
  const auto take = [&open](const std::shared_ptr<rpc::ServerCall>& call) {
    ++open;
    const auto tell = [&open, weak = std::weak_ptr(call),
                       has_ended = false](const rpc::CallEvent& event) mutable {
      if (std::holds_alternative<rpc::Finished>(event)) {
        TIPHYS_CHECK(!std::exchange(has_ended, true), "a call ended twice");
        --open;
      } else if (const auto still = weak.lock()) {
        if (std::holds_alternative<rpc::Message>(event)) still->want();
        if (std::holds_alternative<rpc::HalfClosed>(event)) still->finish({});
      }
    };
    call->start(tell);
    call->send({.own = std::string(100, 'x')});
    call->want();
  };
  return {.take = take, .begins = rpc::Begins::kAtOnce};
}

void serve(std::string_view input, std::uint8_t ways, std::uint8_t chunk) {
  asio::io_context context(1);
  NoLog log;
  std::size_t open = 0;
  const rpc::CallLimits limits = call_limits();
  {
    rpc::Server server(context.get_executor(), log);
    rpc::Handlers handlers;
    handlers.add("/e", rpc::coroutine(echo));
    handlers.add("/a", rpc::coroutine(echo, rpc::Begins::kAtOnce));
    handlers.add("/g", greeting(open));
    const auto session = make_session(rpc::http2::Role::kServer);
    server.listen(std::make_unique<OneConnection>(session),
                  {.handlers = std::move(handlers), .limits = limits});
    std::string preface;
    if ((ways & kNoPreface) == 0) preface = kPreface;
    if ((ways & (kNoPreface | kOwnSettings)) == 0) preface += kSettings;
    converse(context, *session, preface, input, ways, chunk);
    TIPHYS_CHECK(server.connection_count() == 0, "a connection stays");
    TIPHYS_CHECK(open == 0, "a call was not told of its end");
  }
  run(context, [] {});
  TIPHYS_CHECK(limits.budget->take(kBudget), "bytes of the budget are lost");
}

// --- we call ---

class OneConnector final : public rpc::Connector {
 public:
  explicit OneConnector(std::shared_ptr<rpc::http2::Session> session)
      : session_(std::move(session)) {}
  Result<std::shared_ptr<rpc::HttpConnection>> connect(
      const std::string&, std::shared_ptr<rpc::HttpConnection::Owner> owner) override {
    if (!session_) return fail(Code::kUnavailable, "there is only one connection");
    session_->set_owner(std::move(owner));
    return std::exchange(session_, nullptr);
  }

 private:
  std::shared_ptr<rpc::http2::Session> session_;
};

void call(std::string_view input, std::uint8_t ways, std::uint8_t chunk) {
  asio::io_context context(1);
  const rpc::CallLimits limits = call_limits();
  std::size_t ended = 0;
  constexpr std::size_t kCalls = 3;
  {
    const auto session = make_session(rpc::http2::Role::kClient);
    rpc::Channel channel(context.get_executor(), std::make_unique<OneConnector>(session),
                         {.urls = {"fuzz"}, .limits = limits});
    for (std::size_t number = 0; number < kCalls; ++number) {
      const auto made = channel.call("/e", {.metadata = {{"key", "value"}}});
      made->start([&ended, weak = std::weak_ptr(made)](const rpc::CallEvent& event) {
        if (std::holds_alternative<rpc::Finished>(event)) {
          ++ended;
        } else if (const auto still = weak.lock()) {
          if (std::holds_alternative<rpc::Message>(event)) still->want();
        }
      });
      made->want();
      made->send({.own = "request"});
      if (number > 0) made->half_close();
    }
    session->owner()->on_connected();
    converse(context, *session, (ways & (kNoPreface | kOwnSettings)) == 0 ? kSettings : "", input,
             ways, chunk);
  }
  run(context, [] {});
  TIPHYS_CHECK(ended == kCalls, "a call was not told of its end exactly once");
  TIPHYS_CHECK(limits.budget->take(kBudget), "bytes of the budget are lost");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[0] & kIsClient) != 0) {
    call(input, data[0], data[1]);
  } else {
    serve(input, data[0], data[1]);
  }
  return 0;
}
