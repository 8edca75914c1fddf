// Servers that break the rules of HTTP/2 or gRPC, each against our client: the call ends with the status that fits, in
// bounded memory, and a call to an honest server works afterwards.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/arena.h"
#include "tests/rpc/raw_socket.h"

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNoise = 1 * kMiB;

std::string head() { return frame(FrameType::kHeaders, kEndHeaders, 1, answer_block()); }
std::string trailers(const std::string& block) {
  return frame(FrameType::kHeaders, kEndHeaders | kEndStream, 1, block);
}

struct Play {
  HttpLimits http = {};
  CallLimits calls = {};
  CallOptions options = {.timeout = 30s};
};

// A call to a server that does this with every connection; answers with how it ended.
Result<std::string> call(const std::function<void(RawSocket&)>& server, const Play& play = {}) {
  RawListener listener;
  Loop loop;
  ClientOptions options{.url = listener.url()};
  options.connector.limits = play.http;
  options.limits = play.calls;
  Client client(loop, options);
  const std::size_t before = loop.run(bytes_in_use);
  Answer answer = client.call("/test.Arena/Any", "request", play.options);
  // A request that certainly did not reach the server is sent again, on another connection.
  std::vector<RawSocket> peers;
  while (answer.wait_for(0s) != std::future_status::ready)
    if (auto peer = listener.accept_if_there()) server(peers.emplace_back(std::move(*peer)));
  EXPECT_LE(loop.run(bytes_in_use), before + kNoise);
  return result_of(std::move(answer));
}

// A server that takes the request and answers with these bytes.
Result<std::string> call_answered(const std::string& bytes, const Play& play = {}) {
  return call(
      [&bytes](RawSocket& peer) {
        if (!peer.read_preface() || !peer.send(server_hello())) return;
        peer.await_frame(FrameType::kHeaders);
        peer.send(bytes);
      },
      play);
}

void expect_code(const Result<std::string>& result, Code code, const std::string& text = "") {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code) << describe(result);
  EXPECT_NE(result.error().message.find(text), std::string::npos) << describe(result);
}

// Waits for the request, which would be sent again on another connection if it had not left yet.
Result<std::string> call_greeted_with(const std::string& bytes) {
  return call([&bytes](RawSocket& peer) {
    if (peer.read_preface() && peer.await_frame(FrameType::kHeaders)) peer.send(bytes);
  });
}

TEST(HostileServer, SaysGarbageInsteadOfSettings) {
  expect_code(call_greeted_with(std::string(100, '\xA5')), Code::kUnavailable,
              "broke the protocol");
}

TEST(HostileServer, SpeaksHttp1) {
  expect_code(call_greeted_with("HTTP/1.1 400 Bad Request\r\n\r\n"), Code::kUnavailable,
              "broke the protocol");
}

TEST(HostileServer, GoesAwayAtOnce) {
  expect_code(
      call([](RawSocket& peer) {
        peer.send(server_hello() + frame(FrameType::kGoAway, 0, 0, number(0, 4) + number(0, 4)));
        peer.await_close();
      }),
      Code::kUnavailable);
}

TEST(HostileServer, GoesAwayWithWordsThatAreNotPrintable) {
  const auto result = call([](RawSocket& peer) {
    if (!peer.read_preface() || !peer.send(server_hello())) return;
    peer.await_frame(FrameType::kHeaders);
    peer.send(
        frame(FrameType::kGoAway, 0, 0, number(1, 4) + number(11, 4) + "line\nfeed \x1b[31m\xff"));
    peer.half_close();
  });
  expect_code(result, Code::kUnavailable, "line?feed ?[31m?");
}

TEST(HostileServer, ClosesAtOnce) {
  expect_code(call([](RawSocket& peer) { peer.close(); }), Code::kUnavailable);
}

TEST(HostileServer, AcceptsAndSaysNothing) {
  expect_code(call([](RawSocket&) {}, {.options = {.timeout = 100ms}}), Code::kDeadlineExceeded);
  expect_code(call([](RawSocket&) {}, {.http = {.handshake = 100ms}}), Code::kUnavailable,
              "no HTTP/2 connection was made in time");
}

TEST(HostileServer, PushesStreams) {
  expect_code(call_answered(frame(FrameType::kPushPromise, kEndHeaders, 1,
                                  number(2, 4) + request_block("/test.Arena/Any"))),
              Code::kUnavailable, "pushes streams");
}

TEST(HostileServer, SaysForEverThatTheAnswerWillCome) {
  std::string early;
  for (int index = 0; index < 5000; ++index)
    early += frame(FrameType::kHeaders, kEndHeaders, 1, field(":status", "103"));
  expect_code(call_answered(early), Code::kUnavailable, "too many informational answers");
}

