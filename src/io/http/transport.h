#pragma once

// The bytes of one connection, whatever carries them: TCP or a unix socket, with or without TLS. One read and one write
// may be under way at a time. Everything happens on the executor of the socket, which runs one thing at a time.
//
// A transport has one deadline. When it passes, what is under way and whatever is begun after it fails with timed_out,
// until another deadline is set: then a last word can still be written.

#include <openssl/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/instant.h"
#include "base/result.h"

namespace tiphys::http {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

// What waits for a read or a write: any callable with (ErrorCode, std::size_t), called once.
class IoHandler {
 public:
  template <class Handler>
  explicit IoHandler(Handler handler)
      : handler_(std::make_unique<Holder<Handler>>(std::move(handler))) {}

  void operator()(ErrorCode error, std::size_t bytes) {
    const auto handler = std::move(handler_);  // the call may end everything around us
    handler->call(error, bytes);
  }

 private:
  struct Base {
    Base() = default;
    virtual ~Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual void call(ErrorCode error, std::size_t bytes) = 0;
  };
  template <class Handler>
  struct Holder final : Base {
    explicit Holder(Handler held) : handler(std::move(held)) {}
    void call(ErrorCode error, std::size_t bytes) override { std::move(handler)(error, bytes); }
    Handler handler;
  };

  std::unique_ptr<Base> handler_;
};

class Transport : public std::enable_shared_from_this<Transport> {
 public:
  using executor_type = asio::any_io_executor;  // NOLINT(readability-identifier-naming): Asio's
  using Transferred = std::tuple<ErrorCode, std::size_t>;

  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] const asio::any_io_executor& get_executor() const { return executor_; }

  // What Asio calls an asynchronous stream, so that Beast's WebSocket can stand on it.
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        [this](auto handler, asio::mutable_buffer buffer) {
          read_some(buffer, IoHandler(std::move(handler)));
        },
        token, first_of<asio::mutable_buffer>(buffers));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        [this](auto handler, asio::const_buffer buffer) {
          write_some(buffer, IoHandler(std::move(handler)));
        },
        token, first_of<asio::const_buffer>(buffers));
  }

  // For coroutines.
  asio::awaitable<Transferred> read(asio::mutable_buffer buffer) {
    return async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
  }
  // All of it. With a stall, each piece has to leave within that time; without, the deadline stays what it is.
  asio::awaitable<ErrorCode> write(std::string text, std::optional<Duration> stall = std::nullopt);

  virtual asio::awaitable<ErrorCode> connect(asio::generic::stream_protocol::endpoint endpoint) = 0;
  // TLS only: shakes hands, as the side that the native connection was made for.
  virtual asio::awaitable<Status> shake_hands() = 0;
  // Says that nothing more will be sent.
  virtual asio::awaitable<void> shut_down() = 0;

  // The next reads give these bytes first.
  void unread(std::string bytes) { unread_ = std::move(bytes); }

  void expire_after(Duration duration);
  void expire_at(asio::steady_timer::time_point instant);
  void expire_now();
  void expire_never();
  [[nodiscard]] bool is_expired() const { return is_expired_; }

  // At once; what is under way fails.
  void close();
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  // The native TLS connection, or nullptr.
  [[nodiscard]] virtual const SSL* tls() const = 0;
  // The native socket.
  [[nodiscard]] virtual int socket() = 0;

 protected:
  explicit Transport(asio::any_io_executor executor);

  virtual void start_read(asio::mutable_buffer buffer, IoHandler handler) = 0;
  virtual void start_write(asio::const_buffer buffer, IoHandler handler) = 0;
  virtual void cancel() = 0;
  virtual void close_socket() = 0;
  // What was cancelled because of the deadline took too long.
  [[nodiscard]] ErrorCode translated(ErrorCode error) const;

 private:
  template <class Buffer, class Buffers>
  static Buffer first_of(const Buffers& buffers) {
    for (auto it = asio::buffer_sequence_begin(buffers); it != asio::buffer_sequence_end(buffers);
         ++it)
      if (const Buffer buffer(*it); buffer.size() > 0) return buffer;
    return {};
  }

  void read_some(asio::mutable_buffer buffer, IoHandler handler);
  void write_some(asio::const_buffer buffer, IoHandler handler);
  void wake_at(asio::steady_timer::time_point instant);
  // Fails in our words what cannot begin any more; true if it did.
  bool refuse(IoHandler& handler);

  asio::any_io_executor executor_;
  asio::steady_timer timer_;
  std::uint64_t timer_generation_ = 0;  // a timer armed before the last change is stale
  bool is_expired_ = false;
  bool is_closed_ = false;
  std::string unread_;
};

std::shared_ptr<Transport> make_transport(Socket socket);
// Takes over the native connection, which knows whether it is a client or a server.
std::shared_ptr<Transport> make_tls_transport(Socket socket, SSL* connection);

// A socket that child processes do not inherit, or that was accepted so.
Result<Socket> adopt_socket(const asio::any_io_executor& executor, int family, int descriptor);

// For what may fail without consequence.
inline void ignore(const ErrorCode& /*error*/) {}

// "No route to host": what the system says.
std::string to_sentence(const ErrorCode& error);

}  // namespace tiphys::http
