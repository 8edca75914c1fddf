#pragma once

// What one peer may cost us. Every limit is an option; limits_test.cc keeps the defaults as they are promised.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/instant.h"

namespace tiphys::rpc {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// Received bytes that no handler has taken yet, of all calls that share it: those of one listener or channel, unless a
// program gives the same budget to several. All on one executor.
class ReceiveBudget {
 public:
  explicit ReceiveBudget(std::size_t limit = 256 * kMiB) : free_(limit) {}
  [[nodiscard]] bool take(std::size_t bytes) {
    if (bytes > free_) return false;
    free_ -= bytes;
    return true;
  }
  void give_back(std::size_t bytes) { free_ += bytes; }

 private:
  std::size_t free_;
};

// Of one HTTP connection.
struct HttpLimits {
  std::size_t field_list = 16 * kKiB;
  // For single fields of more than 4 KiB while they are received, of all connections that share these limits: nghttp2
  // makes room for up to 128 KiB as soon as the length is announced.
  std::shared_ptr<ReceiveBudget> field_budget = std::make_shared<ReceiveBudget>(2 * kMiB);
  std::uint32_t streams = 100;
  std::uint32_t stream_window = 1 * kMiB;
  std::uint32_t connection_window = 4 * kMiB;
  std::size_t send_queue = 1 * kMiB;  // per stream
  // Resets, pings and settings: so many at once, and so many a second from then on.
  std::uint32_t control_burst = 1000;
  std::uint32_t control_rate = 100;
  Duration handshake = std::chrono::seconds(10);  // until TLS, preface and settings are there
  Duration stall = std::chrono::seconds(60);      // queued bytes that the peer does not take
  // Zero: no pings of ours. Else one after so much silence, or after three quarters of it together with something else that
  // is sent; the connection is dead after as much again.
  Duration keepalive = Duration::zero();
};

// Of one call.
struct CallLimits {
  std::size_t message = 64 * kMiB;
  // A server logs each message that it sends and that is larger: there are clients that will refuse it. Zero: never.
  std::size_t warn_above = 0;
  Duration first_message = std::chrono::seconds(10);  // from the request's head on; servers only
  std::shared_ptr<ReceiveBudget> budget = std::make_shared<ReceiveBudget>();
};

}  // namespace tiphys::rpc
