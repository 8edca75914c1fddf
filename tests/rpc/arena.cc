#include "tests/rpc/arena.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <utility>
#include <variant>

#include "io/rpc/coroutines.h"

namespace tiphys::rpc {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto kPatience = 30s;  // only a failing test waits so long
constexpr auto kPause = 1ms;     // between two looks at something that tells nobody when it changes

asio::awaitable<Outcome> echo(ServerStream call) {
  while (auto received = co_await call.read()) {
    Payload answer{.own = std::move(*received)};
    const bool goes_on = co_await call.write(std::move(answer));
    if (!goes_on) break;
  }
  co_return Outcome{};
}

asio::awaitable<Outcome> pour(ServerStream call) {
  co_await call.read();
  const auto bytes = std::make_shared<const std::string>(16 * kKiB, 'x');
  bool is_open = true;
  while (is_open) {
    Payload answer{.own = {}, .shared = bytes};
    is_open = co_await call.write(std::move(answer));
  }
  co_return failed(Code::kCancelled, "nobody listens");
}

asio::awaitable<Outcome> who_am_i(ServerStream call) {
  co_await call.read();
  std::string names;
  if (call.peer().certificate)
    for (const std::string& name : call.peer().certificate->dns_names) names += name;
  Payload answer{.own = names.empty() ? "no names" : names};
  co_await call.write(std::move(answer));
  co_return Outcome{};
}

http2::ListenerOptions listener_options(const ArenaOptions& options) {
  return {.address = "127.0.0.1:0", .tls = options.tls, .limits = options.http};
}

ClientOptions honest_options(const ArenaOptions& options, const std::string& address) {
  ClientOptions made{.url = (options.tls ? "https://" : "http://") + address};
  made.connector.tls = options.honest_tls;
  made.connector.server_name = "ank-server";
  return made;
}

}  // namespace

void RecordingLog::write(shell::Level, std::string_view text, Fields fields) {
  std::string line(text);
  for (const auto& [name, value] : fields) line.append(" ").append(name).append("=").append(value);
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

std::vector<std::string> RecordingLog::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::vector<std::string> RecordingLog::await_lines(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&] { return lines_.size() >= count; });
  return lines_;
}

Loop::Loop() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}

Loop::~Loop() {
  work_.reset();
  thread_.join();
}

void Loop::await(const std::function<bool()>& condition, const std::string& what) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!run(condition)) {
    if (std::chrono::steady_clock::now() > limit) {
      ADD_FAILURE() << "in vain waited for: " << what;
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::string> result_of(Answer answer) {
  if (answer.wait_for(kPatience) == std::future_status::ready) return answer.get();
  ADD_FAILURE() << "the call does not end";
  return fail(Code::kUnknown, "the call does not end");
}

std::string describe(const Result<std::string>& result) {
  return result ? "OK" : std::string(to_string(result.error().code)) + " " + result.error().message;
}

Client::Client(Loop& loop, ClientOptions options) : loop_(loop) {
  loop_.run([this, &options] {
    channel_ = std::make_unique<Channel>(
        loop_.context().get_executor(),
        http2::connector(loop_.context().get_executor(), resolver_, options.connector),
        ChannelOptions{.urls = {options.url},
                       .back_off = {.first = 1ms, .longest = 1ms},
                       .limits = options.limits});
  });
}

Client::~Client() {
  loop_.run([this] { channel_.reset(); });
}

Answer Client::call(const std::string& method, std::string request, CallOptions options) {
  return loop_.run([&] {
    return asio::co_spawn(
        loop_.context(),
        unary(*channel_, method, Payload{.own = std::move(request)}, std::move(options)),
        asio::use_future);
  });
}

Arena::Arena(ArenaOptions options) {
  loop_.run([&] {
    auto listener = http2::listen(loop_.context().get_executor(), log_, listener_options(options));
    ASSERT_TRUE(listener.has_value()) << listener.error().message;
    address_ = (*listener)->address();
    Handlers handlers;
    handlers.add("/test.Arena/Echo", coroutine(echo));
    handlers.add("/test.Arena/WhoAmI", coroutine(who_am_i));
    handlers.add("/test.Arena/Pour", coroutine(pour));
    handlers.add("/test.Arena/Hang", hanging(false));
    handlers.add("/test.Arena/Greet", hanging(true));
    server_ = std::make_unique<Server>(loop_.context().get_executor(), log_);
    server_->listen(std::move(*listener), {.handlers = std::move(handlers),
                                           .limits = options.calls,
                                           .connections = options.connections});
  });
  honest_ = std::make_unique<Client>(loop_, honest_options(options, address_));
}

Arena::~Arena() {
  honest_.reset();
  close(Duration::zero()).get();
  loop_.run([this] { server_.reset(); });
}

Handler Arena::hanging(bool greets) {
  const auto take = [this, greets](const std::shared_ptr<ServerCall>& call) {
    ++open_calls_;
    const auto tell = [this, weak = std::weak_ptr(call)](const CallEvent& event) {
      if (const auto* finished = std::get_if<Finished>(&event)) {
        --open_calls_;
        endings_.push_back(finished->outcome.status ? Code{}
                                                    : finished->outcome.status.error().code);
      } else if (const auto still = weak.lock(); still && std::holds_alternative<Message>(event)) {
        still->want();
      }
    };
    call->start(tell);
    call->want();
    if (greets) call->send({.own = "hello"});
  };
  return {.take = take, .begins = Begins::kAtOnce};
}

void Arena::expect_honest_call() {
  const auto answer =
      result_of(honest_->call("/test.Arena/Echo", "honest", {.timeout = kPatience}));
  EXPECT_EQ(answer.value_or("nothing"), "honest") << describe(answer);
}

void Arena::remember_quiet() {
  expect_honest_call();
  quiet_bytes_ = loop_.run(bytes_in_use);
}

// The noise is what allocators and reused buffers may keep.
void Arena::expect_quiet(std::size_t noise) {
  loop_.await([this] { return server_->connection_count() <= 1; },
              "hostile connections are closed");
  EXPECT_LE(loop_.run(bytes_in_use), quiet_bytes_ + noise) << "bytes stay in use";
}

void Arena::expect_one_line(const std::string& reason) {
  const auto lines = log_.await_lines(1);
  expect_honest_call();
  ASSERT_EQ(lines.size(), 1U) << testing::PrintToString(lines);
  EXPECT_NE(lines[0].find(reason), std::string::npos)
      << "logged: " << lines[0] << "\nexpected: " << reason;
  EXPECT_EQ(log_.lines().size(), 1U) << testing::PrintToString(log_.lines());
}

std::vector<Code> Arena::await_endings(std::size_t count) {
  loop_.await([&] { return endings_.size() >= count; }, "the handler hears of the end");
  return loop_.run([this] { return endings_; });
}

void Arena::await_open_calls(std::size_t count) {
  loop_.await([&] { return open_calls_ >= count; }, "the handler gets the call");
}

void Arena::await_connections(std::size_t count) {
  loop_.await([&] { return server_->connection_count() == count; },
              "there are " + std::to_string(count) + " connections");
}

void Arena::await_connections_and_lines(std::size_t count) {
  loop_.await([&] { return server_->connection_count() + log_.lines().size() == count; },
              "there are or were " + std::to_string(count) + " connections");
}

std::future<void> Arena::close(Duration grace) {
  const auto closed = std::make_shared<std::promise<void>>();
  loop_.run([&] { server_->close(grace, [closed] { closed->set_value(); }); });
  return closed->get_future();
}

}  // namespace tiphys::rpc