TEST(HostileServer, EndsWithoutAStatus) {
  expect_code(call_answered(head() + trailers(field("other", "x"))), Code::kUnknown);
  expect_code(call_answered(head() + frame(FrameType::kData, kEndStream, 1, message("x"))),
              Code::kUnknown);
}

TEST(HostileServer, SendsDataBeforeHeaders) {
  expect_code(call_answered(frame(FrameType::kData, 0, 1, message("x"))), Code::kUnavailable,
              "broke the protocol");
}

TEST(HostileServer, SendsAHeaderBomb) {
  std::string block = answer_block() + kept_field("x", std::string(3000, 'x'));
  while (block.size() < 16'000) block += reference(62);
  expect_code(call_answered(frame(FrameType::kHeaders, kEndHeaders, 1, block)),
              Code::kResourceExhausted);
}

TEST(HostileServer, SendsTenThousandContinuations) {
  std::string bytes = frame(FrameType::kHeaders, 0, 1, answer_block());
  for (int index = 0; index < 10'000; ++index)
    bytes += frame(FrameType::kContinuation, 0, 1, field("x", "y"));
  expect_code(call_answered(bytes), Code::kUnavailable, "CONTINUATION");
}

TEST(HostileServer, StopsInTheMiddleOfAHeaderBlock) {
  expect_code(call_answered(frame(FrameType::kHeaders, 0, 1, answer_block()),
                            {.http = {.handshake = 200ms}}),
              Code::kUnavailable, "header fields did not end in time");
}

TEST(HostileServer, AnnouncesAnAnswerOfFourGibibytes) {
  expect_code(call_answered(head() + frame(FrameType::kData, 0, 1,
                                           message_prefix(0xFFFF'FFFF) + "beginning")),
              Code::kResourceExhausted);
}

TEST(HostileServer, CutsTheAnswerShort) {
  expect_code(call_answered(head() + frame(FrameType::kData, 0, 1, message("whole").substr(0, 7)) +
                            trailers(trailers_block("0"))),
              Code::kInternal, "in the middle of a message");
}

TEST(HostileServer, SetsAnUnknownCompressionFlag) {
  expect_code(call_answered(head() + frame(FrameType::kData, 0, 1, message_prefix(4, 2) + "four")),
              Code::kInternal);
}

TEST(HostileServer, NamesAnUnknownStatus) {
  expect_code(call_answered(head() + trailers(trailers_block("4711"))), Code::kUnknown, "4711");
  expect_code(call_answered(head() + trailers(trailers_block("-1"))), Code::kUnknown);
  expect_code(call_answered(head() + trailers(trailers_block("x"))), Code::kUnknown);
}

TEST(HostileServer, OffersNoStreamAtAll) {
  const auto server = [](RawSocket& peer) { peer.send(server_hello(setting(3, 0))); };
  expect_code(call(server, {.options = {.timeout = 200ms}}), Code::kDeadlineExceeded);
}

TEST(HostileServer, FloodsWithPings) {
  std::string pings;
  for (int index = 0; index < 20'000; ++index) pings += frame(FrameType::kPing, 0, 0, "12345678");
  expect_code(call_answered(pings), Code::kUnavailable, "too many pings");
}

TEST(HostileServer, ResetsTheStream) {
  for (const auto& [reset, code] : std::vector<std::pair<std::uint32_t, Code>>{
           {0, Code::kInternal},            // NO_ERROR
           {1, Code::kInternal},            // PROTOCOL_ERROR
           {2, Code::kInternal},            // INTERNAL_ERROR
           {3, Code::kInternal},            // FLOW_CONTROL_ERROR
           {5, Code::kInternal},            // STREAM_CLOSED
           {7, Code::kUnavailable},         // REFUSED_STREAM
           {8, Code::kCancelled},           // CANCEL
           {11, Code::kResourceExhausted},  // ENHANCE_YOUR_CALM
           {12, Code::kPermissionDenied},   // INADEQUATE_SECURITY
           {4711, Code::kInternal}}) {
    SCOPED_TRACE(reset);
    // A refused request is sent again, five times in all.
    const auto server = [&](RawSocket& peer) {
      if (!peer.read_preface() || !peer.send(server_hello())) return;
      for (std::uint32_t stream = 1; stream < (reset == 7 ? 11 : 3); stream += 2) {
        peer.await_frame(FrameType::kHeaders);
        peer.send(frame(FrameType::kReset, 0, stream, number(reset, 4)));
      }
    };
    expect_code(call(server), code);
  }
}

}  // namespace
}  // namespace tiphys::rpc
