// What goes over the wire, frame by frame: one end is ours, the other is this test.

#include "io/rpc/http2/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <optional>

#include "io/rpc/channel.h"
#include "io/rpc/coroutines.h"
#include "io/rpc/http2/test_frames.h"
#include "io/rpc/test_world.h"

namespace tiphys::rpc::http2 {
namespace {

constexpr const char* kMethod = "/test.Service/Method";
constexpr std::uint32_t kNoErrorCode = 0;
constexpr std::uint32_t kRefusedCode = 7;
constexpr std::uint32_t kCancelCode = 8;

std::string field(const Frame& frame, const std::string& name) {
  for (const auto& [key, value] : frame.fields)
    if (key == name) return value;
  return "(none)";
}

std::vector<Frame> of_type(const std::vector<Frame>& frames, FrameType type) {
  std::vector<Frame> found;
  std::ranges::copy_if(frames, std::back_inserter(found),
                       [type](const Frame& frame) { return frame.type == type; });
  return found;
}

// --- our server, this test is the client ---

// Hands sessions to the server without any socket.
class HandListener final : public HttpListener {
 public:
  explicit HandListener(Accept* accept) : accept_(accept) {}
  [[nodiscard]] std::string address() const override { return "by hand"; }
  void start(Accept accept) override { *accept_ = std::move(accept); }
  void stop() override {}

 private:
  Accept* accept_;
};

class ServerFrames : public ::testing::Test {
 protected:
  void start(Handlers handlers) {
    server_.listen(std::make_unique<HandListener>(&accept_),
                   {.handlers = std::move(handlers), .limits = call_limits_});
    session_ =
        std::make_shared<Session>(Role::kServer, http_limits_,
                                  std::make_shared<Peer>(Peer{.address = "test"}), Origin{}, [] {});
    session_->set_owner(accept_(session_));
    hear();
    say(std::string(kPreface) + settings());
    if (acknowledges_settings_) say(frame(FrameType::kSettings, kAck, 0));
  }

  void start_recording(Begins begins = Begins::kWithFirstMessage) {
    Handlers handlers;
    handlers.add(kMethod, {.take =
                               [this](std::shared_ptr<ServerCall> call) {
                                 call_ = std::move(call);
                                 call_->start(events_.tell());
                               },
                           .begins = begins});
    start(std::move(handlers));
  }

  // What the server answers to these bytes.
  std::vector<Frame> say(std::string_view bytes) {
    session_->receive(bytes);
    return hear();
  }
  std::vector<Frame> hear() {
    std::string out;
    session_->produce(out, 100 * kMiB);
    auto frames = reader_.push(out);
    return frames;
  }

  boost::asio::io_context context_;
  RecordingLog log_;
  HttpLimits http_limits_;
  CallLimits call_limits_;
  bool acknowledges_settings_ = true;
  HttpListener::Accept accept_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<ServerCall> call_;
  Events events_;
  FrameReader reader_;
  Server server_{context_.get_executor(), log_};
};

TEST_F(ServerFrames, AnnounceTheLimits) {
  session_ = std::make_shared<Session>(Role::kServer, http_limits_, std::make_shared<Peer>(),
                                       Origin{}, [] {});
  const auto frames = hear();
  const auto sent = of_type(frames, FrameType::kSettings);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].payload, settings({{3, 100}, {4, 1024 * 1024}, {6, 16 * 1024}}).substr(9));
  const auto window = of_type(frames, FrameType::kWindowUpdate);
  ASSERT_EQ(window.size(), 1U);
  EXPECT_EQ(window[0].stream, 0U);
  EXPECT_EQ(window[0].code(), 4 * 1024 * 1024 - 65535U);
}

TEST_F(ServerFrames, AreOnlyHeadersWhenTheCallIsTaken) {
  start_recording();
  EXPECT_TRUE(of_type(say(request(1, kMethod)), FrameType::kHeaders).empty());
  EXPECT_TRUE(
      of_type(say(frame(FrameType::kData, 0, 1, message("hello"))), FrameType::kHeaders).empty());
  ASSERT_TRUE(call_);
  call_->send_headers();
  const auto frames = hear();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].type, FrameType::kHeaders);
  EXPECT_EQ(frames[0].flags, kEndHeaders);
  EXPECT_EQ(frames[0].fields,
            (HeaderList{{":status", "200"}, {"content-type", "application/grpc"}}));
}

