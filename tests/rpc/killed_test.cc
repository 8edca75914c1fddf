// The other side dies at each of seven stages of a call, by closing its socket or by resetting it: our client's call ends
// with UNAVAILABLE, our server's handler hears CANCELLED, and the next call on a fresh connection works.

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "tests/rpc/arena.h"
#include "tests/rpc/raw_socket.h"

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGreet = "/test.Arena/Greet";

enum class Stage : std::uint8_t {
  kBeforePreface,
  kAfterSettings,
  kAfterHeaders,
  kInMessage,
  kAfterHalfClose,
  kBeforeTrailers,
  kWhileDraining,
};
constexpr Stage kStages[] = {Stage::kBeforePreface, Stage::kAfterSettings,  Stage::kAfterHeaders,
                             Stage::kInMessage,     Stage::kAfterHalfClose, Stage::kBeforeTrailers,
                             Stage::kWhileDraining};

enum class Death : std::uint8_t { kClose, kReset };

void die(RawSocket& peer, Death death) { death == Death::kClose ? peer.close() : peer.reset(); }

class Killed : public testing::TestWithParam<std::tuple<Stage, Death>> {};

std::string name_of(const testing::TestParamInfo<std::tuple<Stage, Death>>& parameters) {
  constexpr const char* kNames[] = {"BeforePreface",  "AfterSettings",  "AfterHeaders", "InMessage",
                                    "AfterHalfClose", "BeforeTrailers", "WhileDraining"};
  const auto [stage, death] = parameters.param;
  return std::string(kNames[static_cast<int>(stage)]) +
         (death == Death::kClose ? "Close" : "Reset");
}

// --- the client dies ---

// What it has said by then.
std::string said_until(Stage stage) {
  std::string said = client_hello();
  if (stage == Stage::kBeforePreface) return "";
  if (stage == Stage::kAfterSettings) return said;
  said += request_head(1, kGreet);
  if (stage == Stage::kInMessage)
    said += frame(FrameType::kData, 0, 1, message("whole").substr(0, 7));
  if (stage == Stage::kAfterHalfClose)
    said += frame(FrameType::kData, kEndStream, 1, message("whole"));
  return said;
}

TEST_P(Killed, ClientIsCancelledInTheHandler) {
  const auto [stage, death] = GetParam();
  Arena arena;
  arena.remember_quiet();
  RawSocket peer = arena.connect();
  ASSERT_TRUE(peer.send(said_until(stage)));
  const bool has_call = stage != Stage::kBeforePreface && stage != Stage::kAfterSettings;
  if (has_call) arena.await_open_calls(1);
  if (stage == Stage::kBeforeTrailers) {
    ASSERT_TRUE(peer.await_frame(FrameType::kData));
  }
  std::optional<std::future<void>> drained;
  if (stage == Stage::kWhileDraining) {
    drained = arena.close(1h);
    ASSERT_TRUE(peer.await_frame(FrameType::kGoAway));
  }
  die(peer, death);
  if (has_call) {
    EXPECT_EQ(arena.await_endings(1), std::vector{Code::kCancelled});
  }
  if (drained) {
    EXPECT_EQ(drained->wait_for(30s), std::future_status::ready);
  } else {
    arena.expect_quiet();
    arena.expect_honest_call();
  }
  // Whoever leaves, in whatever manner, does no wrong once it has spoken our protocol.
  if (has_call) {
    EXPECT_EQ(arena.log().lines(), std::vector<std::string>{});
  }
}

// --- the server dies ---

// Takes a connection and its first request, and answers as far as the stage goes.
void answer_until(RawSocket& peer, Stage stage) {
  if (stage == Stage::kBeforePreface) return;
  if (!peer.read_preface() || !peer.send(server_hello())) return;
  if (stage == Stage::kAfterSettings) return;
  if (!peer.await_frame(FrameType::kHeaders)) return;
  if (stage == Stage::kAfterHalfClose) {
    peer.await_end_of(1);
    return;
  }
  if (stage == Stage::kWhileDraining)
    peer.send(frame(FrameType::kGoAway, 0, 0, number(0x7FFF'FFFF, 4) + number(0, 4)));
  peer.send(frame(FrameType::kHeaders, kEndHeaders, 1, answer_block()));
  if (stage == Stage::kInMessage)
    peer.send(frame(FrameType::kData, 0, 1, message("whole").substr(0, 7)));
  if (stage == Stage::kBeforeTrailers) peer.send(frame(FrameType::kData, 0, 1, message("whole")));
}

void answer_well(RawSocket& peer) {
  ASSERT_TRUE(peer.read_preface());
  ASSERT_TRUE(peer.send(server_hello()));
  ASSERT_TRUE(peer.await_end_of(1));
  ASSERT_TRUE(
      peer.send(frame(FrameType::kHeaders, kEndHeaders, 1, answer_block()) +
                frame(FrameType::kData, 0, 1, message("answer")) +
                frame(FrameType::kHeaders, kEndHeaders | kEndStream, 1, trailers_block("0"))));
}

TEST_P(Killed, ServerIsUnavailable) {
  const auto [stage, death] = GetParam();
  RawListener listener;
  Loop loop;
  Client client(loop, {.url = listener.url()});
  Answer call = client.call("/test.Arena/Any", "request", {.timeout = 30s});
  // A request that certainly did not reach the server is sent again: then the next connection dies as well.
  while (call.wait_for(0s) != std::future_status::ready) {
    auto peer = listener.accept_if_there();
    if (!peer) continue;
    answer_until(*peer, stage);
    die(*peer, death);
  }
  const auto result = result_of(std::move(call));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kUnavailable) << describe(result);

  Answer next =
      client.call("/test.Arena/Any", "request", {.timeout = 30s, .waits_for_server = true});
  RawSocket peer = listener.accept();
  answer_well(peer);
  EXPECT_EQ(result_of(std::move(next)).value_or("nothing"), "answer");
}

INSTANTIATE_TEST_SUITE_P(Stages, Killed,
                         testing::Combine(testing::ValuesIn(kStages),
                                          testing::Values(Death::kClose, Death::kReset)),
                         name_of);

}  // namespace
}  // namespace tiphys::rpc
