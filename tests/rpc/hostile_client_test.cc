// Clients that break the rules of HTTP/2 or gRPC, each against a real listener: they are closed or told a status, one
// line is logged, honest calls go on, and the bytes come back.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "io/rpc/inbox.h"
#include "tests/rpc/arena.h"
#include "tests/rpc/raw_socket.h"

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;

constexpr const char* kEcho = "/test.Arena/Echo";
constexpr const char* kHang = "/test.Arena/Hang";
constexpr const char* kPour = "/test.Arena/Pour";
constexpr std::uint32_t kCancelCode = 8;
constexpr std::uint32_t kCalmCode = 11;

ArenaOptions impatient() {
  ArenaOptions options;
  options.http.handshake = 100ms;
  return options;
}

std::string gzip(std::string_view plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string compressed(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

// One connection that says all this is closed, for this reason.
void expect_closed(Arena& arena, const std::string& bytes, const std::string& reason) {
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    peer.send(bytes);
    peer.await_close();
  }
  arena.expect_one_line(reason);
  arena.expect_quiet();
}

// One connection that repeats something for ever is closed, for this reason. It reads nothing.
void expect_flood_closed(Arena& arena, const std::string& hello, const std::string& repeated,
                         const std::string& reason) {
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(hello));
    std::string many;
    while (many.size() < 16 * kKiB) many += repeated;
    while (peer.send(many)) arena.expect_honest_call();
  }
  arena.expect_one_line(reason);
  arena.expect_quiet();
}

// One connection that opens streams for ever and says this on each of them is closed, but not after the first few: an
// honest client may cancel now and then.
void expect_broken_streams_closed(Arena& arena,
                                  const std::function<std::string(std::uint32_t stream)>& breaks) {
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(client_hello()));
    std::uint32_t stream = 1;
    bool is_open = true;
    while (is_open) {
      std::string bytes;
      for (int index = 0; index < 50; ++index, stream += 2)
        bytes += request_head(stream, kHang) + breaks(stream);
      is_open = peer.send(bytes);
    }
    EXPECT_GT(stream, 1000U);
  }
  arena.expect_one_line("too many");
  arena.expect_quiet();
}

// A call that says all this ends with this status in trailers and one line in the log, and the connection can be used.
void expect_status(Arena& arena, const std::string& bytes, Code code) {
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(client_hello() + bytes));
    const auto end = peer.await_end_of(1);
    ASSERT_TRUE(end && end->type == FrameType::kHeaders);
    const std::string status = std::to_string(static_cast<int>(code));
    EXPECT_EQ(grpc_status(end->payload), status);

    ASSERT_TRUE(peer.send(request_head(3, kEcho) +
                          frame(FrameType::kData, kEndStream, 3, message("again"))));
    const auto next = peer.await_end_of(3);
    ASSERT_TRUE(next && next->type == FrameType::kHeaders);
  }
  arena.expect_honest_call();
  arena.expect_quiet();
  EXPECT_EQ(arena.log().lines().size(), 1U);
}

// --- before HTTP/2 begins ---

TEST(HostileClient, SaysGarbageInsteadOfThePreface) {
  Arena arena;
  expect_closed(arena, std::string(100, '\xA5'), "the peer broke the protocol");
}

TEST(HostileClient, SpeaksHttp1) {
  Arena arena;
  expect_closed(arena, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "the peer broke the protocol");
}

TEST(HostileClient, SaysHalfThePrefaceAndFallsSilent) {
  Arena arena(impatient());
  expect_closed(arena, client_hello().substr(0, 12), "no HTTP/2 connection was made in time");
}

TEST(HostileClient, SaysNothingAtAll) {
  Arena arena(impatient());
  expect_closed(arena, "", "no HTTP/2 connection was made in time");
}

TEST(HostileClient, SendsNoSettings) {
  Arena arena;
  expect_closed(arena, client_hello().substr(0, 24) + frame(FrameType::kPing, 0, 0, "12345678"),
                "the peer broke the protocol");
}

// --- headers ---

TEST(HostileClient, SaysHalfAHeaderBlockAndFallsSilent) {
  Arena arena(impatient());
  expect_closed(arena, client_hello() + frame(FrameType::kHeaders, 0, 1, request_block(kEcho)),
                "header fields did not end in time");
}

