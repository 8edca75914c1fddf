#include "tests/rpc/raw_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tiphys::rpc {

namespace {

constexpr int kPatience = 60'000;  // milliseconds; only a failing test waits so long
constexpr int kMoment = 50;
constexpr std::size_t kFrameHead = 9;

bool await(int descriptor, short events, int milliseconds) {
  pollfd poll_for{.fd = descriptor, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&poll_for, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void write_at_once(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

std::string client_hello(std::string_view settings) {
  return std::string(http2::kPreface) + frame(FrameType::kSettings, 0, 0, settings);
}

std::string server_hello(std::string_view settings) {
  return frame(FrameType::kSettings, 0, 0, settings);
}

std::string setting(std::uint16_t name, std::uint32_t value) {
  return number(name, 2) + number(value, 4);
}

std::string window_update(std::uint32_t stream, std::uint32_t increment) {
  return frame(FrameType::kWindowUpdate, 0, stream, number(increment, 4));
}

std::string integer(std::uint8_t first, int prefix_bits, std::uint64_t value) {
  const std::uint64_t most = (1U << prefix_bits) - 1;
  if (value < most) return {static_cast<char>(first | value)};
  std::string bytes{static_cast<char>(first | most)};
  for (value -= most; value >= 128; value /= 128) bytes += static_cast<char>(value % 128 | 128);
  return bytes + static_cast<char>(value);
}

std::string field(std::string_view name, std::string_view value) {
  return std::string(1, '\0') + integer(0, 7, name.size()) + std::string(name) +
         integer(0, 7, value.size()) + std::string(value);
}

std::string kept_field(std::string_view name, std::string_view value) {
  std::string bytes = field(name, value);
  bytes[0] = 0x40;
  return bytes;
}

std::string reference(std::uint64_t index) { return integer(0x80, 7, index); }

std::string request_block(std::string_view method) {
  return field(":method", "POST") + field(":scheme", "http") + field(":path", method) +
         field(":authority", "localhost") + field("te", "trailers") +
         field("content-type", "application/grpc");
}

std::string answer_block() {
  return field(":status", "200") + field("content-type", "application/grpc");
}

std::string trailers_block(std::string_view status) { return field("grpc-status", status); }

std::string grpc_status(const std::string& block) {
  nghttp2_hd_inflater* inflater = nullptr;
  EXPECT_EQ(nghttp2_hd_inflate_new(&inflater), 0);
  std::string status;
  const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
  std::size_t left = block.size();
  int flags = 0;
  while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
    nghttp2_nv pair;
    const ssize_t taken = nghttp2_hd_inflate_hd2(inflater, &pair, &flags, at, left, 1);
    if (taken < 0) break;  // refers to an entry of an earlier block
    at += taken;
    left -= static_cast<std::size_t>(taken);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) continue;
    const std::string name(reinterpret_cast<const char*>(pair.name), pair.namelen);
    if (name == "grpc-status")
      status.assign(reinterpret_cast<const char*>(pair.value), pair.valuelen);
  }
  nghttp2_hd_inflate_del(inflater);
  return status;
}

std::string request_head(std::uint32_t stream, std::string_view method, std::uint8_t more_flags) {
  return frame(FrameType::kHeaders, kEndHeaders | more_flags, stream, request_block(method));
}

std::string message_prefix(std::uint32_t length, std::uint8_t flag) {
  return static_cast<char>(flag) + number(length, 4);
}

RawSocket RawSocket::connect(const std::string& address) {
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const sockaddr_in to = loopback(port);
  RawSocket made(host::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  EXPECT_TRUE(made.descriptor_.is_open()) << std::strerror(errno);
  EXPECT_EQ(::connect(made.descriptor(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0)
      << std::strerror(errno);
  write_at_once(made.descriptor());
  return made;
}

bool RawSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!await(descriptor(), POLLOUT, kPatience)) {
      ADD_FAILURE() << "the peer neither reads nor closes the connection";
      return false;
    }
    const ssize_t sent =
        ::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawSocket::fill(std::size_t wanted) {
  char buffer[16 * 1024];
  while (received_.size() < wanted) {
    if (!await(descriptor(), POLLIN, kPatience)) {
      ADD_FAILURE() << "the peer neither sends nor closes the connection";
      return false;
    }
    const ssize_t got = recv(descriptor(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(got));
  }
  return true;
}

std::optional<Frame> RawSocket::read_frame() {
  if (!fill(kFrameHead)) return std::nullopt;
  const auto byte = [this](std::size_t at) { return static_cast<unsigned char>(received_[at]); };
  const std::size_t length =
      static_cast<std::size_t>(byte(0)) << 16 | static_cast<std::size_t>(byte(1)) << 8 | byte(2);
  if (!fill(kFrameHead + length)) return std::nullopt;
  Frame read{.type = static_cast<FrameType>(byte(3)),
             .flags = byte(4),
             .stream = static_cast<std::uint32_t>(byte(5) & 0x7F) << 24 |
                       static_cast<std::uint32_t>(byte(6)) << 16 |
                       static_cast<std::uint32_t>(byte(7)) << 8 | byte(8),
             .payload = received_.substr(kFrameHead, length)};
  received_.erase(0, kFrameHead + length);
  return read;
}

std::optional<Frame> RawSocket::await_frame(FrameType type) {
  for (;;) {
    auto read = read_frame();
    if (!read || read->type == type) return read;
  }
}

std::optional<Frame> RawSocket::await_end_of(std::uint32_t stream) {
  for (;;) {
    auto read = read_frame();
    if (!read) return read;
    if (read->stream == stream && (read->ends_stream() || read->type == FrameType::kReset))
      return read;
  }
}

void RawSocket::await_close() {
  do {
    received_.clear();
  } while (fill(1));
}

bool RawSocket::read_preface() {
  if (!fill(http2::kPreface.size())) return false;
  EXPECT_EQ(received_.substr(0, http2::kPreface.size()), http2::kPreface);
  received_.erase(0, http2::kPreface.size());
  return true;
}

void RawSocket::half_close() { shutdown(descriptor(), SHUT_WR); }

void RawSocket::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

RawListener::RawListener() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(descriptor_.number(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(descriptor_.number(), SOMAXCONN), 0);
  EXPECT_EQ(getsockname(descriptor_.number(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

RawSocket RawListener::accept() {
  EXPECT_TRUE(await(descriptor_.number(), POLLIN, kPatience)) << "nobody connects";
  auto accepted = accept_if_there();
  return accepted ? std::move(*accepted) : RawSocket();
}

std::optional<RawSocket> RawListener::accept_if_there() {
  if (!await(descriptor_.number(), POLLIN, kMoment)) return std::nullopt;
  host::Descriptor accepted(accept4(descriptor_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted.is_open()) return std::nullopt;
  write_at_once(accepted.number());
  return RawSocket(std::move(accepted));
}

}  // namespace tiphys::rpc
