#pragma once

// A Session on a socket: carries its bytes, and watches the time.

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/rpc/http2/session.h"
#include "io/rpc/http2/transport.h"

namespace tiphys::rpc::http2 {

// Shared by the connections of one listener or connector: only one of them moves bytes at a time.
struct Buffers {
  std::array<char, 64 * kKiB> in;
  std::string out;
};

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Time = Session::Time;

  Connection(const boost::asio::any_io_executor& executor, Role role, const HttpLimits& limits,
             std::shared_ptr<const Peer> peer, Origin origin, std::shared_ptr<Buffers> buffers);

  // The connection as the gRPC layer sees it; keeps this alive.
  [[nodiscard]] std::shared_ptr<HttpConnection> http() { return {shared_from_this(), &session_}; }
  void set_owner(std::shared_ptr<HttpConnection::Owner> owner) {
    session_.set_owner(std::move(owner));
  }
  [[nodiscard]] boost::asio::any_io_executor executor() { return socket_.get_executor(); }

  // The time for the handshake runs from here on; carry() follows, or give_up().
  void expect();
  // For whoever connects it; give_up() closes it.
  [[nodiscard]] Socket& socket() { return socket_; }
  // Begins to carry bytes on the socket, which is connected and does not block.
  void carry(std::unique_ptr<Transport> transport);
  // Ends everything; later calls do nothing.
  void give_up(const std::string& why);
  [[nodiscard]] bool is_closed() const { return is_closed_; }

 private:
  void wake();
  void advance_later();
  void advance();
  // Each says whether the connection is still there.
  bool shake_hands();
  bool read();
  bool receive(std::string_view bytes);
  bool write();
  bool write_some(std::string_view& bytes);

  void wait_for(Need need);
  [[nodiscard]] bool has_unsent() const;
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] bool is_ping_near(Time at) const;
  void ping(Time at);
  void watch();
  void check_time();
  [[nodiscard]] std::optional<Time> next_check(Time at) const;

  Session session_;
  HttpLimits limits_;
  std::shared_ptr<Buffers> buffers_;
  Socket socket_;
  std::unique_ptr<Transport> transport_;
  std::string pending_;  // produced, not yet taken by the socket

  boost::asio::steady_timer timer_;
  std::optional<Time> armed_for_;
  Time started_;
  Time received_;  // when bytes last came
  Time written_;   // when the socket last took some
  Time pinged_;
  std::optional<Time> head_since_;  // a block of header fields is incomplete since then

  bool is_shaken_ = false;
  bool waits_readable_ = false;
  bool waits_writable_ = false;
  bool is_advancing_ = false;
  bool is_posted_ = false;
  bool is_closed_ = false;
};

}  // namespace tiphys::rpc::http2
