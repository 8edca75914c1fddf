// What a connection on a real socket does with time.

#include "io/rpc/http2/connection.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <list>

#include "io/rpc/http2/test_frames.h"
#include "io/rpc/test_world.h"

namespace tiphys::rpc::http2 {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr const char* kMethod = "/test.Service/Method";

// Accepts one connection, sends settings, and counts the pings that it gets; says nothing else unless told to answer them.
struct SilentServer {
  explicit SilentServer(asio::io_context& context)
      : acceptor(context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        socket(context) {
    acceptor.async_accept(socket, [this](const boost::system::error_code& error) {
      if (error) return;
      asio::write(socket, asio::buffer(settings()));
      read();
    });
  }
  void read() {
    socket.async_read_some(asio::buffer(bytes),
                           [this](const boost::system::error_code& error, std::size_t size) {
                             if (error) {
                               is_closed = true;
                               return;
                             }
                             count(reader.push(std::string_view(bytes.data(), size)));
                             read();
                           });
  }
  void count(const std::vector<Frame>& frames) {
    bool has_data = false;
    for (const Frame& next : frames) {
      has_data |= next.type == FrameType::kData;
      if (next.type != FrameType::kPing) continue;
      ++pings;
      if (has_data) ++pings_with_messages;
      if (answers_pings)
        asio::write(socket, asio::buffer(frame(FrameType::kPing, kAck, 0, next.payload)));
    }
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  }

  asio::ip::tcp::acceptor acceptor;
  asio::ip::tcp::socket socket;
  std::array<char, 4096> bytes{};
  FrameReader reader{true};
  bool answers_pings = false;
  int pings = 0;
  int pings_with_messages = 0;  // behind one in a packet
  bool is_closed = false;
};

// --- connecting ---

std::size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Connecting, GivesUpAHostThatDoesNotAnswerAndKeepsNothingOfIt) {
  World world(Backend::kPlain);
  world.http_limits.handshake = 30ms;
  world.start({});
  // Whoever comes when the queue is full is not answered at all.
  asio::ip::tcp::acceptor deaf(world.context,
                               asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  deaf.listen(0);
  std::list<asio::ip::tcp::socket> waiting;
  for (int count = 0; count < 5; ++count) {
    waiting.emplace_back(world.context);
    waiting.back().async_connect(deaf.local_endpoint(), [](const boost::system::error_code&) {});
  }
  world.channel =
      world.connect({"http://127.0.0.1:" + std::to_string(deaf.local_endpoint().port())});
  const std::size_t before = open_descriptors();
  const auto answer = world.run(unary(*world.channel, kMethod, {"x"}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), (Error{Code::kUnavailable, "no HTTP/2 connection was made in time"}));
  EXPECT_EQ(open_descriptors(), before);
}

// --- keepalive ---

TEST(Keepalive, IsOffUnlessItIsAskedFor) { EXPECT_EQ(HttpLimits{}.keepalive, Duration::zero()); }

TEST(Keepalive, FindsAPeerThatIsDead) {
  Events events;
  World world(Backend::kPlain);
  world.http_limits.keepalive = 20ms;
  world.start({});
  SilentServer silent(world.context);
  world.channel = world.connect({silent.url()});
  const auto call = world.channel->call(kMethod);
  call->start(events.tell());
  call->send({"hello"});
  ASSERT_TRUE(world.until([&] { return events.finished > 0 && silent.is_closed; }));
  EXPECT_EQ(events.ending(), "UNAVAILABLE: the peer does not answer pings");
  EXPECT_EQ(silent.pings, 1);
}

TEST(Keepalive, AsksTogetherWithWhatIsSentAnyway) {
  constexpr int kPings = 10;
  Events events;
  World world(Backend::kPlain);
  world.http_limits.keepalive = 100ms;
  world.start({});
  SilentServer silent(world.context);
  silent.answers_pings = true;
  world.channel = world.connect({silent.url()});
  const auto call = world.channel->call(kMethod);
  call->start(events.tell());
  asio::steady_timer timer(world.context);
  const std::function<void()> speak = [&] {
    call->send({"hello"});
    timer.expires_after(5ms);
    timer.async_wait([&](const boost::system::error_code& error) {
      if (!error) speak();
    });
  };
  speak();
  ASSERT_TRUE(world.until([&] { return silent.pings == kPings || events.finished > 0; }));
  timer.cancel();
  EXPECT_EQ(events.finished, 0) << events.ending();
  // A machine that stands still for a moment may miss one.
  EXPECT_GT(silent.pings_with_messages, kPings / 2);
}

TEST(Keepalive, LeavesAPeerAloneThatAnswers) {
  Events events;
  Events on_server;
  World world(Backend::kPlain);
  std::shared_ptr<ServerCall> served;
  world.http_limits.keepalive = 50ms;  // on both sides
  Handlers handlers;
  handlers.add(kMethod, {.take = [&](std::shared_ptr<ServerCall> call) {
                 served = std::move(call);
                 served->start(on_server.tell());
               }});
  world.start(std::move(handlers));
  const auto call = world.channel->call(kMethod);
  call->start(events.tell());
  call->send({"hello"});
  ASSERT_TRUE(world.until([&] { return served != nullptr; }));
  world.context.restart();
  world.context.run_for(300ms);
  EXPECT_EQ(events.finished, 0) << events.ending();
  EXPECT_EQ(on_server.finished, 0);
  served->finish({});
  ASSERT_TRUE(world.until([&] { return events.finished > 0; }));
  EXPECT_EQ(events.ending(), "");
}

}  // namespace
}  // namespace tiphys::rpc::http2
