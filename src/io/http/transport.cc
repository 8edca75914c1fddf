#include "io/http/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cstring>
#include <utility>

#include "io/host/tls_context.h"

namespace tiphys::http {
namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket)
      : Transport(socket.get_executor()), socket_(std::move(socket)) {}

  asio::awaitable<ErrorCode> connect(asio::generic::stream_protocol::endpoint endpoint) override {
    if (is_expired()) co_return asio::error::timed_out;
    auto connecting = socket_.async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
    const auto [error] = co_await std::move(connecting);
    co_return translated(error);
  }
  asio::awaitable<Status> shake_hands() override { co_return Status(); }
  asio::awaitable<void> shut_down() override {
    ErrorCode ignored;
    ignore(socket_.shutdown(Socket::shutdown_send, ignored));
    co_return;
  }
  [[nodiscard]] const SSL* tls() const override { return nullptr; }
  [[nodiscard]] int socket() override { return socket_.native_handle(); }

 protected:
  void start_read(asio::mutable_buffer buffer, IoHandler handler) override {
    socket_.async_read_some(buffer, std::move(handler));
  }
  void start_write(asio::const_buffer buffer, IoHandler handler) override {
    socket_.async_write_some(buffer, std::move(handler));
  }
  void cancel() override {
    ErrorCode ignored;
    ignore(socket_.cancel(ignored));
  }
  void close_socket() override {
    ErrorCode ignored;
    ignore(socket_.close(ignored));
  }

 private:
  Socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(Socket socket, SSL* connection)
      : Transport(socket.get_executor()),
        is_server_(SSL_is_server(connection) == 1),
        stream_(std::move(socket), connection) {}

  asio::awaitable<ErrorCode> connect(asio::generic::stream_protocol::endpoint endpoint) override {
    if (is_expired()) co_return asio::error::timed_out;
    auto connecting =
        stream_.next_layer().async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
    const auto [error] = co_await std::move(connecting);
    co_return translated(error);
  }
  asio::awaitable<Status> shake_hands() override {
    using Stream = asio::ssl::stream_base;
    if (is_expired()) co_return too_long();
    auto shaking = stream_.async_handshake(is_server_ ? Stream::server : Stream::client,
                                           asio::as_tuple(asio::use_awaitable));
    const auto [error] = co_await std::move(shaking);
    if (!error) co_return Status();
    if (is_expired()) co_return too_long();
    std::string reason = to_sentence(error);
    // Asio has taken the reason from OpenSSL's queue, but not why a certificate is refused.
    if (const auto verified = SSL_get_verify_result(stream_.native_handle()); verified != X509_V_OK)
      reason += std::string(", ") + X509_verify_cert_error_string(verified);
    co_return fail(Code::kUnavailable, "the TLS handshake failed: " + reason);
  }
  asio::awaitable<void> shut_down() override {
    if (is_expired()) co_return;
    auto shutting = stream_.async_shutdown(asio::as_tuple(asio::use_awaitable));
    co_await std::move(shutting);
  }
  [[nodiscard]] const SSL* tls() const override {
    return const_cast<asio::ssl::stream<Socket>&>(stream_).native_handle();
  }
  [[nodiscard]] int socket() override { return stream_.next_layer().native_handle(); }

 protected:
  void start_read(asio::mutable_buffer buffer, IoHandler handler) override {
    stream_.async_read_some(buffer, std::move(handler));
  }
  void start_write(asio::const_buffer buffer, IoHandler handler) override {
    stream_.async_write_some(buffer, std::move(handler));
  }
  void cancel() override {
    ErrorCode ignored;
    ignore(stream_.next_layer().cancel(ignored));
  }
  void close_socket() override {
    ErrorCode ignored;
    ignore(stream_.next_layer().close(ignored));
  }

 private:
  static tl::unexpected<Error> too_long() {
    return fail(Code::kDeadlineExceeded, "the TLS handshake took too long");
  }

  bool is_server_;
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

Transport::Transport(asio::any_io_executor executor)
    : executor_(std::move(executor)), timer_(executor_) {}

