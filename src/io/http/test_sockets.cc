#include "io/http/test_sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cstring>
#include <future>
#include <utility>

#include "base/check.h"

namespace tiphys::http {
namespace {

constexpr int kPatience = 30;  // seconds

host::Descriptor connect_to(const sockaddr* address, socklen_t size) {
  host::Descriptor descriptor(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  TIPHYS_CHECK(descriptor.is_open(), "a test needs a socket");
  TIPHYS_CHECK(::connect(descriptor.number(), address, size) == 0, "a test cannot connect");
  return descriptor;
}

host::Descriptor connect_to_port(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

host::Descriptor connect_to_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  return connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace

Loop::Loop() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}

Loop::~Loop() {
  work_.reset();
  context_.stop();
  thread_.join();
}

void Loop::run(const std::function<void()>& task) {
  std::promise<void> done;
  boost::asio::post(context_, [&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

RawConnection::RawConnection(std::uint16_t port) : RawConnection(connect_to_port(port)) {}
RawConnection::RawConnection(const std::string& path) : RawConnection(connect_to_path(path)) {}

RawConnection::RawConnection(host::Descriptor connected) : descriptor_(std::move(connected)) {
  const timeval patience{.tv_sec = kPatience, .tv_usec = 0};
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(descriptor_.number(), SOL_SOCKET, direction, &patience, sizeof(patience));
}

bool RawConnection::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawConnection::finish_sending() const { ::shutdown(descriptor_.number(), SHUT_WR); }

void RawConnection::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor_.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close();
}

void RawConnection::close() { descriptor_ = {}; }

bool RawConnection::receive() {
  std::array<char, 65536> chunk;
  const ssize_t count = ::recv(descriptor_.number(), chunk.data(), chunk.size(), 0);
  if (count <= 0) return false;
  received_.append(chunk.data(), static_cast<std::size_t>(count));
  return true;
}

std::string RawConnection::read_until(std::string_view text) {
  std::size_t from = 0;
  while (true) {
    const std::size_t at = received_.find(text, from);
    if (at != std::string::npos) return read_bytes(at + text.size());
    from = received_.size() - std::min(received_.size(), text.size());
    if (!receive()) return std::exchange(received_, {});
  }
}

std::string RawConnection::read_bytes(std::size_t count) {
  while (received_.size() < count && receive()) {
  }
  std::string bytes = received_.substr(0, count);
  received_.erase(0, count);
  return bytes;
}

std::string RawConnection::read_all() {
  while (receive()) {
  }
  return std::exchange(received_, {});
}

std::string RawConnection::read_response() {
  std::string response = read_until("\r\n\r\n");
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t at = response.find(kLength);
  if (at == std::string::npos) return response;
  std::size_t length = 0;
  std::from_chars(response.data() + at + kLength.size(), response.data() + response.size(), length);
  return response + read_bytes(length);
}

RawListener::RawListener() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  TIPHYS_CHECK(::bind(descriptor_.number(), generic, size) == 0 &&
                   ::listen(descriptor_.number(), 16) == 0 &&
                   ::getsockname(descriptor_.number(), generic, &size) == 0,
               "a test cannot listen");
  port_ = ntohs(address.sin_port);
  const timeval patience{.tv_sec = kPatience, .tv_usec = 0};
  ::setsockopt(descriptor_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

RawConnection RawListener::accept() const {
  return RawConnection(
      host::Descriptor(::accept4(descriptor_.number(), nullptr, nullptr, SOCK_CLOEXEC)));
}

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int status_of(const std::string& response) {
  int status = 0;
  if (response.starts_with("HTTP/1.1 "))
    std::from_chars(response.data() + 9, response.data() + response.size(), status);
  return status;
}

std::string body_of(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : response.substr(end + 4);
}

}  // namespace tiphys::http
