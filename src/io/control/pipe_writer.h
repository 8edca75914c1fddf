#pragma once

// Writes messages into the `input` pipe of a workload, in order, and never waits long for it: one that does not read loses
// messages. On one executor's thread.
//
// The pipe is opened when the first message comes. Without a reader a message is tried six times, 100 ms apart; a pipe that
// is full has 500 ms to take some of it. Then the message is lost, and the next one has its chance. A message of which a part
// stands in the pipe already is still written to its end, or the reader could not tell where the next one begins.
//
// The pipe holds one message at a time, and all of it. The Ankaios SDK for Python needs both: it takes whatever stands in the
// pipe, looks at one message of it and waits for the pipe again, so what came together with that message is not seen until
// another one comes; and it takes a moment without bytes for the end of a message. So the pipe grows for a large message, and
// a message waits until the one before is read, unless too many wait already.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "core/agent/control_interfaces.h"

namespace tiphys::control {

inline constexpr Duration kRetryPause = std::chrono::milliseconds(100);
inline constexpr int kMaxRetries = 5;
inline constexpr Duration kFullPipePatience = std::chrono::milliseconds(500);
// Between two looks whether a message is read; each pause is twice the one before.
inline constexpr Duration kShortestLook = std::chrono::microseconds(100);
inline constexpr Duration kLongestLook = std::chrono::milliseconds(100);
// The most that a pipe is made to hold; more is what Linux by default grants no ordinary user.
inline constexpr std::size_t kLargestPipe = std::size_t{1} << 20U;
// What may wait; a single message may be larger.
inline constexpr std::size_t kMaxWaitingMessages = 1024;
inline constexpr std::size_t kMaxWaitingBytes = std::size_t{4} << 20U;

class PipeWriter : public std::enable_shared_from_this<PipeWriter> {
 public:
  PipeWriter(const boost::asio::any_io_executor& executor, std::string path,
             std::function<void(agent::Undelivered)> lost);

  // `label` is told if the frame is lost, perhaps at once.
  void send(agent::Undelivered label, std::string frame);
  // `done` is called once nothing waits any more, perhaps at once.
  void finish(std::function<void()> done);
  void close();

 private:
  struct Waiting {
    agent::Undelivered label;
    std::string frame;
    std::size_t written = 0;
    int failures = 0;
  };
  enum class Progress : std::uint8_t { kSome, kFull, kNoReader };

  void write_all();
  [[nodiscard]] bool open();
  [[nodiscard]] Progress write_some();
  [[nodiscard]] bool many_wait() const;
  // Whether the next message is to wait for the one before.
  [[nodiscard]] bool is_unread();
  void look_later();
  void make_room();
  void no_reader();
  void full();
  void give_up();
  void lose_front();
  void drop_pipe();

  const std::string path_;
  const std::function<void(agent::Undelivered)> lost_;
  boost::asio::posix::stream_descriptor pipe_;
  boost::asio::steady_timer timer_;
  std::uint64_t generation_ = 0;  // of the wait under way; the answer of an earlier one is stale
  bool is_waiting_ = false;       // for a reader or for room
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::string begun_;  // the rest of a message that was given up
  // Of the wait for a message to be read.
  std::size_t unread_ = 0;
  Duration pause_ = kShortestLook;
  bool is_looking_ = false;
  std::function<void()> done_;
};

}  // namespace tiphys::control
