#pragma once

// A client's way to a server, which may have several addresses. It connects when a call needs it, tries the addresses
// in turn, waits longer after each round in vain, and moves on when the server goes away.
//
//   idle --call--> connecting --connected--> ready --lost, going away--> idle
//                     |   ^
//                     |   | back-off over, if a call waits
//                     v   |
//                    waiting

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "io/rpc/client_call.h"
#include "io/rpc/http_stream.h"
#include "io/rpc/limits.h"

namespace tiphys::rpc {

// Makes connections to addresses of its own kind.
class Connector {
 public:
  virtual ~Connector() = default;
  // Begins; the owner is told on_connected, or on_closed with the reason, later. An error when the address is malformed.
  virtual Result<std::shared_ptr<HttpConnection>> connect(
      const std::string& url, std::shared_ptr<HttpConnection::Owner> owner) = 0;
};

struct BackOff {
  Duration first = std::chrono::seconds(1);
  double factor = 1.6;
  Duration longest = std::chrono::seconds(30);
  double jitter = 0.2;  // of the time, to either side
};

struct ChannelOptions {
  std::vector<std::string> urls;
  BackOff back_off = {};
  CallLimits limits = {};
};

class Channel {
 public:
  Channel(const boost::asio::any_io_executor& executor, std::unique_ptr<Connector> connector,
          ChannelOptions options);
  // Calls that run go on; those that wait for a connection end with UNAVAILABLE.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The call begins with its start().
  [[nodiscard]] std::shared_ptr<ClientCall> call(std::string method, CallOptions options = {});

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace tiphys::rpc