TEST_F(ServerFrames, EndEarlyWithTrailersAndThenAResetWithoutError) {
  start_recording();
  say(request(1, kMethod) + frame(FrameType::kData, 0, 1, message("hello")));
  call_->send({"answer"});
  call_->finish(failed(Code::kFailedPrecondition, "no"));
  const auto frames = hear();
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(frames[0].type, FrameType::kHeaders);
  EXPECT_EQ(frames[1].type, FrameType::kData);
  EXPECT_EQ(frames[1].payload, message("answer"));
  EXPECT_EQ(frames[2].type, FrameType::kHeaders);
  EXPECT_EQ(frames[2].flags, kEndHeaders | kEndStream);
  EXPECT_EQ(frames[2].fields, (HeaderList{{"grpc-status", "9"}, {"grpc-message", "no"}}));
  EXPECT_EQ(frames[3].type, FrameType::kReset);
  EXPECT_EQ(frames[3].code(), kNoErrorCode);
  EXPECT_EQ(events_.finished, 1);
}

TEST_F(ServerFrames, EndWithoutAResetWhenTheClientHasSaidAll) {
  start_recording();
  say(request(1, kMethod) + frame(FrameType::kData, kEndStream, 1, message("hello")));
  call_->finish({});
  const auto frames = hear();
  ASSERT_EQ(frames.size(), 1U) << "trailers only";
  EXPECT_EQ(frames[0].flags, kEndHeaders | kEndStream);
  EXPECT_EQ(
      frames[0].fields,
      (HeaderList{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "0"}}));
}

TEST_F(ServerFrames, RefuseRequestsThatAreNotGrpcs) {
  start_recording();
  auto answer_to = [this, stream = 1U](const std::string& changed,
                                       const std::string& value) mutable {
    HeaderList fields = request_fields(kMethod);
    std::erase_if(fields, [&](const auto& entry) { return entry.first == changed; });
    if (!value.empty())
      fields.insert(changed.starts_with(':') ? fields.begin() : fields.end(), {changed, value});
    const auto frames = of_type(say(frame(FrameType::kHeaders, kEndHeaders, stream, block(fields))),
                                FrameType::kHeaders);
    stream += 2;
    if (frames.empty()) return std::string("(taken)");
    return field(frames[0], ":status") + " " + field(frames[0], "grpc-status");
  };
  EXPECT_EQ(answer_to(":method", "GET"), "405 (none)");
  EXPECT_EQ(answer_to("content-type", "application/json"), "415 (none)");
  EXPECT_EQ(answer_to("content-type", ""), "415 (none)");
  EXPECT_EQ(answer_to("content-type", "application/grpcx"), "415 (none)");
  EXPECT_EQ(answer_to("content-type", "application/grpc-web"), "415 (none)");
  EXPECT_EQ(answer_to(":path", "/test.Service/Unknown"), "200 12");
  EXPECT_EQ(answer_to("grpc-timeout", "100"), "200 13");
  EXPECT_EQ(answer_to("grpc-timeout", "123456789S"), "200 13");
  EXPECT_EQ(answer_to("content-type", "application/grpc+proto"), "(taken)");
  EXPECT_EQ(answer_to("content-type", "application/grpc;charset=utf-8"), "(taken)");
  EXPECT_EQ(answer_to("grpc-timeout", "10S"), "(taken)");
}

TEST_F(ServerFrames, SayWhichEncodingsAreTaken) {
  start_recording();
  HeaderList fields = request_fields(kMethod);
  fields.emplace_back("grpc-encoding", "snappy");
  const auto frames = say(frame(FrameType::kHeaders, kEndHeaders, 1, block(fields)));
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(field(frames[0], "grpc-status"), "12");
  EXPECT_EQ(field(frames[0], "grpc-accept-encoding"), "identity,gzip");

  const auto compressed = say(request(3, kMethod) + frame(FrameType::kData, 0, 3, message("x", 1)));
  ASSERT_FALSE(compressed.empty());
  EXPECT_EQ(field(compressed[0], "grpc-status"), "13") << "a flag without an encoding";
}

