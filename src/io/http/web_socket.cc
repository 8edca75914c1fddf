#include "io/http/web_socket.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "base/strings.h"

namespace tiphys::http {
namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;

// The transport as Beast wants a stream: something it can own.
class Stream {
 public:
  using executor_type = asio::any_io_executor;  // NOLINT(readability-identifier-naming): Asio's
  explicit Stream(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

  executor_type get_executor() { return transport_->get_executor(); }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return transport_->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return transport_->async_write_some(buffers, std::forward<Token>(token));
  }
  void close() { transport_->close(); }

  // What Beast looks for: how to end the stream after a WebSocket was closed, and when time is up.
  template <class Handler>
  friend void async_teardown(beast::role_type /*role*/, Stream& stream, Handler&& handler) {
    stream.close();
    asio::post(stream.get_executor(),
               [held = std::forward<Handler>(handler)]() mutable { held(ErrorCode()); });
  }
  friend void beast_close_socket(Stream& stream) { stream.close(); }

 private:
  std::shared_ptr<Transport> transport_;
};

using BeastSocket = websocket::stream<Stream, false>;
using StatePtr = std::shared_ptr<WebSocket::State>;

void configure(BeastSocket& socket, const WebSocketOptions& options) {
  socket.set_option(websocket::stream_base::timeout{
      .handshake_timeout = std::chrono::seconds(10),
      .idle_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.idle_time),
      .keep_alive_pings = true});
  socket.read_message_max(options.max_message_bytes);
  socket.auto_fragment(false);
  if (options.protocol.empty()) return;
  socket.set_option(websocket::stream_base::decorator([name = options.protocol](auto& response) {
    response.set(beast::http::field::sec_websocket_protocol, name);
  }));
}

// Sends what waits, then closes. Ends with the connection.
asio::awaitable<void> send_all(std::shared_ptr<BeastSocket> socket, StatePtr state) {
  Outbox& outbox = state->outbox;
  constexpr auto kLong = std::chrono::hours(1);
  while (!outbox.is_over() && !outbox.is_overflowed()) {
    if (!outbox.empty()) {
      const Outbox::Item item = outbox.take();
      socket->text(item.is_text);
      auto writing =
          socket->async_write(asio::buffer(item.text), asio::as_tuple(asio::use_awaitable));
      const auto [error, bytes] = co_await std::move(writing);
      if (error) break;
      outbox.sent();
    } else if (outbox.is_closing()) {
      websocket::close_reason reason(state->close_code);
      reason.reason.assign(
          state->close_reason.substr(0, websocket::reason_string::static_capacity));
      auto closing = socket->async_close(reason, asio::as_tuple(asio::use_awaitable));
      co_await std::move(closing);
      break;
    } else {
      auto waiting = outbox.wait(kLong);
      co_await std::move(waiting);
    }
  }
  socket->next_layer().close();
}

asio::awaitable<void> receive_all(std::shared_ptr<BeastSocket> socket, StatePtr state) {
  while (true) {
    beast::flat_buffer buffer;
    auto reading = socket->async_read(buffer, asio::as_tuple(asio::use_awaitable));
    const auto [error, bytes] = co_await std::move(reading);
    if (error) co_return;
    if (*state->is_open && state->options.on_message)
      state->options.on_message(beast::buffers_to_string(buffer.data()), socket->got_text());
  }
}

bool is_own_origin(const RequestHead& head, const std::string& origin) {
  const std::string* host = head.headers.find("Host");
  for (const std::string_view scheme : {"http://", "https://"})
    if (host != nullptr && same_word(origin, concat(scheme, *host))) return true;
  return false;
}

}  // namespace

