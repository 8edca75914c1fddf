#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <utility>

#include "io/rpc/typed.h"
#include "peer.pb.h"
#include "tests/peers/ours/peer.h"

namespace tiphys::peer {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using rpc::CallOptions;
using rpc::ClientStream;
using rpc::Outcome;
using rpc::Received;

namespace {

constexpr std::size_t kLarge = 16 * rpc::kMiB;
const std::string kErrorText = "größer als 5 %\n— ✓";

// Ends a case; what() is what was expected and what was seen.
struct Unexpected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void expect(bool holds, const std::string& what) {
  if (!holds) throw Unexpected(what);
}

template <class T>
void expect_equal(const T& seen, const T& expected, const std::string& what) {
  std::ostringstream text;
  text << what << ": expected " << expected << ", saw " << seen;
  expect(seen == expected, text.str());
}

std::string describe(const Status& status) {
  return status ? "OK"
                : std::string(to_string(status.error().code)) + " '" + status.error().message + "'";
}

void expect_code(const Outcome& outcome, std::optional<Code> code, const std::string& what) {
  const bool holds =
      code ? !outcome.status && outcome.status.error().code == *code : outcome.status.has_value();
  expect(holds, what + ": expected " + (code ? std::string(to_string(*code)) : "OK") + ", saw " +
                    describe(outcome.status));
}

EchoRequest with_payload(std::string payload) {
  EchoRequest request;
  request.set_payload(std::move(payload));
  return request;
}

std::string unique_name() {
  static std::uint64_t counter = 0;
  static const std::uint64_t kChance = std::random_device{}();
  return std::to_string(getpid()) + "-" + std::to_string(kChance) + "-" + std::to_string(++counter);
}

// One call of any kind.
class Call {
 public:
  Call(rpc::Channel* channel, const std::string& method, CallOptions options = {})
      : stream_(channel->call("/tiphys.peer.Echo/" + method, std::move(options))) {}

  asio::awaitable<void> send(EchoRequest request) {
    auto payload = rpc::to_payload(request);
    co_await stream_.write(std::move(payload));
  }
  asio::awaitable<std::optional<Received<EchoReply>>> read() {
    const auto bytes = co_await stream_.read();
    if (!bytes) co_return std::nullopt;
    auto reply = Received<EchoReply>::parse(*bytes);
    expect(reply.has_value(), "expected an EchoReply, saw other bytes");
    co_return std::move(*reply);
  }
  asio::awaitable<Received<EchoReply>> must_read() {
    auto reply = co_await read();
    if (!reply) {
      const Outcome outcome = co_await stream_.finish();
      throw Unexpected("expected a reply, saw the end: " + describe(outcome.status));
    }
    co_return std::move(*reply);
  }
  ClientStream& stream() { return stream_; }

