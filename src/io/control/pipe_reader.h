#pragma once

// Reads what a workload writes into its `output` pipe, message by message: after each that is told nothing is read until
// read_on(), and the pipe fills. On one executor's thread.
//
// The end of the file is only the end of one writer: the pipe is opened again, and a message that was cut off is forgotten.
// A pipe that is gone or no pipe any more is looked for again and again, ever more slowly.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "core/agent/control_interfaces.h"
#include "io/control/frames.h"

namespace tiphys::control {

inline constexpr Duration kFirstReopenPause = std::chrono::milliseconds(100);
inline constexpr Duration kLongestReopenPause = std::chrono::seconds(5);

class PipeReader : public std::enable_shared_from_this<PipeReader> {
 public:
  using Tell = std::function<void(agent::InterfaceEvent)>;  // Said, Unusable or Garbled

  PipeReader(const boost::asio::any_io_executor& executor, std::string path, Tell tell);

  // Once.
  Status start();
  void read_on();
  // Nothing more is told. The pipe stays open, so that a writer does not notice yet.
  void stop() { is_stopped_ = true; }
  void close();

 private:
  void listen();
  void look();
  void take(std::string_view bytes);
  void tell(agent::InterfaceEvent event);
  void reopen();
  [[nodiscard]] bool assign();

  const std::string path_;
  const Tell tell_;
  boost::asio::posix::stream_descriptor pipe_;
  boost::asio::steady_timer pause_;
  Duration next_pause_ = kFirstReopenPause;
  std::uint64_t generation_ = 0;  // of the open pipe; an event of an earlier one is stale
  FrameReader frames_;
  std::string rest_;  // that was read and stands behind the message that was told
  bool may_tell_ = true;
  bool is_stopped_ = false;
};

// What the bytes of one message say.
agent::InterfaceEvent event_of(std::string_view message);

}  // namespace tiphys::control