std::optional<Response> refuse_upgrade(const RequestHead& head, const WebSocketOptions& options) {
  const Headers& headers = head.headers;
  if (!head.is_1_1 || head.method != "GET" || head.has_body() ||
      !headers.has_word("Connection", "upgrade") || !headers.has_word("Upgrade", "websocket")) {
    Response response = error_response(426, "this is a WebSocket: ask for an upgrade with GET");
    response.headers.set("Upgrade", "websocket");
    return response;
  }
  const std::string* version = headers.find("Sec-WebSocket-Version");
  if (version == nullptr || *version != "13") {
    Response response = error_response(426, "Sec-WebSocket-Version: only 13 is known");
    response.headers.set("Sec-WebSocket-Version", "13");
    return response;
  }
  const std::string* key = headers.find("Sec-WebSocket-Key");
  constexpr std::size_t kKeySize = 24;  // 16 bytes in base64
  if (key == nullptr || key->size() != kKeySize)
    return error_response(400, "Sec-WebSocket-Key is not 16 bytes in base64");
  const std::string* origin = headers.find("Origin");
  const auto is_allowed = [&](const std::string& allowed) {
    return allowed == "*" || same_word(allowed, *origin);
  };
  if (origin != nullptr && !is_own_origin(head, *origin) &&
      std::none_of(options.origins.begin(), options.origins.end(), is_allowed))
    return error_response(403, concat("pages of the origin '", *origin, "' may not connect"));
  return std::nullopt;
}

asio::awaitable<void> run_web_socket(std::shared_ptr<Transport> transport, RequestHead head,
                                     StatePtr state) {
  beast::http::request<beast::http::empty_body> request;
  request.method(beast::http::verb::get);
  request.target(head.target);
  request.version(11);
  for (const auto& [name, value] : head.headers) request.insert(name, value);
  const bool offers_protocol =
      head.headers.has_word("Sec-WebSocket-Protocol", state->options.protocol);
  if (!offers_protocol) state->options.protocol.clear();

  transport->expire_never();  // Beast counts the time itself
  const auto socket = std::make_shared<BeastSocket>(transport);
  configure(*socket, state->options);
  auto accepting = socket->async_accept(request, asio::as_tuple(asio::use_awaitable));
  const auto [error] = co_await std::move(accepting);
  if (!error) {
    state->outbox.interrupt = [transport] { transport->close(); };
    asio::co_spawn(transport->get_executor(), send_all(socket, state), asio::detached);
    auto receiving = receive_all(socket, state);
    co_await std::move(receiving);
  }
  const StreamEnd end = state->outbox.is_overflowed() ? StreamEnd::kOverflow
                        : state->is_server_closing    ? StreamEnd::kServerClosed
                        : state->outbox.is_closing()  ? StreamEnd::kClosed
                                                      : StreamEnd::kClientGone;
  const auto code = socket->reason().code;
  state->outbox.end();
  transport->close();
  if (*state->is_open && state->options.on_end)
    state->options.on_end(end, code == websocket::close_code::none
                                   ? static_cast<std::uint16_t>(websocket::close_code::abnormal)
                                   : code);
}

// --- the handle ---

WebSocket::WebSocket(std::shared_ptr<State> state) : state_(std::move(state)) {}
WebSocket::WebSocket(WebSocket&&) noexcept = default;

WebSocket& WebSocket::operator=(WebSocket&& other) noexcept {
  if (this != &other) {
    if (state_) state_->outbox.close();
    state_ = std::move(other.state_);
  }
  return *this;
}

WebSocket::~WebSocket() {
  if (state_) state_->outbox.close();
}

void WebSocket::send_text(std::string text) {
  state_->outbox.push({with_valid_utf8(std::move(text)), true});
}

void WebSocket::send_binary(std::string bytes) { state_->outbox.push({std::move(bytes), false}); }

void WebSocket::close(std::uint16_t code, std::string reason) {
  if (state_->outbox.is_closing()) return;
  state_->close_code = code;
  state_->close_reason = with_valid_utf8(std::move(reason));
  state_->outbox.close();
}

}  // namespace tiphys::http