TEST_F(ServerFrames, RefuseHeaderListsAboveTheLimit) {
  start_recording();
  HeaderList fields = request_fields(kMethod);
  fields.emplace_back("large", std::string(std::size_t{16} * 1024, 'x'));
  const std::string whole = block(fields);
  const auto frames = say(frame(FrameType::kHeaders, 0, 1, whole.substr(0, 10'000)) +
                          frame(FrameType::kContinuation, kEndHeaders, 1, whole.substr(10'000)));
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(field(frames[0], "grpc-status"), "8");
  EXPECT_EQ(field(of_type(say(request(3, "/unknown")), FrameType::kHeaders).at(0), "grpc-status"),
            "12")
      << "the connection goes on";
}

TEST_F(ServerFrames, CutTheMessageToThePeersLimit) {
  start_recording();
  say(settings({{6, 300}}));
  say(request(1, kMethod) + frame(FrameType::kData, 0, 1, message("hello")));
  call_->finish(failed(Code::kInternal, std::string(1000, 'x')));
  const auto frames = hear();
  std::size_t size = 0;
  for (const auto& [name, value] : frames.at(0).fields) size += name.size() + value.size() + 32;
  EXPECT_LE(size, 300U);
  EXPECT_GT(field(frames[0], "grpc-message").size(), 50U);
}

TEST_F(ServerFrames, OpenTheWindowOnlyForWhatTheHandlerTook) {
  start_recording();
  say(request(1, kMethod) + frame(FrameType::kData, 0, 1, message("first")));
  // More than half of the window, in frames of 16 KiB, and nobody wants it.
  std::string flood;
  const std::string body(16'000, 'x');
  for (int count = 0; count < 40; ++count) flood += frame(FrameType::kData, 0, 1, message(body));
  EXPECT_TRUE(of_type(say(flood), FrameType::kWindowUpdate).empty());
  for (int count = 0; count < 41; ++count) call_->want();
  EXPECT_EQ(events_.messages.size(), 41U);
  const auto updates = of_type(hear(), FrameType::kWindowUpdate);
  ASSERT_FALSE(updates.empty());
  EXPECT_EQ(updates[0].stream, 1U);
}

TEST_F(ServerFrames, OpenTheWindowWhileALargeMessageIsWanted) {
  start_recording();
  say(request(1, kMethod));
  std::string rest = message(std::string(3 * kMiB, 'x'));
  std::size_t window = kMiB;
  while (!rest.empty()) {
    ASSERT_GT(window, 0U) << "the window never opens again";
    const std::string part = rest.substr(0, std::min<std::size_t>(16'000, window));
    rest.erase(0, part.size());
    window -= part.size();
    for (const Frame& update :
         of_type(say(frame(FrameType::kData, 0, 1, part)), FrameType::kWindowUpdate))
      if (update.stream == 1) window += update.code();
  }
  ASSERT_TRUE(call_);
  call_->want();
  EXPECT_EQ(events_.messages.at(0).size(), 3 * kMiB);
}

TEST_F(ServerFrames, GiveTheConnectionsWindowBackWhenAStreamEndsUnread) {
  start_recording();
  const std::string body(16'000, 'x');
  std::size_t given = 0;
  for (std::uint32_t round = 0; round < 10; ++round) {
    const std::uint32_t stream = 1 + 2 * round;
    say(request(stream, kMethod) + frame(FrameType::kData, 0, stream, message("first")));
    std::string flood;
    for (int count = 0; count < 50; ++count)
      flood += frame(FrameType::kData, 0, stream, message(body));
    auto frames = say(flood);
    for (const Frame& next : say(frame(FrameType::kReset, 0, stream, number(kCancelCode, 4))))
      frames.push_back(next);
    for (const Frame& update : of_type(frames, FrameType::kWindowUpdate))
      if (update.stream == 0) given += update.code();
  }
  EXPECT_GT(given, 4 * kMiB) << "10 times 800 KB were sent";
}

TEST_F(ServerFrames, NeverExceed16KiB) {
  start_recording();
  say(settings({{4, 10 * 1024 * 1024}, {5, 1024 * 1024}}));
  say(frame(FrameType::kWindowUpdate, 0, 0, number(10 * kMiB, 4)));
  say(request(1, kMethod) + frame(FrameType::kData, 0, 1, message("hello")));
  call_->send({std::string(kMiB, 'x')});
  std::size_t total = 0;
  for (const Frame& data : of_type(hear(), FrameType::kData)) {
    EXPECT_LE(data.payload.size(), 16 * kKiB);
    total += data.payload.size();
  }
  EXPECT_EQ(total, kMiB + 5);
}

TEST_F(ServerFrames, WaitForTheClientsWindow) {
  start_recording();
  say(settings({{4, 10}}));
  say(request(1, kMethod) + frame(FrameType::kData, 0, 1, message("hello")));
  call_->send({"0123456789"});
  call_->finish({});
  const auto frames = hear();
  const auto data = of_type(frames, FrameType::kData);
  ASSERT_EQ(data.size(), 1U);
  EXPECT_EQ(data[0].payload, message("0123456789").substr(0, 10));
  EXPECT_EQ(of_type(frames, FrameType::kHeaders).size(), 1U) << "no trailers yet";
  const auto rest = say(frame(FrameType::kWindowUpdate, 0, 1, number(100, 4)));
  EXPECT_EQ(of_type(rest, FrameType::kData).at(0).payload, "56789");
  EXPECT_EQ(of_type(rest, FrameType::kHeaders).size(), 1U);
}

TEST_F(ServerFrames, AnswerPingsAtOnce) {
  start_recording();
  const auto frames = say(frame(FrameType::kPing, 0, 0, "12345678"));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].flags, kAck);
  EXPECT_EQ(frames[0].payload, "12345678");
}

TEST_F(ServerFrames, TolerateTheBandwidthPingsOfGrpc) {
  start_recording();
  for (int count = 0; count < 500; ++count)
    EXPECT_EQ(of_type(say(frame(FrameType::kPing, 0, 0, "12345678")), FrameType::kPing).size(), 1U);
  EXPECT_FALSE(session_->is_over());
}

boost::asio::awaitable<Outcome> read_all(ServerStream call) {
  std::optional<std::string> message;
  do message = co_await call.read();
  while (message);
  co_return Outcome{};
}

TEST_F(ServerFrames, EndACoroutineThatLearnsOfTheEndWithoutEverWaiting) {
  Handlers handlers;
  handlers.add(kMethod, coroutine(read_all));
  start(std::move(handlers));
  std::vector<Frame> frames;
  boost::asio::post(context_, [&] {
    frames = say(request(1, kMethod) +
                 frame(FrameType::kData, 0, 1, message("good") + message("bad", 2)));
  });
  context_.poll();
  ASSERT_FALSE(of_type(frames, FrameType::kHeaders).empty());
  EXPECT_EQ(field(of_type(frames, FrameType::kHeaders)[0], "grpc-status"), "13");
}

TEST_F(ServerFrames, DrainInTwoSteps) {
  start_recording();
  say(request(1, kMethod) + frame(FrameType::kData, 0, 1, message("hello")));
  session_->drain();
  const auto first = hear();
  const auto notice = of_type(first, FrameType::kGoAway);
  ASSERT_EQ(notice.size(), 1U);
  EXPECT_EQ(notice[0].code(), 0x7fffffffU);
  const auto ping = of_type(first, FrameType::kPing);
  ASSERT_EQ(ping.size(), 1U);
  // A request that was under way is still taken.
  say(request(3, kMethod) + frame(FrameType::kData, 0, 3, message("late")));
  const auto last =
      of_type(say(frame(FrameType::kPing, kAck, 0, ping[0].payload)), FrameType::kGoAway);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].code(), 3U);
  EXPECT_FALSE(session_->is_over());
  say(frame(FrameType::kReset, 0, 1, number(kCancelCode, 4)));
  EXPECT_FALSE(session_->is_over());
  say(frame(FrameType::kReset, 0, 3, number(kCancelCode, 4)));
  EXPECT_TRUE(session_->is_over());
}

TEST_F(ServerFrames, RefuseAStreamBeyondTheLimitThatTheClientCouldNotKnow) {
  acknowledges_settings_ = false;
  start_recording();
  for (std::uint32_t count = 0; count < 100; ++count)
    EXPECT_TRUE(of_type(say(request(1 + 2 * count, kMethod)), FrameType::kReset).empty());
  const auto refused = of_type(say(request(201, kMethod)), FrameType::kReset);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].stream, 201U);
  EXPECT_EQ(refused[0].code(), kRefusedCode);
  EXPECT_FALSE(session_->is_over());
}

TEST_F(ServerFrames, EndTheConnectionOfAClientThatIgnoresTheLimit) {
  start_recording();
  for (std::uint32_t count = 0; count < 100; ++count) say(request(1 + 2 * count, kMethod));
  EXPECT_EQ(of_type(say(request(201, kMethod)), FrameType::kGoAway).size(), 1U);
  EXPECT_TRUE(session_->is_over());
  EXPECT_NE(session_->failure(), "");
}

// --- our client, this test is the server ---

class HandConnector final : public Connector {
 public:
  HandConnector(std::vector<std::shared_ptr<Session>>* sessions, HttpLimits limits)
      : sessions_(sessions), limits_(std::move(limits)) {}

  Result<std::shared_ptr<HttpConnection>> connect(
      const std::string& url, std::shared_ptr<HttpConnection::Owner> owner) override {
    auto session = std::make_shared<Session>(Role::kClient, limits_,
                                             std::make_shared<Peer>(Peer{.address = url}),
                                             Origin{"http", "test:1"}, [] {});
    session->set_owner(std::move(owner));
    sessions_->push_back(session);
    return session;
  }

 private:
  std::vector<std::shared_ptr<Session>>* sessions_;
  HttpLimits limits_;
};

class ClientFrames : public ::testing::Test {
 protected:
  std::shared_ptr<ClientCall> call(CallOptions options = {}) {
    auto made = channel_.call(kMethod, std::move(options));
    made->start(events_.tell());
    if (sessions_.size() == 1 && !is_connected_) {
      is_connected_ = true;
      sessions_[0]->owner()->on_connected();
      hear();
      say(settings());
    }
    return made;
  }

  std::vector<Frame> say(std::string_view bytes) {
    sessions_.back()->receive(bytes);
    return hear();
  }
  std::vector<Frame> hear() {
    std::string out;
    sessions_.back()->produce(out, 100 * kMiB);
    return reader_->push(out);
  }

  static std::string answer_head(std::uint32_t stream, HeaderList more = {},
                                 std::uint8_t flags = kEndHeaders) {
    HeaderList fields = {{":status", "200"}, {"content-type", "application/grpc"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return frame(FrameType::kHeaders, flags, stream, block(fields));
  }
  static std::string trailers(std::uint32_t stream, const HeaderList& fields) {
    return frame(FrameType::kHeaders, kEndHeaders | kEndStream, stream, block(fields));
  }

  boost::asio::io_context context_;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::unique_ptr<FrameReader> reader_ = std::make_unique<FrameReader>(true);
  bool is_connected_ = false;
  Events events_;
  Channel channel_{context_.get_executor(),
                   std::make_unique<HandConnector>(&sessions_, HttpLimits{}),
                   {.urls = {"by hand"}}};
};

TEST_F(ClientFrames, SayAllThatPeersExpect) {
  const auto calling =
      channel_.call(kMethod, {.metadata = {{"mine", "x"}}, .timeout = std::chrono::seconds(10)});
  calling->start(events_.tell());
  sessions_.at(0)->owner()->on_connected();
  calling->send({"hello"});
  calling->half_close();
  const auto frames = hear();
  const auto heads = of_type(frames, FrameType::kHeaders);
  ASSERT_EQ(heads.size(), 1U) << "sent without waiting for the server's settings";
  EXPECT_EQ(field(heads[0], ":method"), "POST");
  EXPECT_EQ(field(heads[0], ":path"), kMethod);
  EXPECT_EQ(field(heads[0], ":scheme"), "http");
  EXPECT_EQ(field(heads[0], ":authority"), "test:1");
  EXPECT_EQ(field(heads[0], "te"), "trailers");
  EXPECT_EQ(field(heads[0], "content-type"), "application/grpc");
  EXPECT_TRUE(field(heads[0], "user-agent").starts_with("tiphys/0."));
  EXPECT_EQ(field(heads[0], "grpc-accept-encoding"), "identity,gzip");
  EXPECT_EQ(field(heads[0], "grpc-encoding"), "(none)");
  EXPECT_EQ(field(heads[0], "mine"), "x");
  const std::string timeout = field(heads[0], "grpc-timeout");
  EXPECT_TRUE(timeout.ends_with('u') && timeout.size() <= 9) << timeout;
  const auto data = of_type(frames, FrameType::kData);
  ASSERT_EQ(data.size(), 1U) << "the hello does not wait for the server's head";
  EXPECT_EQ(data[0].payload, message("hello"));
  EXPECT_EQ(data[0].flags, kEndStream);
}

TEST_F(ClientFrames, TakeTheStatusFromTrailersDespiteTheReset) {
  call()->send({"hello"});
  hear();
  say(answer_head(1) + trailers(1, {{"grpc-status", "9"}, {"grpc-message", "no"}}) +
      frame(FrameType::kReset, 0, 1, number(kNoErrorCode, 4)));
  EXPECT_EQ(events_.ending(), "FAILED_PRECONDITION: no");
}

TEST_F(ClientFrames, GiveUpAStreamThatTheServerHasEnded) {
  call()->send({"hello"});
  hear();
  const auto frames = say(answer_head(1, {{"grpc-status", "0"}}, kEndHeaders | kEndStream));
  EXPECT_EQ(events_.ending(), "");
  ASSERT_EQ(of_type(frames, FrameType::kReset).size(), 1U);
  EXPECT_EQ(of_type(frames, FrameType::kReset)[0].code(), kCancelCode);
}

TEST_F(ClientFrames, KnowWhatEveryResetMeans) {
  std::uint32_t stream = 1;
  for (const auto& [code, expected] :
       std::vector<std::pair<std::uint32_t, Code>>{{0, Code::kInternal},
                                                   {1, Code::kInternal},
                                                   {2, Code::kInternal},
                                                   {3, Code::kInternal},
                                                   {5, Code::kInternal},
                                                   {8, Code::kCancelled},
                                                   {9, Code::kInternal},
                                                   {10, Code::kInternal},
                                                   {11, Code::kResourceExhausted},
                                                   {12, Code::kPermissionDenied},
                                                   {13, Code::kInternal}}) {
    SCOPED_TRACE(code);
    events_ = {};
    call()->send({"hello"});
    hear();
    say(frame(FrameType::kReset, 0, stream, number(code, 4)));
    EXPECT_EQ(events_.code(), expected);
    stream += 2;
  }
}

TEST_F(ClientFrames, TakeACancellationAtTheDeadlineForTheDeadline) {
  call({.timeout = Duration(1)})->send({"hello"});
  hear();
  say(frame(FrameType::kReset, 0, 1, number(kCancelCode, 4)));
  EXPECT_EQ(events_.code(), Code::kDeadlineExceeded);
}

TEST_F(ClientFrames, TryARefusedCallAgainAndGiveUpInTheEnd) {
  call()->send({"hello"});
  hear();
  for (std::uint32_t attempt = 0; attempt < 4; ++attempt) {
    const auto again = say(frame(FrameType::kReset, 0, 1 + 2 * attempt, number(kRefusedCode, 4)));
    ASSERT_EQ(of_type(again, FrameType::kHeaders).size(), 1U) << "attempt " << attempt;
    EXPECT_EQ(of_type(again, FrameType::kData).at(0).payload, message("hello"));
    EXPECT_EQ(events_.finished, 0);
  }
  say(frame(FrameType::kReset, 0, 9, number(kRefusedCode, 4)));
  EXPECT_EQ(events_.code(), Code::kUnavailable);
}

TEST_F(ClientFrames, TellThatThereIsRoomAfterACallWasTriedAgain) {
  HttpLimits limits;
  limits.send_queue = 100;
  Channel channel(context_.get_executor(), std::make_unique<HandConnector>(&sessions_, limits),
                  {.urls = {"by hand"}});
  const auto calling = channel.call(kMethod);
  calling->start(events_.tell());
  sessions_.at(0)->owner()->on_connected();
  hear();
  say(settings({{4, 10}}));  // a window of ten bytes
  EXPECT_FALSE(calling->send({std::string(200, 'x')}));
  hear();
  say(frame(FrameType::kReset, 0, 1, number(kRefusedCode, 4)));
  EXPECT_EQ(events_.writable, 0) << "the new stream has the same bytes to send";
  say(frame(FrameType::kWindowUpdate, 0, 3, number(1000, 4)));
  EXPECT_EQ(events_.writable, 1);
}

TEST_F(ClientFrames, GoToAnotherConnectionAboveTheLastStreamOnly) {
  Events second;
  const auto first_call = call();
  first_call->send({"one"});
  const auto second_call = channel_.call(kMethod);
  second_call->start(second.tell());
  second_call->send({"two"});
  hear();
  sessions_[0]->receive(frame(FrameType::kGoAway, 0, 0, number(1, 4) + number(kNoErrorCode, 4)));
  ASSERT_EQ(sessions_.size(), 2U) << "the call above the last stream needs a new connection";
  EXPECT_EQ(events_.finished, 0);
  EXPECT_EQ(second.finished, 0);
  // The first goes on where it is.
  sessions_[0]->receive(answer_head(1) + frame(FrameType::kData, 0, 1, message("done")) +
                        trailers(1, {{"grpc-status", "0"}}));
  first_call->want();
  EXPECT_EQ(events_.messages, std::vector<std::string>{"done"});
  EXPECT_EQ(events_.ending(), "");
  // The second is sent again, whole.
  sessions_[1]->owner()->on_connected();
  reader_ = std::make_unique<FrameReader>(true);
  const auto frames = hear();
  EXPECT_EQ(of_type(frames, FrameType::kData).at(0).payload, message("two"));
}

TEST_F(ClientFrames, DoNotTryAgainWhatTheServerMayHaveSeen) {
  call()->send({"hello"});
  hear();
  say(frame(FrameType::kGoAway, 0, 0, number(1, 4) + number(kNoErrorCode, 4)));
  EXPECT_EQ(events_.finished, 0);
  sessions_[0]->lost("");
  EXPECT_EQ(events_.code(), Code::kUnavailable);
  EXPECT_EQ(sessions_.size(), 1U);
}

TEST_F(ClientFrames, EndUnavailableWhenTheConnectionIsLost) {
  call()->send({"hello"});
  hear();
  sessions_[0]->lost("Connection reset by peer");
  EXPECT_EQ(events_.ending(), "UNAVAILABLE: Connection reset by peer");
}

TEST_F(ClientFrames, AreUnknownWithoutAStatus) {
  call()->send({"hello"});
  hear();
  say(answer_head(1) + trailers(1, {{"x", "y"}}));
  EXPECT_EQ(events_.code(), Code::kUnknown);
  events_ = {};
  call()->send({"hello"});
  hear();
  say(answer_head(3) + frame(FrameType::kData, kEndStream, 3, message("x")));
  EXPECT_EQ(events_.finished, 0) << "a message comes first";
}

TEST_F(ClientFrames, MapPlainHttpAnswers) {
  std::uint32_t stream = 1;
  for (const auto& [status, code] :
       std::vector<std::pair<std::string, Code>>{{"404", Code::kUnimplemented},
                                                 {"503", Code::kUnavailable},
                                                 {"500", Code::kUnknown},
                                                 {"401", Code::kUnauthenticated}}) {
    events_ = {};
    call()->send({"hello"});
    hear();
    say(frame(FrameType::kHeaders, kEndHeaders | kEndStream, stream, block({{":status", status}})));
    EXPECT_EQ(events_.code(), code) << status;
    stream += 2;
  }
  events_ = {};
  call()->send({"hello"});
  hear();
  say(frame(FrameType::kHeaders, kEndHeaders, stream,
            block({{":status", "200"}, {"content-type", "text/html"}})));
  EXPECT_EQ(events_.code(), Code::kUnknown);
}

TEST_F(ClientFrames, TakeNoPush) {
  const auto calling = channel_.call(kMethod);
  calling->start(events_.tell());
  sessions_.at(0)->owner()->on_connected();
  const auto sent = of_type(hear(), FrameType::kSettings);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].payload, settings({{2, 0}, {4, 1024 * 1024}, {6, 16 * 1024}}).substr(9));
}

TEST_F(ClientFrames, CancelWithAReset) {
  const auto calling = call();
  calling->send({"hello"});
  hear();
  calling->cancel();
  const auto resets = of_type(hear(), FrameType::kReset);
  ASSERT_EQ(resets.size(), 1U);
  EXPECT_EQ(resets[0].code(), kCancelCode);
}

}  // namespace
}  // namespace tiphys::rpc::http2
