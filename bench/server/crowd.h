#pragma once

// Many peers of one server on one thread: agents and commanders, each with a connection of its own. What they say and
// hear is bytes, so that a measurement does not pay for reading what nobody looks at.

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/host/resolver.h"
#include "io/rpc/channel.h"
#include "model/messages.h"
#include "shell/workers.h"

namespace tiphys::bench {

class Crowd;

class CrowdPeer {
 public:
  void send(const ToServer& message);
  // What the server sends waits at the server from now on, as far as the windows of the connection do not hold it.
  void stop_reading() { is_reading_ = false; }
  // Ends the call without a word.
  void leave();

  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] std::size_t messages() const { return messages_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Hears each message; may be set at any time.
  std::function<void(std::string_view bytes)> on_message;

 private:
  friend class Crowd;
  explicit CrowdPeer(Crowd& crowd) : crowd_(crowd) {}
  void begin(std::string_view method, const ToServer& hello);
  void told(rpc::CallEvent event);

  Crowd& crowd_;
  std::unique_ptr<rpc::Channel> channel_;
  std::shared_ptr<rpc::ClientCall> call_;
  bool has_left_ = false;
  bool is_open_ = false;
  bool is_reading_ = true;
  std::size_t messages_ = 0;
  std::size_t bytes_ = 0;
};

class Crowd {
 public:
  // Of the server on this port of loopback.
  explicit Crowd(std::uint16_t port);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Begins a call; the peer lives as long as the crowd.
  CrowdPeer& agent(const std::string& name);
  CrowdPeer& commander();

  // Lets things happen until the condition holds; an error when a peer is sent away, or after a minute.
  Status run_until(const std::function<bool()>& condition);
  // The same until every peer is open.
  Status connected();
  // One request of this peer and its answer. Messages that are no answer to it are passed over.
  Result<Response> ask(CrowdPeer& peer, Request request);

 private:
  friend class CrowdPeer;
  struct Inline final : shell::Workers {
    void run(std::function<void()> work, std::function<void()> done) override;
  };
  CrowdPeer& add(std::string_view method, const ToServer& hello);

  const std::string url_;
  boost::asio::io_context context_{1};
  Inline workers_;
  host::Resolver resolver_{workers_};
  std::vector<std::unique_ptr<CrowdPeer>> peers_;
  std::optional<Error> problem_;  // of the first that was sent away
};

}  // namespace tiphys::bench