asio::awaitable<ErrorCode> Transport::write(std::string text, std::optional<Duration> stall) {
  const auto self = shared_from_this();
  for (std::size_t sent = 0; sent < text.size();) {
    if (stall) expire_after(*stall);
    auto writing = async_write_some(asio::const_buffer(text.data() + sent, text.size() - sent),
                                    asio::as_tuple(asio::use_awaitable));
    const auto [error, bytes] = co_await std::move(writing);
    if (error) co_return error;
    sent += bytes;
  }
  co_return ErrorCode();
}

void Transport::expire_after(Duration duration) {
  expire_at(asio::steady_timer::clock_type::now() + duration);
}

void Transport::expire_at(asio::steady_timer::time_point instant) {
  is_expired_ = false;
  wake_at(instant);
}

void Transport::wake_at(asio::steady_timer::time_point instant) {
  timer_.expires_at(instant);
  timer_.async_wait(
      [weak = weak_from_this(), generation = ++timer_generation_](const ErrorCode& error) {
        const auto self = weak.lock();
        if (!error && self && generation == self->timer_generation_) self->expire_now();
      });
}

void Transport::expire_now() {
  if (is_closed_) return;
  is_expired_ = true;
  cancel();
  // What takes several steps, as TLS does, may have been between two of them and not have noticed.
  constexpr auto kAgain = std::chrono::milliseconds(50);
  wake_at(asio::steady_timer::clock_type::now() + kAgain);
}

void Transport::expire_never() {
  is_expired_ = false;
  ++timer_generation_;
  timer_.cancel();
}

void Transport::close() {
  if (std::exchange(is_closed_, true)) return;
  expire_never();
  close_socket();
}

void Transport::read_some(asio::mutable_buffer buffer, IoHandler handler) {
  if (refuse(handler)) return;
  if (!unread_.empty()) {
    const std::size_t size = std::min(unread_.size(), buffer.size());
    std::memcpy(buffer.data(), unread_.data(), size);
    unread_.erase(0, size);
    return asio::post(executor_,
                      [handler = std::move(handler), size]() mutable { handler({}, size); });
  }
  start_read(buffer, IoHandler([self = shared_from_this(), handler = std::move(handler)](
                                   ErrorCode error, std::size_t bytes) mutable {
               handler(self->translated(error), bytes);
             }));
}

void Transport::write_some(asio::const_buffer buffer, IoHandler handler) {
  if (refuse(handler)) return;
  start_write(buffer, IoHandler([self = shared_from_this(), handler = std::move(handler)](
                                    ErrorCode error, std::size_t bytes) mutable {
                handler(self->translated(error), bytes);
              }));
}

bool Transport::refuse(IoHandler& handler) {
  if (!is_closed_ && !is_expired_) return false;
  const ErrorCode error = is_closed_ ? asio::error::operation_aborted : asio::error::timed_out;
  asio::post(executor_, [handler = std::move(handler), error]() mutable { handler(error, 0); });
  return true;
}

ErrorCode Transport::translated(ErrorCode error) const {
  return error == asio::error::operation_aborted && is_expired_ && !is_closed_
             ? ErrorCode(asio::error::timed_out)
             : error;
}

std::shared_ptr<Transport> make_transport(Socket socket) {
  return std::make_shared<PlainTransport>(std::move(socket));
}

std::shared_ptr<Transport> make_tls_transport(Socket socket, SSL* connection) {
  return std::make_shared<TlsTransport>(std::move(socket), connection);
}

Result<Socket> adopt_socket(const asio::any_io_executor& executor, int family, int descriptor) {
  if (family != AF_UNIX) {
    const int on = 1;  // answers are small and complete; waiting for more only delays them
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  Socket socket(executor);
  ErrorCode error;
  if (socket.assign(asio::generic::stream_protocol(family, 0), descriptor, error)) {
    ::close(descriptor);
    return fail(Code::kUnavailable, to_sentence(error));
  }
  return socket;
}

std::string to_sentence(const ErrorCode& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated)
    return "the peer closed the connection";
  if (error == asio::error::timed_out) return "it took too long";
  return error.message();
}

}  // namespace tiphys::http
