#pragma once

// Where one coroutine waits until it is woken.

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/error_code.hpp>
#include <optional>

namespace tiphys::rpc {

class Signal {
 public:
  // Waits for the next raise(). Cancelling the coroutine ends the wait with an exception, as for any other operation. At
  // most one may wait.
  boost::asio::awaitable<void> wait();
  // Goes on with whoever waits, before this returns.
  void raise();

 private:
  void complete(const boost::system::error_code& error);

  // Optional, because assigning one handler to another does not work in Boost 1.81.
  std::optional<boost::asio::any_completion_handler<void(boost::system::error_code)>> waiting_;
  boost::asio::cancellation_slot slot_;
};

}  // namespace tiphys::rpc