 private:
  ClientStream stream_;
};

asio::awaitable<Received<EchoReply>> ask_unary(rpc::Channel* channel, EchoRequest request,
                                               CallOptions options = {}) {
  auto reply = co_await rpc::unary<EchoReply>(*channel, "/tiphys.peer.Echo/Unary", request,
                                              std::move(options));
  if (!reply) throw Unexpected("expected a reply, saw " + describe(fail(reply.error())));
  co_return std::move(*reply);
}

asio::awaitable<void> poll_until(rpc::Channel* channel, std::string name, Wait wanted) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  const auto limit = std::chrono::steady_clock::now() + 20s;
  EchoRequest request;
  request.set_ask(name);
  for (;;) {
    const auto reply = co_await ask_unary(channel, request);
    if (reply->wait() == wanted) co_return;
    if (std::chrono::steady_clock::now() > limit)
      throw Unexpected("the wait is expected to become " + std::to_string(wanted) + ", saw " +
                       std::to_string(reply->wait()));
    pause.expires_after(10ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

// --- basic ---

asio::awaitable<void> unary_basic(rpc::Channel* channel) {
  const auto hello = co_await ask_unary(channel, with_payload("hello"));
  expect_equal<std::string>(hello->payload(), "hello", "payload");
  const auto empty = co_await ask_unary(channel, {});
  expect_equal<std::string>(empty->payload(), "", "payload of the empty request");
  EchoRequest sized;
  sized.set_reply_size(1000);
  const auto thousand = co_await ask_unary(channel, sized);
  expect(thousand->payload() == pattern(1000), "expected 1000 bytes of the pattern");
  for (int number = 0; number < 100; ++number) {
    const auto reply = co_await ask_unary(channel, with_payload(std::to_string(number)));
    expect_equal(reply->payload(), std::to_string(number), "payload");
  }
}

asio::awaitable<void> collect_of(rpc::Channel* channel, std::vector<std::string> payloads) {
  Call call(channel, "Collect");
  std::string all;
  for (const std::string& payload : payloads) {
    all += payload;
    co_await call.send(with_payload(payload));
  }
  call.stream().half_close();
  const auto reply = co_await call.must_read();
  expect(reply->payload() == all, "expected the payloads one after the other");
  expect_equal<std::size_t>(reply->index(), payloads.size(), "index");
  expect_code(co_await call.stream().finish(), std::nullopt, "status");
}

asio::awaitable<void> collect_basic(rpc::Channel* channel) {
  co_await collect_of(channel, std::vector<std::string>{});
  std::vector<std::string> three = {"a", "", "b"};
  co_await collect_of(channel, three);
  co_await collect_of(channel, std::vector<std::string>(1000, pattern(100)));
}

asio::awaitable<void> expand_of(rpc::Channel* channel, EchoRequest request, std::string payload) {
  Call call(channel, "Expand");
  co_await call.send(request);
  call.stream().half_close();
  for (std::uint32_t index = 0; index < request.count(); ++index) {
    const auto reply = co_await call.must_read();
    expect_equal(reply->index(), index, "index");
    expect(reply->payload() == payload, "expected the payload");
  }
  const auto more = co_await call.read();
  expect(!more, "expected no more replies");
  expect_code(co_await call.stream().finish(), std::nullopt, "status");
}

asio::awaitable<void> expand_basic(rpc::Channel* channel) {
  co_await expand_of(channel, {}, "");
  EchoRequest three;
  three.set_count(3);
  three.set_reply_size(1000);
  co_await expand_of(channel, three, pattern(1000));
  EchoRequest thousand = with_payload("x");
  thousand.set_count(1000);
  co_await expand_of(channel, thousand, "x");
}

asio::awaitable<void> chat_in_turn(rpc::Channel* channel, std::vector<std::string> payloads) {
  Call call(channel, "Chat");
  for (std::uint32_t index = 0; index < payloads.size(); ++index) {
    co_await call.send(with_payload(payloads[index]));
    const auto reply = co_await call.must_read();
    expect(reply->payload() == payloads[index], "expected the payload");
    expect_equal(reply->index(), index, "index");
  }
  call.stream().half_close();
  const auto more = co_await call.read();
  expect(!more, "expected no more replies");
  expect_code(co_await call.stream().finish(), std::nullopt, "status");
}

asio::awaitable<void> chat_basic(rpc::Channel* channel) {
  std::vector<std::string> payloads;
  co_await chat_in_turn(channel, payloads);
  for (int number = 0; number < 99; ++number) payloads.push_back(std::to_string(number));
  payloads.emplace_back();
  co_await chat_in_turn(channel, payloads);

  Call call(channel, "Chat");
  const std::string payload = pattern(1000);
  for (int number = 0; number < 1000; ++number) co_await call.send(with_payload(payload));
  call.stream().half_close();
  for (std::uint32_t index = 0; index < 1000; ++index) {
    const auto reply = co_await call.must_read();
    expect(reply->payload() == payload, "expected the payload");
    expect_equal(reply->index(), index, "index");
  }
  expect_code(co_await call.stream().finish(), std::nullopt, "status");
}

// --- deadline, cancel ---

std::string method_of(const std::string& kind) {
  static const std::map<std::string, std::string> kMethods = {
      {"unary", "Unary"}, {"collect", "Collect"}, {"expand", "Expand"}, {"chat", "Chat"}};
  return kMethods.at(kind);
}

// Three messages one way or the other where the kind has them, then the wish.
asio::awaitable<void> prepare(Call* call, std::string kind, EchoRequest wish) {
  if (kind == "collect" || kind == "chat") {
    for (int number = 0; number < 3; ++number) {
      co_await call->send(with_payload("x"));
      if (kind == "chat") co_await call->must_read();
    }
  }
  if (kind == "expand") wish.set_count(3);
  co_await call->send(wish);
  if (kind == "expand" || kind == "unary") call->stream().half_close();
  for (int number = 0; kind == "expand" && number < 3; ++number) co_await call->must_read();
}

asio::awaitable<void> deadline_case(rpc::Channel* channel, std::string kind) {
  if (kind == "unary") {
    const auto without = co_await ask_unary(channel, {});
    expect_equal<std::uint32_t>(without->timeout_ms(), 0, "timeout_ms without a deadline");
    const auto with = co_await ask_unary(channel, {}, {.timeout = 60s});
    expect(with->timeout_ms() >= 1 && with->timeout_ms() <= 61'000,
           "expected timeout_ms of 1 to 61000, saw " + std::to_string(with->timeout_ms()));
  }
  EchoRequest wish;
  wish.set_wait(unique_name());
  Call call(channel, method_of(kind), {.timeout = 500ms});
  co_await prepare(&call, kind, wish);
  expect_code(co_await call.stream().finish(), Code::kDeadlineExceeded, "status");
  co_await poll_until(channel, wish.wait(), WAIT_CANCELLED);
}

asio::awaitable<void> cancel_case(rpc::Channel* channel, std::string kind) {
  EchoRequest wish;
  wish.set_wait(unique_name());
  Call call(channel, method_of(kind));
  co_await prepare(&call, kind, wish);
  co_await poll_until(channel, wish.wait(), WAIT_UNDER_WAY);
  call.stream().cancel();
  expect_code(co_await call.stream().finish(), Code::kCancelled, "status");
  co_await poll_until(channel, wish.wait(), WAIT_CANCELLED);
}

// --- large ---

asio::awaitable<void> large_case(rpc::Channel* channel, std::string kind) {
  const std::string large = pattern(kLarge);
  if (kind == "unary") {
    const auto reply = co_await ask_unary(channel, with_payload(large));
    expect(reply->payload() == large, "expected 16 MiB of the pattern");
  } else if (kind == "collect") {
    std::vector<std::string> payloads = {large, "x"};
    co_await collect_of(channel, payloads);
  } else if (kind == "expand") {
    EchoRequest request = with_payload(large);
    request.set_count(2);
    co_await expand_of(channel, request, large);
  } else {
    std::vector<std::string> payloads = {large, large};
    co_await chat_in_turn(channel, payloads);
  }
}

// --- metadata, error ---

std::vector<std::string> values_of(const rpc::Metadata& metadata, const std::string& key) {
  std::vector<std::string> values;
  for (const auto& [name, value] : metadata)
    if (name == key) values.push_back(value);
  return values;
}

asio::awaitable<void> metadata_case(rpc::Channel* channel, std::string kind) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  const rpc::Metadata sent = {{"echo-text", "first"},
                              {"echo-text", "second value"},
                              {"echo-data-bin", all_bytes},
                              {"echo-data-bin", "two"}};
  const auto check = [&sent](const rpc::Metadata& seen, const std::string& where) {
    for (const char* key : {"echo-text", "echo-data-bin"})
      expect(values_of(seen, key) == values_of(sent, key),
             "expected the values of " + std::string(key) + " as " + where);
  };
  Call call(channel, method_of(kind), {.metadata = sent});
  EchoRequest request = with_payload("x");
  if (kind == "expand") request.set_count(1);
  if (kind != "chat") {
    co_await call.send(request);
    call.stream().half_close();
  }
  const auto headers = co_await call.stream().headers();
  expect(headers.has_value(), "expected initial metadata");
  check(*headers, "initial metadata");
  if (kind == "chat") {
    co_await call.send(request);
    call.stream().half_close();
  }
  const auto reply = co_await call.must_read();
  expect_equal<std::string>(reply->payload(), "x", "payload");
  const Outcome outcome = co_await call.stream().finish();
  expect_code(outcome, std::nullopt, "status");
  check(outcome.trailers, "trailing metadata");
}

asio::awaitable<void> error_of(rpc::Channel* channel, std::string kind, Code code) {
  Call call(channel, method_of(kind), {.metadata = {{"echo-text", "why"}}});
  EchoRequest wish;
  wish.mutable_fail()->set_code(static_cast<std::uint32_t>(code));
  wish.mutable_fail()->set_text(kErrorText);
  co_await prepare(&call, kind, wish);
  const Outcome outcome = co_await call.stream().finish();
  expect_code(outcome, code, "status");
  expect_equal(outcome.status.error().message, kErrorText, "text");
  expect(values_of(outcome.trailers, "echo-text") == std::vector<std::string>{"why"},
         "expected the trailing metadata");
}

asio::awaitable<void> error_case(rpc::Channel* channel, std::string kind) {
  if (kind != "unary") {
    co_await error_of(channel, kind, Code::kFailedPrecondition);
    co_return;
  }
  for (int code = 1; code <= 16; ++code) co_await error_of(channel, kind, static_cast<Code>(code));
}

asio::awaitable<void> perform(rpc::Channel* channel, const std::string& kind,
                              const std::string& what) {
  if (what == "deadline") return deadline_case(channel, kind);
  if (what == "cancel") return cancel_case(channel, kind);
  if (what == "large") return large_case(channel, kind);
  if (what == "metadata") return metadata_case(channel, kind);
  if (what == "error") return error_case(channel, kind);
  if (kind == "unary") return unary_basic(channel);
  if (kind == "collect") return collect_basic(channel);
  if (kind == "expand") return expand_basic(channel);
  return chat_basic(channel);
}

}  // namespace

const std::vector<std::string>& case_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> made;
    for (const char* kind : {"unary", "collect", "expand", "chat"})
      for (const char* what : {"basic", "deadline", "cancel", "large", "metadata", "error"})
        made.push_back(std::string(kind) + "-" + what);
    return made;
  }();
  return kNames;
}

asio::awaitable<std::string> run_case(rpc::Channel* channel, std::string name) {
  const auto dash = name.find('-');
  const std::string kind = name.substr(0, dash);
  const std::string what = name.substr(dash + 1);
  try {
    co_await perform(channel, kind, what);
  } catch (const std::exception& problem) {
    co_return problem.what();
  }
  co_return "";
}

asio::awaitable<std::string> talk(rpc::Channel* channel, std::string line) {
  std::istringstream words(line);
  std::string kind;
  std::size_t size = 0;
  words >> kind >> size;
  EchoRequest request;
  if (kind == "wait") {
    request.set_wait(unique_name());
  } else {
    request.set_payload(pattern(size));
  }
  if (kind == "expand") request.set_count(1);
  Call call(channel, kind == "wait" ? "Expand" : method_of(kind), {.timeout = 30s});
  co_await call.send(request);
  call.stream().half_close();
  const Outcome outcome = co_await call.stream().finish();
  std::string text = outcome.status ? "OK "
                                    : std::string(to_string(outcome.status.error().code)) + " " +
                                          outcome.status.error().message;
  for (char& character : text)
    if (character == '\n' || character == '\r') character = ' ';
  co_return text;
}

}  // namespace tiphys::peer
