#pragma once

// An HTTP/1.1 server: routes, limits on everything a client may do, server-sent events and WebSockets. It has no thread of
// its own: everything, handlers included, runs on the executor it is given, which runs one thing at a time (an io_context
// with one thread, or a strand), and everything here is called there.
//
// What clients do wrong is answered with {"error":{"code":...,"message":...}} and the fitting status, or with a closed
// connection where nobody could be sure any more where the next request begins. A client that is slow, silent, greedy
// or gone costs a connection for a limited time and a limited number of bytes.
//
// /healthz answers 200 while the server serves; /readyz answers 200, or 503 with the reasons of the owner.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/host/resolver.h"
#include "io/host/tls_context.h"
#include "io/http/message.h"

namespace tiphys::http {

struct Limits {
  std::size_t header_bytes = 16U << 10U;
  std::size_t body_bytes = 1U << 20U;         // a route may say otherwise
  std::size_t all_bodies_bytes = 64U << 20U;  // of all requests together that are not answered yet
  std::size_t connections = 1024;             // more are told 503
  Duration header_time = std::chrono::seconds(10);  // also for TLS, and for the first byte
  Duration body_time = std::chrono::seconds(30);
  Duration idle_time = std::chrono::seconds(60);    // between two requests
  Duration answer_time = std::chrono::seconds(60);  // for the handler; then 504
  Duration write_time = std::chrono::seconds(30);   // without a byte leaving
  Duration linger_time = std::chrono::seconds(2);   // for the client to read a last word
};

struct ServerOptions {
  Limits limits{};
  // Why nobody should send requests yet; none when all is well.
  std::function<std::vector<std::string>()> reasons_not_ready{};
  // What a client did to be refused or cut off; for one line in the log.
  std::function<void(const std::string& peer, const std::string& offence)> on_offence{};
};

// Why a stream ended that had no end of its own.
enum class StreamEnd : std::uint8_t {
  kClosed,      // by its owner, and everything was sent
  kClientGone,  // or it does not take anything any more
  kOverflow,    // the client read too slowly, and the queue is full
  kServerClosed,
};

struct EventStreamOptions {
  std::size_t max_bytes = 1U << 20U;  // that wait to be sent
  std::size_t max_events = 1024;
  Duration heartbeat = std::chrono::seconds(15);
  Headers headers{};
  // Told once, unless the server is destroyed before.
  std::function<void(StreamEnd)> on_end{};
};

// Server-sent events to one client. Letting go of it closes the stream.
class EventStream {
 public:
  struct Queue;
  explicit EventStream(std::shared_ptr<Queue> queue);
  EventStream(EventStream&&) noexcept;
  EventStream& operator=(EventStream&&) noexcept;
  ~EventStream();

  // Never waits. What comes after the end is dropped; without an event's name or an id the field is left out.
  void send(std::string_view event, std::string_view data, std::string_view id = {});
  // After what was sent before.
  void close();

 private:
  std::shared_ptr<Queue> queue_;
};

// How an event looks on the wire.
std::string event_text(std::string_view event, std::string_view data, std::string_view id);

struct WebSocketOptions {
  std::size_t max_message_bytes =
      1U << 20U;                      // of the client's; a longer one ends the connection with 1009
  std::size_t max_bytes = 1U << 20U;  // that wait to be sent
  std::size_t max_messages = 1024;
  // A client that neither sends nor answers our pings for this long is gone.
  Duration idle_time = std::chrono::seconds(60);
  // Pages of these origins may connect ("https://example.org"), and the server's own; "*" lets all in. Clients that are no
  // browsers send no origin and are let in.
  std::vector<std::string> origins{};
  std::string protocol{};  // of the application, told to clients that offer it
  std::function<void(std::string message, bool is_text)> on_message{};
  // Told once, unless the server is destroyed before. The code is the client's, or 1006 if it gave none.
  std::function<void(StreamEnd end, std::uint16_t code)> on_end{};
};

// Letting go of it closes the connection.
class WebSocket {
 public:
  struct State;
  explicit WebSocket(std::shared_ptr<State> state);
  WebSocket(WebSocket&&) noexcept;
  WebSocket& operator=(WebSocket&&) noexcept;
  ~WebSocket();

  // Never waits. What comes after the end is dropped.
  void send_text(std::string text);  // what is not UTF-8 is replaced
  void send_binary(std::string bytes);
  // After what was sent before.
  void close(std::uint16_t code = 1000, std::string reason = {});

 private:
  std::shared_ptr<State> state_;
};

// The answer to one request: exactly one, now or later. Letting go of it without one answers 500.
class Responder {
 public:
  struct Exchange;
  explicit Responder(std::shared_ptr<Exchange> exchange);
  Responder(Responder&&) noexcept;
  Responder& operator=(Responder&&) noexcept;
  ~Responder();

  void answer(Response response);
  EventStream stream_events(EventStreamOptions options = {});
  // Refuses the client itself when it did not ask for a WebSocket, or may not have one; then there is nothing to do.
  Result<WebSocket> upgrade(WebSocketOptions options);

 private:
  std::shared_ptr<Exchange> take();
  std::shared_ptr<Exchange> exchange_;
};

using Handler = std::function<void(Request, Responder)>;
// What it awaits must not outlast the server's owner; an exception is answered with 500.
using CoroutineHandler = std::function<boost::asio::awaitable<Response>(Request)>;

struct RouteOptions {
  std::optional<std::size_t> body_bytes{};
};

class Server {
 public:
  struct Impl;
  using ListenerId = std::uint64_t;
  struct Listening {
    ListenerId id = 0;
    host::Address address;  // with the port that was chosen for port 0; the path for a unix socket
  };

  Server(boost::asio::any_io_executor executor, ServerOptions options = {});
  // Closes everything at once. No handler and no callback is called after that.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Patterns: see routes.h. HEAD works on routes for GET.
  void route(std::string method, std::string_view pattern, Handler handler,
             RouteOptions options = {});
  void route(std::string method, std::string_view pattern, CoroutineHandler handler,
             RouteOptions options = {});

  // Listeners come and go at any time.
  Result<Listening> listen(const host::Address& address,
                           std::optional<host::TlsContext> tls = std::nullopt);
  // A socket that a dead process left behind is replaced, a live one is not. The file goes with the listener.
  Result<Listening> listen_unix(const std::string& path, unsigned mode = 0600);
  // Takes no more connections; those it has stay.
  void stop_listening(ListenerId listener);

  // Stops listening, lets requests end that have begun, closes streams; after the grace cuts off what is left. Answers
  // once, after the last socket is closed.
  void close(Duration grace, std::function<void()> done);

  [[nodiscard]] std::size_t connections() const;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::http
