#include "io/rpc/http2/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tiphys::rpc::http2 {

namespace {

template <class Native>
SocketAddress to_address(const Native& native, std::size_t length = sizeof(Native)) {
  SocketAddress address;
  std::memcpy(&address.storage, &native, sizeof native);
  address.length = static_cast<socklen_t>(length);
  return address;
}

template <class Native>
Native from_address(const SocketAddress& address) {
  Native native;
  std::memcpy(&native, &address.storage, sizeof native);
  return native;
}

Error malformed(std::string_view text) {
  return {Code::kInvalidArgument,
          "'" + std::string(text) + "' is no address; expected IP:PORT, [IPv6]:PORT or unix:PATH"};
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return fail(malformed(text));
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fail(malformed(text));
  }
  std::uint16_t port = 0;
  const auto [end, problem] =
      std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (host.empty() || port_text.empty() || problem != std::errc() ||
      end != port_text.data() + port_text.size())
    return fail(malformed(text));
  return HostPort{std::string(host), port};
}

Result<SocketAddress> unix_address(std::string_view path) {
  sockaddr_un native{};
  native.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof native.sun_path)
    return fail(Code::kInvalidArgument, "'" + std::string(path) +
                                            "' can't be the path of a socket: it needs 1 to " +
                                            std::to_string(sizeof native.sun_path - 1) + " bytes");
  std::memcpy(native.sun_path, path.data(), path.size());
  return to_address(native, offsetof(sockaddr_un, sun_path) + path.size() + 1);
}

Result<SocketAddress> parse_socket_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) return unix_address(text.substr(kUnix.size()));
  TIPHYS_TRY(const HostPort parts, parse_host_port(text));
  sockaddr_in v4{};
  if (inet_pton(AF_INET, parts.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(parts.port);
    return to_address(v4);
  }
  sockaddr_in6 v6{};
  const auto percent = parts.host.find('%');  // of a scope: fe80::1%eth0
  if (inet_pton(AF_INET6, parts.host.substr(0, percent).c_str(), &v6.sin6_addr) == 1) {
    if (percent != std::string::npos)
      v6.sin6_scope_id = if_nametoindex(parts.host.c_str() + percent + 1);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(parts.port);
    return to_address(v6);
  }
  return fail(malformed(text));
}

std::string to_string(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.storage.ss_family == AF_INET) {
    const auto v4 = from_address<sockaddr_in>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.storage.ss_family == AF_INET6) {
    const auto v6 = from_address<sockaddr_in6>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  if (address.storage.ss_family == AF_UNIX) {
    const auto path = from_address<sockaddr_un>(address);
    return path.sun_path[0] == '\0' ? "unix" : "unix:" + std::string(path.sun_path);
  }
  return "unknown";
}

SocketAddress local_address(int descriptor) {
  SocketAddress address{.length = sizeof(sockaddr_storage)};
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  return address;
}

SocketAddress peer_address(int descriptor) {
  SocketAddress address{.length = sizeof(sockaddr_storage)};
  getpeername(descriptor, reinterpret_cast<sockaddr*>(&address.storage), &address.length);
  return address;
}

}  // namespace tiphys::rpc::http2
