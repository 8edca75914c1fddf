#pragma once

// Addresses of sockets as text: "127.0.0.1:25551", "[::1]:25551", "unix:/run/ank.sock".

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace tiphys::rpc::http2 {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] bool is_unix() const { return storage.ss_family == AF_UNIX; }
};

Result<SocketAddress> parse_socket_address(std::string_view text);
Result<SocketAddress> unix_address(std::string_view path);
std::string to_string(const SocketAddress& address);

// Of a socket: its own address, and its peer's.
SocketAddress local_address(int descriptor);
SocketAddress peer_address(int descriptor);

// Host and port of "host:port" or "[host]:port".
struct HostPort {
  std::string host;
  std::uint16_t port;
};
Result<HostPort> parse_host_port(std::string_view text);

}  // namespace tiphys::rpc::http2