TEST(HostileClient, AnnouncesALargeFieldAndFallsSilent) {
  Arena arena(impatient());
  const std::string half = request_block(kEcho) + std::string(1, '\0') + integer(0x80, 7, 60'000);
  expect_closed(arena, client_hello() + frame(FrameType::kHeaders, 0, 1, half),
                "header fields did not end in time");
}

TEST(HostileClient, SendsTenThousandContinuations) {
  Arena arena;
  std::string bytes = client_hello() + frame(FrameType::kHeaders, 0, 1, request_block(kEcho));
  for (int index = 0; index < 10'000; ++index)
    bytes += frame(FrameType::kContinuation, 0, 1, field("x", "y"));
  expect_closed(arena, bytes, "CONTINUATION");
}

TEST(HostileClient, RefersToALargeFieldAgainAndAgain) {
  Arena arena;
  // 16 KiB on the wire that stand for 40 MB of fields.
  const std::string block = request_block(kEcho) + kept_field("x", std::string(3000, 'x'));
  std::string references;
  while (references.size() < 13'000) references += reference(62);
  expect_status(arena, frame(FrameType::kHeaders, kEndHeaders | kEndStream, 1, block + references),
                Code::kResourceExhausted);
}

TEST(HostileClient, SendsOneMebibyteOfFieldsWithinTheLimitOfContinuations) {
  Arena arena;
  // Five frames of 16 KiB, each with many references to what the first one made the table keep.
  std::string bytes = frame(FrameType::kHeaders, kEndStream, 1,
                            request_block(kEcho) + kept_field("x", std::string(3000, 'x')));
  std::string references;
  for (int index = 0; index < 100; ++index) references += reference(62);
  for (int index = 0; index < 4; ++index)
    bytes += frame(FrameType::kContinuation, index == 3 ? kEndHeaders : 0, 1, references);
  expect_status(arena, bytes, Code::kResourceExhausted);
}

TEST(HostileClient, SendsOneMebibyteOfFieldsInFull) {
  Arena arena;
  std::string bytes = client_hello() + frame(FrameType::kHeaders, 0, 1, request_block(kEcho));
  for (int index = 0; index < 64; ++index)
    bytes += frame(FrameType::kContinuation, 0, 1, field("x", std::string(16'000, 'x')));
  expect_closed(arena, bytes, "CONTINUATION");
}

TEST(HostileClient, SendsARequestThatIsNotHttp) {
  Arena arena(impatient());
  arena.remember_quiet();
  {
    // The first call lasts longer than a header block may: the broken one after it must not count as unfinished.
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(client_hello() +
                          frame(FrameType::kHeaders, kEndHeaders, 1,
                                request_block(kHang) + field("grpc-timeout", "300m")) +
                          frame(FrameType::kHeaders, kEndHeaders, 3, field("UPPER", "case"))));
    const auto broken = peer.await_end_of(3);
    ASSERT_TRUE(broken && broken->type == FrameType::kReset);
    const auto late = peer.await_end_of(1);
    ASSERT_TRUE(late && late->type == FrameType::kHeaders) << "the connection was closed";
    EXPECT_EQ(grpc_status(late->payload), "4");
  }
  arena.expect_quiet();
  EXPECT_EQ(arena.log().lines(), std::vector<std::string>{});
}

// --- floods ---

TEST(HostileClient, OpensAndResetsStreamsForEver) {
  Arena arena;
  expect_broken_streams_closed(arena, [](std::uint32_t stream) {
    return frame(FrameType::kReset, 0, stream, number(kCancelCode, 4));
  });
}

TEST(HostileClient, MakesUsResetStreamsForEver) {
  // Each stream is opened in good order and then broken, so that it is our side that resets it.
  Arena arena;
  expect_broken_streams_closed(
      arena, [](std::uint32_t stream) { return window_update(stream, 0x7FFF'FFFF); });
}

TEST(HostileClient, FloodsWithSettings) {
  Arena arena;
  expect_flood_closed(arena, client_hello(), frame(FrameType::kSettings, 0, 0, setting(3, 100)),
                      "too many");
}

TEST(HostileClient, SendsManySettingsInOneFrame) {
  Arena arena;
  std::string settings;
  for (int index = 0; index < 2000; ++index) settings += setting(3, 100);
  expect_closed(arena, client_hello() + frame(FrameType::kSettings, 0, 0, settings),
                "the peer broke the protocol");
}

TEST(HostileClient, FloodsWithPings) {
  Arena arena;
  expect_flood_closed(arena, client_hello(), frame(FrameType::kPing, 0, 0, "12345678"), "too many");
}

TEST(HostileClient, FloodsWithEmptyData) {
  Arena arena;
  expect_flood_closed(arena, client_hello() + request_head(1, kHang), frame(FrameType::kData, 0, 1),
                      "too many");
}

TEST(HostileClient, FloodsWithPadding) {
  Arena arena;
  constexpr std::uint8_t kPadded = 0x8;
  expect_flood_closed(arena, client_hello() + request_head(1, kHang),
                      frame(FrameType::kData, kPadded, 1, std::string(1, '\0')), "too many");
}

TEST(HostileClient, OpensMoreStreamsThanItMay) {
  Arena arena;
  std::string bytes = client_hello() + frame(FrameType::kSettings, kAck, 0);
  for (std::uint32_t index = 0; index < 101; ++index) bytes += request_head(index * 2 + 1, kHang);
  expect_closed(arena, bytes, "max concurrent streams");
  EXPECT_EQ(arena.await_endings(100), std::vector<Code>(100, Code::kCancelled));
}

TEST(HostileClient, OpensMoreStreamsThanItMayBeforeItKnows) {
  Arena arena;
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    std::string bytes = client_hello();
    for (std::uint32_t index = 0; index < 101; ++index) bytes += request_head(index * 2 + 1, kHang);
    ASSERT_TRUE(peer.send(bytes));
    const auto refused = peer.await_end_of(201);
    ASSERT_TRUE(refused && refused->type == FrameType::kReset);
    EXPECT_EQ(refused->payload, number(7, 4)) << "expected REFUSED_STREAM";
    arena.await_open_calls(100);
    arena.expect_honest_call();
  }
  EXPECT_EQ(arena.await_endings(100), std::vector<Code>(100, Code::kCancelled));
  arena.expect_quiet();
}

// --- peers that take nothing ---

TEST(HostileClient, NeverReadsPings) {
  // Enough to fill the socket, fewer than the limit of pings at once.
  ArenaOptions options;
  options.http.stall = 200ms;
  options.http.control_burst = 1'000'000;
  Arena arena(options);
  expect_flood_closed(arena, client_hello(), frame(FrameType::kPing, 0, 0, "12345678"), "");
}

TEST(HostileClient, HoldsAWindowOfZero) {
  ArenaOptions options;
  options.http.stall = 200ms;
  Arena arena(options);
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(client_hello(setting(4, 0)) + request_head(1, kPour) +
                          frame(FrameType::kData, kEndStream, 1, message(""))));
    const auto end = peer.await_end_of(1);
    ASSERT_TRUE(end && end->type == FrameType::kReset);
    EXPECT_EQ(end->payload, number(kCalmCode, 4));
    arena.expect_honest_call();
  }
  arena.expect_quiet();
}

TEST(HostileClient, NeverReadsWhatItAskedFor) {
  ArenaOptions options;
  options.http.stall = 200ms;
  Arena arena(options);
  arena.remember_quiet();
  const std::size_t before = arena.loop().run(bytes_in_use);
  {
    RawSocket peer = arena.connect();
    // All windows as large as can be, so that only the socket holds us back.
    std::string bytes = client_hello(setting(4, 0x7FFF'FFFF)) + window_update(0, 0x7FFF'0000);
    for (std::uint32_t stream = 1; stream < 20; stream += 2)
      bytes +=
          request_head(stream, kPour) + frame(FrameType::kData, kEndStream, stream, message(""));
    ASSERT_TRUE(peer.send(bytes));
    EXPECT_EQ(arena.log().await_lines(1).size(), 1U);
    EXPECT_LE(arena.loop().run(bytes_in_use), before + 16 * kMiB);
    arena.expect_honest_call();
  }
  arena.expect_one_line("the peer does not read");
  arena.expect_quiet();
}

TEST(HostileClient, NeverReadsWhileTheServerShutsDown) {
  // The limits are the ordinary ones: shutting down must not wait for them.
  Arena arena;
  RawSocket peer = arena.connect();
  ASSERT_TRUE(peer.send(client_hello(setting(4, 0x7FFF'FFFF)) + window_update(0, 0x7FFF'0000) +
                        request_head(1, kPour) +
                        frame(FrameType::kData, kEndStream, 1, message(""))));
  arena.expect_honest_call();
  const auto closed = arena.close(Duration::zero());
  EXPECT_EQ(closed.wait_for(5s), std::future_status::ready);
}

// --- messages ---

TEST(HostileClient, AnnouncesAMessageOfFourGibibytes) {
  Arena arena;
  expect_status(arena,
                request_head(1, kEcho) +
                    frame(FrameType::kData, 0, 1, message_prefix(0xFFFF'FFFF) + "beginning"),
                Code::kResourceExhausted);
}

TEST(HostileClient, AnnouncesALargeMessageAndSendsLittle) {
  Arena arena;
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    std::string bytes = client_hello();
    for (std::uint32_t index = 0; index < 100; ++index)
      bytes += request_head(index * 2 + 1, kHang) +
               frame(FrameType::kData, 0, index * 2 + 1, message_prefix(64 * kMiB) + "beginning");
    ASSERT_TRUE(peer.send(bytes));
    arena.await_open_calls(100);
    EXPECT_LE(arena.loop().run(bytes_in_use), arena.quiet_bytes() + 1 * kMiB);
  }
  arena.expect_quiet();
}

TEST(HostileClient, EndsInTheMiddleOfAMessage) {
  Arena arena;
  expect_status(arena,
                request_head(1, kEcho) +
                    frame(FrameType::kData, kEndStream, 1, message("whole").substr(0, 7)),
                Code::kInternal);
}

TEST(HostileClient, EndsInTheMiddleOfAPrefix) {
  Arena arena;
  expect_status(arena,
                request_head(1, kEcho) + frame(FrameType::kData, kEndStream, 1, number(0, 3)),
                Code::kInternal);
}

TEST(HostileClient, ClosesInTheMiddleOfAFrame) {
  Arena arena;
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    const std::string whole = frame(FrameType::kData, 0, 1, message("whole"));
    ASSERT_TRUE(peer.send(client_hello() + request_head(1, kHang) + whole.substr(0, 12)));
    peer.half_close();
    peer.await_close();
  }
  EXPECT_EQ(arena.await_endings(1), std::vector{Code::kCancelled});
  arena.expect_one_line("in the middle of a frame");
  arena.expect_quiet();
}

std::string gzip_head() {
  return frame(FrameType::kHeaders, kEndHeaders, 1,
               request_block(kEcho) + field("grpc-encoding", "gzip"));
}

std::string compressed(std::string_view bytes) {
  return message_prefix(static_cast<std::uint32_t>(bytes.size()), 1) + std::string(bytes);
}

TEST(HostileClient, SendsACompressedBomb) {
  ArenaOptions options;
  options.calls.message = 1 * kMiB;
  Arena arena(options);
  // Made before memory is looked at.
  const std::string bomb = compressed(gzip(std::string(64 * kMiB, '\0')));
  ASSERT_LT(bomb.size(), 100 * kKiB);
  std::string bytes = gzip_head();
  for (std::size_t at = 0; at < bomb.size(); at += 16 * kKiB)
    bytes += frame(FrameType::kData, 0, 1, std::string_view(bomb).substr(at, 16 * kKiB));
  expect_status(arena, bytes, Code::kResourceExhausted);
}

TEST(HostileClient, SendsBadGzip) {
  Arena arena;
  expect_status(arena, gzip_head() + frame(FrameType::kData, 0, 1, compressed("no gzip at all")),
                Code::kInternal);
}

TEST(HostileClient, CutsGzipShort) {
  Arena arena;
  const std::string whole = gzip(std::string(1000, 'x'));
  expect_status(
      arena,
      gzip_head() + frame(FrameType::kData, 0, 1, compressed(whole.substr(0, whole.size() / 2))),
      Code::kInternal);
}

TEST(HostileClient, SetsAnUnknownCompressionFlag) {
  Arena arena;
  expect_status(arena, gzip_head() + frame(FrameType::kData, 0, 1, message_prefix(4, 2) + "four"),
                Code::kInternal);
}

TEST(HostileClient, CompressesWithoutAnEncoding) {
  Arena arena;
  expect_status(arena,
                request_head(1, kEcho) + frame(FrameType::kData, 0, 1, compressed(gzip("hello"))),
                Code::kInternal);
}

TEST(HostileClient, UsesUpTheBudgetOfIncompleteMessages) {
  ArenaOptions options;
  options.calls.budget = std::make_shared<ReceiveBudget>(1 * kMiB);
  Arena arena(options);
  arena.remember_quiet();
  {
    std::vector<RawSocket> peers;
    for (int index = 0; index < 8; ++index) {
      peers.push_back(arena.connect());
      ASSERT_TRUE(peers.back().send(
          client_hello() + frame(FrameType::kSettings, kAck, 0) + request_head(1, kHang) +
          frame(FrameType::kData, 0, 1, message_prefix(1 * kMiB) + std::string(16'000, 'x'))));
    }
    arena.await_open_calls(8);
    // The last one takes what is left, and more.
    std::string rest;
    for (int index = 0; index < 63; ++index)
      rest += frame(FrameType::kData, 0, 1, std::string(16'000, 'x'));
    ASSERT_TRUE(peers.back().send(rest));
    const auto end = peers.back().await_end_of(1);
    ASSERT_TRUE(end && end->type == FrameType::kHeaders);
    EXPECT_EQ(grpc_status(end->payload), "8");
    EXPECT_LE(arena.loop().run(bytes_in_use), arena.quiet_bytes() + 4 * kMiB);
    arena.expect_honest_call();
  }
  EXPECT_EQ(arena.await_endings(8).size(), 8U);
  arena.expect_quiet();
}

struct DeafStream final : HttpStream {
  void listen(std::shared_ptr<Listener>) override {}
  HttpConnection& connection() override { std::abort(); }
  void send_fields(const Fields&, bool) override {}
  void send_data(std::string_view, Payload) override {}
  void send_trailers(const Fields&) override {}
  void end() override {}
  void reset(Reset) override {}
  void consume(std::size_t) override {}
  [[nodiscard]] bool has_room() const override { return true; }
};

TEST(HostileClient, IsAlwaysAheadOfTheReader) {
  // Bytes that were taken make room for new ones, and must not stay in memory beside them.
  DeafStream stream;
  const CallLimits limits;
  Inbox inbox(limits);
  const std::string bytes = message(std::string(1000, 'x'));
  for (int index = 0; index < 10; ++index) ASSERT_TRUE(inbox.add(bytes, stream));
  const std::size_t before = bytes_in_use();
  for (int index = 0; index < 10'000; ++index) {
    ASSERT_TRUE(inbox.add(bytes, stream));
    inbox.want();
    const auto taken = inbox.take(&stream);
    ASSERT_TRUE(taken && *taken);
  }
  EXPECT_LE(bytes_in_use(), before + 100 * kKiB);
}

// --- connections ---

TEST(HostileClient, ConnectsMoreOftenThanItMay) {
  ArenaOptions options;
  options.connections = 3;
  Arena arena(options);
  arena.remember_quiet();
  {
    const RawSocket first = arena.connect();
    const RawSocket second = arena.connect();
    arena.await_connections(3);
    RawSocket third = arena.connect();
    third.await_close();
    arena.expect_one_line("too many connections");
  }
  arena.expect_quiet();
}

TEST(HostileClient, UsesUpTheDescriptors) {
  Arena arena;
  arena.remember_quiet();
  std::vector<RawSocket> peers;
  peers.reserve(100);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  {
    // Our own ends count too: so they are opened first, and the limit is set between them and the server's.
    arena.loop().run([&] {
      for (int index = 0; index < 10; ++index) peers.push_back(arena.connect());
      const rlimit none{.rlim_cur = static_cast<rlim_t>(peers.back().descriptor()) + 3,
                        .rlim_max = before.rlim_max};
      ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    });
    arena.expect_one_line("Too many open files");
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  }
  // Those that waited get in once there are descriptors again.
  arena.await_connections(11);
  peers.clear();
  arena.await_connections(1);
  arena.expect_honest_call();
}

}  // namespace
}  // namespace tiphys::rpc
