#include "io/http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <deque>
#include <exception>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/strings.h"
#include "io/host/descriptor.h"
#include "io/http/message_reader.h"
#include "io/http/outbox.h"
#include "io/http/routes.h"
#include "io/http/transport.h"
#include "io/http/web_socket.h"

namespace tiphys::http {

// --- answers that come later ---

struct EventStream::Queue {
  Queue(const asio::any_io_executor& executor, EventStreamOptions given)
      : options(std::move(given)), outbox(executor, options.max_bytes, options.max_events) {}

  EventStreamOptions options;
  Outbox outbox;
  bool is_client_gone = false;
  bool is_server_closing = false;
};

struct Responder::Exchange {
  Exchange(const asio::any_io_executor& where, std::shared_ptr<const bool> server_is_open)
      : executor(where), is_open(std::move(server_is_open)), answered(where) {}

  template <class Answer>
  void give(Answer what) {
    answer = std::move(what);
    answered.cancel();
  }

  asio::any_io_executor executor;
  std::shared_ptr<const bool> is_open;  // false once the server is gone
  asio::steady_timer answered;          // cancelled when there is an answer
  std::variant<std::monostate, Response, std::shared_ptr<EventStream::Queue>,
               std::shared_ptr<WebSocket::State>>
      answer;
  bool is_over = false;  // nobody waits for the answer any more
  RequestHead head;      // of a request that asks for an upgrade
};

namespace {

constexpr std::size_t kReadSize = 4096;
constexpr std::size_t kJoinedSize = std::size_t{16} << 10U;  // a shorter body is sent with its head
constexpr std::size_t kExtraConnections = 64;  // beyond the limit, to tell them that it is reached
constexpr int kBacklog = 512;
constexpr int kAcceptedInARow = 64;

bool is_known_method(std::string_view method) {
  constexpr std::string_view kMethods[] = {"GET",   "HEAD",    "POST",    "PUT",  "DELETE",
                                           "PATCH", "OPTIONS", "CONNECT", "TRACE"};
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

std::string head_text(int status, const Headers& headers) {
  return concat("HTTP/1.1 ", std::to_string(status), " ", reason_phrase(status), "\r\n",
                "Date: ", date(), "\r\n", to_text(headers), "\r\n");
}

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

bool is_sendable(const Response& response) {
  return response.status >= 200 && response.status <= 599 &&
         std::all_of(response.headers.begin(), response.headers.end(), [](const Header& header) {
           return is_token(header.name) && is_header_value(header.value);
         });
}

bool wants_to_stay(const RequestHead& head) {
  if (head.headers.has_word("Connection", "close")) return false;
  return head.is_1_1 || head.headers.has_word("Connection", "keep-alive");
}

std::string chunk(std::string_view text) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return concat(size.data(), text, "\r\n");
}

std::string os_error(int error) { return std::generic_category().message(error); }

// 127.0.0.1 or ::1, with the port.
host::Address address_of(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> ip{};
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &v4.sin_addr, ip.data(), ip.size());
    return {ip.data(), ntohs(v4.sin_port)};
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, ip.data(), ip.size());
  return {ip.data(), ntohs(v6.sin6_port)};
}

struct Listener {
  Server::ListenerId id;
  asio::posix::stream_descriptor descriptor;
  asio::steady_timer pause;  // after the system had no room for another connection
  int family;
  std::optional<host::TlsContext> tls;
  std::string unix_path;
  ino_t inode = 0;  // of the file at that path, which may be another one by now
};

struct Route {
  Handler handler;
  std::optional<std::size_t> body_bytes;
};

class Connection;

}  // namespace

// --- the server's state, which connections keep alive ---

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  Impl(asio::any_io_executor where, ServerOptions given)
      : executor(std::move(where)), options(std::move(given)), grace_timer(executor) {}

  Result<Listening> start(host::Descriptor descriptor, int family,
                          std::optional<host::TlsContext> tls, const std::string& unix_path,
                          host::Address address, ino_t inode);
  void stop(ListenerId id);
  void take(int accepted, const Listener& listener, const sockaddr_storage& from);
  void ended(std::uint64_t connection);
  void offence(const std::string& peer, const std::string& what) const {
    if (*is_open && options.on_offence) options.on_offence(peer, what);
  }
  void drain();
  void abort();
  void finish_if_empty();

  asio::any_io_executor executor;
  ServerOptions options;
  Routes routes{};
  std::deque<Route> handlers{};  // stay where they are when more are added
  std::shared_ptr<bool> is_open = std::make_shared<bool>(true);  // false once the server is gone
  bool is_draining = false;

  std::map<ListenerId, std::shared_ptr<Listener>> listeners{};
  ListenerId last_listener = 0;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections{};
  std::uint64_t last_connection = 0;
  bool is_full = false;              // and was told so
  std::size_t all_bodies_bytes = 0;  // of requests that are not answered yet

  asio::steady_timer grace_timer;
  std::vector<std::function<void()>> when_closed{};
};

namespace {

// --- one connection ---

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Server::Impl> server, std::shared_ptr<Transport> transport, Peer peer)
      : server_(std::move(server)), transport_(std::move(transport)), peer_(std::move(peer)) {}

  asio::awaitable<void> run();
  // For a connection too many.
  asio::awaitable<void> refuse_all();

  // Ends as soon as what has begun is done.
  void drain();
  void abort();

 private:
  enum class Next : std::uint8_t {
    kRequest,  // the connection is ready for another one
    kLinger,   // a last word was sent
    kClose,
  };
  struct Answered {
    std::size_t route = 0;
    Request request;
  };

  asio::awaitable<Next> serve_one();
  asio::awaitable<Next> serve_body(RequestReader* reader);
  asio::awaitable<Next> answer(RequestHead head, Answered what);
  asio::awaitable<Next> send(Response response, bool stays);
  asio::awaitable<Next> refuse(int status, std::string message, bool stays);
  asio::awaitable<Next> refuse_badly(Refusal refusal);
  asio::awaitable<Next> cut_off(ErrorCode error, std::string_view place);
  asio::awaitable<Next> stream_events(std::shared_ptr<EventStream::Queue> queue);
  asio::awaitable<StreamEnd> send_events(std::shared_ptr<EventStream::Queue> queue);
  static asio::awaitable<void> watch_for_end(std::shared_ptr<Connection> self,
                                             std::shared_ptr<EventStream::Queue> queue);
  asio::awaitable<ErrorCode> receive();
  asio::awaitable<void> linger();
  void charge(std::size_t bytes);
  [[nodiscard]] const Limits& limits() const { return server_->options.limits; }

  std::shared_ptr<Server::Impl> server_;
  std::shared_ptr<Transport> transport_;
  Peer peer_;
  std::string buffer_;  // received and not yet understood

  bool is_idle_ = true;  // nothing of a request has come yet
  bool is_first_ = true;
  // Of the request that is being served:
  bool is_1_1_ = true;
  bool is_head_request_ = false;
  bool stays_ = false;
  std::size_t charged_bytes_ = 0;
  std::shared_ptr<Responder::Exchange> exchange_;
  std::shared_ptr<EventStream::Queue> events_;
  std::shared_ptr<WebSocket::State> web_socket_;
};

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  transport_->expire_after(limits().header_time);
  auto shaking = transport_->shake_hands();
  if (const Status shaken = co_await std::move(shaking); !shaken) {
    if (!server_->is_draining) server_->offence(peer_.address, shaken.error().message);
    transport_->close();
    co_return;
  }
  if (const SSL* tls = transport_->tls()) peer_.certificate = host::peer_certificate(tls);
  Next next = Next::kRequest;
  while (next == Next::kRequest) {
    auto serving = serve_one();
    next = co_await std::move(serving);
    charge(0);
    is_first_ = false;
  }
  if (next == Next::kLinger) {
    auto lingering = linger();
    co_await std::move(lingering);
  }
  transport_->close();
}

asio::awaitable<void> Connection::refuse_all() {
  const auto self = shared_from_this();
  is_idle_ = false;
  auto refusing = refuse(503, "there are too many connections; try again later", false);
  if (co_await std::move(refusing) == Next::kLinger) {
    auto lingering = linger();
    co_await std::move(lingering);
  }
  transport_->close();
}

void Connection::drain() {
  stays_ = false;
  if (is_idle_) transport_->expire_now();
  if (events_) {
    events_->is_server_closing = true;
    events_->outbox.close();
  }
  if (web_socket_ && !web_socket_->outbox.is_closing()) {
    web_socket_->is_server_closing = true;
    web_socket_->close_code = 1001;
    web_socket_->close_reason = "the server is closing";
    web_socket_->outbox.close();
  }
}

void Connection::abort() {
  transport_->close();
  if (exchange_) exchange_->answered.cancel();
  if (events_) events_->outbox.wake();
}

asio::awaitable<Connection::Next> Connection::serve_one() {
  RequestReader reader(limits().header_bytes);
  is_idle_ = buffer_.empty();
  is_1_1_ = true;
  is_head_request_ = false;
  if (is_idle_ && server_->is_draining) co_return Next::kLinger;
  transport_->expire_after(is_idle_ && !is_first_ ? limits().idle_time : limits().header_time);
  while (true) {
    const auto progress = reader.read(buffer_);
    if (!progress) {
      is_idle_ = false;
      auto refusing = refuse_badly(progress.error());
      co_return co_await std::move(refusing);
    }
    if (*progress == Progress::kHead) break;
    auto receiving = receive();
    if (const ErrorCode error = co_await std::move(receiving)) {
      if (is_idle_) co_return error == asio::error::timed_out ? Next::kLinger : Next::kClose;
      auto cutting = cut_off(error, "header");
      co_return co_await std::move(cutting);
    }
    if (is_idle_) transport_->expire_after(limits().header_time);
    is_idle_ = false;
  }
  is_idle_ = false;

  const RequestHead& head = reader.head();
  is_1_1_ = head.is_1_1;
  is_head_request_ = head.method == "HEAD";
  stays_ = wants_to_stay(head) && !server_->is_draining;
  // A body that nobody will read stands between this request and the next.
  const bool stays_refused = stays_ && !head.has_body();
  if (!is_known_method(head.method)) {
    auto refusing =
        refuse(501, concat("the method '", head.method, "' is not known"), stays_refused);
    co_return co_await std::move(refusing);
  }
  Answered what{.request = {.method = head.method, .target = head.target, .path = ""}};
  auto target = parse_target(head.target);
  if (!target) {
    auto refusing = refuse(400, target.error().message, stays_refused);
    co_return co_await std::move(refusing);
  }
  auto query = parse_query(target->query);
  if (!query) {
    auto refusing = refuse(400, query.error().message, stays_refused);
    co_return co_await std::move(refusing);
  }
  auto found = server_->routes.find(head.method, target->path);
  if (!found) {
    Response response = error_response(found.error().status, found.error().message);
    if (found.error().status == 405)
      response.headers.set("Allow", join(found.error().allowed, ", "));
    auto sending = send(std::move(response), stays_refused);
    co_return co_await std::move(sending);
  }
  what.route = found->index;
  what.request.path = std::move(target->path);
  what.request.captures = std::move(found->captures);
  what.request.query = std::move(*query);
  what.request.peer = peer_;

  const std::size_t most = server_->handlers[what.route].body_bytes.value_or(limits().body_bytes);
  const std::string too_long =
      concat("the body is longer than the ", std::to_string(most), " bytes that are accepted here");
  if (head.content_length.value_or(0) > most) {
    server_->offence(peer_.address, too_long);
    auto refusing = refuse(413, too_long, false);
    co_return co_await std::move(refusing);
  }
  if (const std::string* expected = head.headers.find("Expect"); expected != nullptr && is_1_1_) {
    if (!same_word(*expected, "100-continue")) {
      auto refusing = refuse(417, concat("Expect: '", *expected, "' is not known"), stays_refused);
      co_return co_await std::move(refusing);
    }
    if (head.has_body() && buffer_.empty()) {
      auto writing = transport_->write("HTTP/1.1 100 Continue\r\n\r\n", limits().write_time);
      if (co_await std::move(writing)) co_return Next::kClose;
    }
  }
  reader.limit_body(most);
  auto serving = serve_body(&reader);
  if (const Next next = co_await std::move(serving); next != Next::kRequest) co_return next;
  what.request.headers = head.headers;
  what.request.body = std::move(reader.body());
  auto answering = answer(head, std::move(what));
  co_return co_await std::move(answering);
}

// kRequest: the body is complete.
asio::awaitable<Connection::Next> Connection::serve_body(RequestReader* reader) {
  transport_->expire_after(limits().body_time);
  while (true) {
    const auto progress = reader->read(buffer_);
    if (!progress) {
      auto refusing = refuse_badly(progress.error());
      co_return co_await std::move(refusing);
    }
    charge(reader->body().size());
    if (*progress == Progress::kDone) co_return Next::kRequest;
    if (server_->all_bodies_bytes > limits().all_bodies_bytes) {
      reader->body() = {};
      charge(0);
      server_->offence(peer_.address, "all requests together hold too many bytes");
      auto refusing = refuse(503, "there are too many requests; try again later", false);
      co_return co_await std::move(refusing);
    }
    auto receiving = receive();
    if (const ErrorCode error = co_await std::move(receiving)) {
      auto cutting = cut_off(error, "body");
      co_return co_await std::move(cutting);
    }
  }
}

asio::awaitable<Connection::Next> Connection::answer(RequestHead head, Answered what) {
  if (!*server_->is_open) co_return Next::kClose;
  const auto exchange = std::make_shared<Responder::Exchange>(server_->executor, server_->is_open);
  if (head.headers.find("Upgrade") != nullptr) exchange->head = std::move(head);
  exchange_ = exchange;
  transport_->expire_never();
  try {
    const Handler& handler = server_->handlers[what.route].handler;
    handler(std::move(what.request), Responder(exchange));
  } catch (const std::exception& error) {
    server_->offence(peer_.address, concat("a handler failed: ", error.what()));
  }
  if (std::holds_alternative<std::monostate>(exchange->answer)) {
    exchange->answered.expires_after(limits().answer_time);
    auto waiting = exchange->answered.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await std::move(waiting);
  }
  exchange->is_over = true;
  exchange_ = nullptr;
  if (auto* response = std::get_if<Response>(&exchange->answer)) {
    auto sending = send(std::move(*response), stays_);
    co_return co_await std::move(sending);
  }
  if (auto* queue = std::get_if<std::shared_ptr<EventStream::Queue>>(&exchange->answer)) {
    auto streaming = stream_events(*queue);
    co_return co_await std::move(streaming);
  }
  if (auto* state = std::get_if<std::shared_ptr<WebSocket::State>>(&exchange->answer)) {
    web_socket_ = *state;
    if (server_->is_draining) drain();
    transport_->unread(std::exchange(buffer_, {}));
    auto talking = run_web_socket(transport_, std::move(exchange->head), *state);
    co_await std::move(talking);
    co_return Next::kClose;
  }
  if (transport_->is_closed()) co_return Next::kClose;
  server_->offence(peer_.address, "a handler gave no answer in time");
  auto refusing = refuse(504, "the answer takes too long; try again later", false);
  co_return co_await std::move(refusing);
}

asio::awaitable<Connection::Next> Connection::send(Response response, bool stays) {
  if (!is_sendable(response))
    response = error_response(500, "the answer cannot be written as HTTP");
  stays = stays && stays_;
  Headers headers = std::move(response.headers);
  for (const auto* ours : {"Connection", "Content-Length", "Date", "Transfer-Encoding"})
    headers.remove(ours);
  if (!has_no_body(response.status))
    headers.add("Content-Length", std::to_string(response.body.size()));
  if (!stays) headers.add("Connection", "close");
  if (stays && !is_1_1_) headers.add("Connection", "keep-alive");

  std::string text = head_text(response.status, headers);
  if (is_head_request_ || has_no_body(response.status)) response.body.clear();
  if (response.body.size() <= kJoinedSize) text += std::exchange(response.body, {});
  auto writing = transport_->write(std::move(text), limits().write_time);
  ErrorCode error = co_await std::move(writing);
  if (!error && !response.body.empty()) {
    auto writing_body = transport_->write(std::move(response.body), limits().write_time);
    error = co_await std::move(writing_body);
  }
  if (error == asio::error::timed_out)
    server_->offence(peer_.address, "the client does not read its answer");
  co_return error ? Next::kClose : stays ? Next::kRequest : Next::kLinger;
}

asio::awaitable<Connection::Next> Connection::refuse(int status, std::string message, bool stays) {
  auto sending = send(error_response(status, message), stays);
  co_return co_await std::move(sending);
}

// For what leaves nobody sure where the next request begins.
asio::awaitable<Connection::Next> Connection::refuse_badly(Refusal refusal) {
  server_->offence(peer_.address, refusal.message);
  auto refusing = refuse(refusal.status, std::move(refusal.message), false);
  co_return co_await std::move(refusing);
}

asio::awaitable<Connection::Next> Connection::cut_off(ErrorCode error, std::string_view place) {
  if (error != asio::error::timed_out || transport_->is_closed()) {
    server_->offence(peer_.address, concat("the connection ended in the middle of a ", place));
    co_return Next::kClose;
  }
  auto refusing = refuse_badly({408, concat("the ", place, " of the request took too long")});
  co_return co_await std::move(refusing);
}

asio::awaitable<Connection::Next> Connection::stream_events(
    std::shared_ptr<EventStream::Queue> queue) {
  events_ = queue;
  if (server_->is_draining) drain();
  queue->outbox.interrupt = [transport = transport_] { transport->close(); };
  auto sending = send_events(queue);
  const StreamEnd end = co_await std::move(sending);
  events_ = nullptr;
  if (end == StreamEnd::kClosed || end == StreamEnd::kServerClosed) {
    transport_->expire_after(limits().linger_time);
    auto shutting = transport_->shut_down();
    co_await std::move(shutting);
    if (!queue->is_client_gone && !is_head_request_) {
      auto waiting = queue->outbox.wait(limits().linger_time);
      co_await std::move(waiting);
    }
  }
  queue->outbox.end();
  transport_->close();
  if (end == StreamEnd::kOverflow)
    server_->offence(peer_.address, "the client does not read its events");
  if (*server_->is_open && queue->options.on_end) queue->options.on_end(end);
  co_return Next::kClose;
}

asio::awaitable<StreamEnd> Connection::send_events(std::shared_ptr<EventStream::Queue> queue) {
  Headers headers = queue->options.headers;
  headers.set("Content-Type", "text/event-stream");
  headers.set("Cache-Control", "no-store");
  headers.set("Connection", "close");
  if (is_1_1_) headers.set("Transfer-Encoding", "chunked");
  auto writing_head = transport_->write(head_text(200, headers), limits().write_time);
  if (co_await std::move(writing_head)) co_return StreamEnd::kClientGone;
  if (is_head_request_) co_return StreamEnd::kClosed;

  asio::co_spawn(server_->executor, watch_for_end(shared_from_this(), queue), asio::detached);

  Outbox& outbox = queue->outbox;
  while (true) {
    if (outbox.is_overflowed()) co_return StreamEnd::kOverflow;
    if (queue->is_client_gone || transport_->is_closed())
      co_return queue->is_server_closing ? StreamEnd::kServerClosed : StreamEnd::kClientGone;
    std::string text;
    while (!outbox.empty() && text.size() < kJoinedSize) text += outbox.take().text;
    const bool is_last = text.empty() && outbox.is_closing();
    if (text.empty() && !is_last) {
      transport_->expire_never();
      const auto since = asio::steady_timer::clock_type::now();
      auto waiting = outbox.wait(queue->options.heartbeat);
      co_await std::move(waiting);
      if (asio::steady_timer::clock_type::now() - since < queue->options.heartbeat) continue;
      if (!outbox.empty() || outbox.is_closing()) continue;
      text = ":\n\n";  // a comment, for proxies and for us to notice that nobody is there
    }
    if (is_1_1_) text = is_last ? "0\r\n\r\n" : chunk(text);
    auto writing = transport_->write(std::move(text), limits().write_time);
    const ErrorCode error = co_await std::move(writing);
    outbox.sent();
    if (outbox.is_overflowed()) co_return StreamEnd::kOverflow;
    if (error) co_return StreamEnd::kClientGone;
    if (is_last) co_return queue->is_server_closing ? StreamEnd::kServerClosed : StreamEnd::kClosed;
  }
}

// A client of an event stream has nothing more to say; what it says is read to notice its end.
asio::awaitable<void> Connection::watch_for_end(std::shared_ptr<Connection> self,
                                                std::shared_ptr<EventStream::Queue> queue) {
  std::array<char, 64> bytes{};
  ErrorCode error;
  while (!error) {
    auto reading = self->transport_->read(asio::buffer(bytes));
    std::tie(error, std::ignore) = co_await std::move(reading);
  }
  queue->is_client_gone = true;
  queue->outbox.wake();
  if (!queue->outbox.is_over()) self->transport_->expire_now();  // a write may be stuck
}

asio::awaitable<ErrorCode> Connection::receive() {
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kReadSize);
  auto reading = transport_->read(asio::mutable_buffer(buffer_.data() + held, kReadSize));
  const auto [error, bytes] = co_await std::move(reading);
  buffer_.resize(held + (error ? 0 : bytes));
  co_return error;
}

// Were the socket closed with something unread, the client might never see our last word.
asio::awaitable<void> Connection::linger() {
  is_idle_ = true;  // nobody waits for us to end
  buffer_.clear();
  transport_->expire_after(limits().linger_time);
  auto shutting = transport_->shut_down();
  co_await std::move(shutting);
  while (transport_->tls() == nullptr) {
    auto receiving = receive();
    if (co_await std::move(receiving)) break;
    buffer_.clear();
  }
}

// How many bytes of a body this connection holds now.
void Connection::charge(std::size_t bytes) {
  server_->all_bodies_bytes += bytes - charged_bytes_;
  charged_bytes_ = bytes;
}

// --- listeners ---

asio::awaitable<void> accept_all(std::shared_ptr<Server::Impl> server,
                                 std::shared_ptr<Listener> listener) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  while (listener->descriptor.is_open()) {
    auto waiting = listener->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                                   asio::as_tuple(asio::use_awaitable));
    const auto [error] = co_await std::move(waiting);
    if (error) break;
    int reason = 0;
    for (int i = 0; i < kAcceptedInARow && reason == 0 && listener->descriptor.is_open(); ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof(from);
      const int accepted =
          ::accept4(listener->descriptor.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                    SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (accepted >= 0)
        server->take(accepted, *listener, from);
      else
        reason = errno;
    }
    // Some clients were gone before we came; anything else means that the system has no room, which may pass.
    if (reason == 0 || reason == EAGAIN || reason == EINTR || reason == ECONNABORTED) continue;
    server->offence("", concat("no connection can be accepted: ", os_error(reason)));
    listener->pause.expires_after(kPause);
    auto pausing = listener->pause.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await std::move(pausing);
  }
}

}  // namespace

Result<Server::Listening> Server::Impl::start(host::Descriptor descriptor, int family,
                                              std::optional<host::TlsContext> tls,
                                              const std::string& unix_path, host::Address address,
                                              ino_t inode) {
  const ListenerId id = ++last_listener;
  auto listener = std::make_shared<Listener>(
      Listener{.id = id,
               .descriptor = asio::posix::stream_descriptor(executor, descriptor.release()),
               .pause = asio::steady_timer(executor),
               .family = family,
               .tls = std::move(tls),
               .unix_path = unix_path,
               .inode = inode});
  listeners.emplace(id, listener);
  asio::co_spawn(executor, accept_all(shared_from_this(), std::move(listener)), asio::detached);
  return Listening{id, std::move(address)};
}

void Server::Impl::stop(ListenerId id) {
  const auto found = listeners.find(id);
  if (found == listeners.end()) return;
  const auto listener = found->second;
  listeners.erase(found);
  if (!listener->unix_path.empty()) {
    struct stat now{};
    if (::lstat(listener->unix_path.c_str(), &now) == 0 && now.st_ino == listener->inode)
      ::unlink(listener->unix_path.c_str());
  }
  ErrorCode ignored;
  ignore(listener->descriptor.close(ignored));
  listener->pause.cancel();
}

void Server::Impl::take(int accepted, const Listener& listener, const sockaddr_storage& from) {
  Peer peer{.address = concat("unix:", listener.unix_path), .is_secure = listener.tls.has_value()};
  if (listener.family == AF_UNIX) {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    if (::getsockopt(accepted, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0)
      peer.user_id = credentials.uid;
  } else {
    peer.address = host::to_string(address_of(from));
  }

  const bool is_too_many = connections.size() >= options.limits.connections;
  if (is_too_many && !std::exchange(is_full, true))
    offence(peer.address,
            concat("there are already ", std::to_string(connections.size()), " connections"));
  if (!is_too_many) is_full = false;
  auto socket = adopt_socket(executor, listener.family, accepted);
  if (!socket) return;
  // A TLS client that is too many is just dropped: a handshake costs more than it deserves.
  if (is_too_many &&
      (listener.tls || connections.size() >= options.limits.connections + kExtraConnections))
    return;
  std::shared_ptr<Transport> transport;
  if (listener.tls) {
    SSL* connection = SSL_new(listener.tls->native());
    if (connection == nullptr) return offence(peer.address, host::tls_error());
    SSL_set_accept_state(connection);
    transport = make_tls_transport(std::move(*socket), connection);
  } else {
    transport = make_transport(std::move(*socket));
  }
  const std::uint64_t id = ++last_connection;
  const auto connection =
      std::make_shared<Connection>(shared_from_this(), std::move(transport), std::move(peer));
  connections.emplace(id, connection);
  asio::co_spawn(
      executor, is_too_many ? connection->refuse_all() : connection->run(),
      [self = shared_from_this(), id](const std::exception_ptr& /*error*/) { self->ended(id); });
}

void Server::Impl::ended(std::uint64_t connection) {
  const auto found = connections.find(connection);
  if (found == connections.end()) return;
  found->second->abort();  // nothing to do, unless an exception ended it
  connections.erase(found);
  finish_if_empty();
}

void Server::Impl::drain() {
  is_draining = true;
  while (!listeners.empty()) stop(listeners.begin()->first);
  for (const auto& [id, connection] : connections) connection->drain();
}

void Server::Impl::abort() {
  for (const auto& [id, connection] : connections) connection->abort();
}

void Server::Impl::finish_if_empty() {
  if (!is_draining || !connections.empty() || !*is_open) return;
  grace_timer.cancel();
  for (auto& done : std::exchange(when_closed, {}))
    asio::post(executor, [open = is_open, done = std::move(done)] {
      if (*open && done) done();
    });
}

// --- what owners see ---

Server::Server(asio::any_io_executor executor, ServerOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(options))) {
  route("GET", "/healthz", [](const Request& /*request*/, Responder responder) {
    responder.answer(text_response("ok\n"));
  });
  route("GET", "/readyz", [impl = impl_.get()](const Request& /*request*/, Responder responder) {
    const auto& ask = impl->options.reasons_not_ready;
    const std::vector<std::string> reasons = ask ? ask() : std::vector<std::string>();
    if (reasons.empty()) return responder.answer(text_response("ok\n"));
    responder.answer(error_response(503, join(reasons, "; ")));
  });
}

Server::~Server() {
  *impl_->is_open = false;
  impl_->grace_timer.cancel();
  impl_->drain();
  impl_->abort();
  // They keep the state alive that holds them; what still runs holds itself.
  impl_->connections.clear();
}

void Server::route(std::string method, std::string_view pattern, Handler handler,
                   RouteOptions options) {
  impl_->routes.add(std::move(method), pattern, impl_->handlers.size());
  impl_->handlers.push_back({std::move(handler), options.body_bytes});
}

void Server::route(std::string method, std::string_view pattern, CoroutineHandler handler,
                   RouteOptions options) {
  // Shared with each coroutine, which may outlast the route.
  auto shared = std::make_shared<CoroutineHandler>(std::move(handler));
  route(
      std::move(method), pattern,
      [executor = impl_->executor, shared = std::move(shared)](Request request,
                                                               Responder responder) {
        asio::co_spawn(executor, (*shared)(std::move(request)),
                       [shared, responder = std::move(responder)](const std::exception_ptr& error,
                                                                  Response response) mutable {
                         if (!error) responder.answer(std::move(response));
                       });
      },
      options);
}

Result<Server::Listening> Server::listen(const host::Address& address,
                                         std::optional<host::TlsContext> tls) {
  const auto cannot = [&](std::string_view why) {
    return fail(Code::kUnavailable, concat("cannot listen on ", to_string(address), ": ", why));
  };
  if (impl_->is_draining) return cannot("the server is closing");
  sockaddr_storage storage{};
  socklen_t size = 0;
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, address.ip.c_str(), &v4.sin_addr) == 1) {
    storage.ss_family = AF_INET;
    v4.sin_port = htons(address.port);
    size = sizeof(v4);
  } else if (::inet_pton(AF_INET6, address.ip.c_str(), &v6.sin6_addr) == 1) {
    storage.ss_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    size = sizeof(v6);
  } else {
    return cannot("it is not an IP address");
  }
  host::Descriptor descriptor(
      ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!descriptor.is_open() ||
      ::setsockopt(descriptor.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(descriptor.number(), reinterpret_cast<sockaddr*>(&storage), size) != 0 ||
      ::listen(descriptor.number(), kBacklog) != 0 ||
      ::getsockname(descriptor.number(), reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return cannot(os_error(errno));
  const int family = storage.ss_family;
  return impl_->start(std::move(descriptor), family, std::move(tls), "", address_of(storage), 0);
}

Result<Server::Listening> Server::listen_unix(const std::string& path, unsigned mode) {
  const auto cannot = [&](std::string_view why) {
    return fail(Code::kUnavailable, concat("cannot listen on unix:", path, ": ", why));
  };
  if (impl_->is_draining) return cannot("the server is closing");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return cannot("the path is empty, or longer than 107 bytes");
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);

  host::Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor.is_open()) return cannot(os_error(errno));
  // Before the socket has its name, so that it is never open to more than these.
  if (::fchmod(descriptor.number(), mode) != 0) return cannot(os_error(errno));
  if (::bind(descriptor.number(), generic, sizeof(address)) != 0) {
    if (errno != EADDRINUSE) return cannot(os_error(errno));
    struct stat existing{};
    if (::lstat(path.c_str(), &existing) != 0 || !S_ISSOCK(existing.st_mode))
      return cannot("something that is not a socket is there");
    const host::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe.is_open()) return cannot(os_error(errno));
    if (::connect(probe.number(), generic, sizeof(address)) == 0 || errno != ECONNREFUSED)
      return cannot("another process listens there");
    if (::unlink(path.c_str()) != 0 || ::bind(descriptor.number(), generic, sizeof(address)) != 0)
      return cannot(os_error(errno));
  }
  struct stat made{};
  if (::listen(descriptor.number(), kBacklog) != 0 || ::lstat(path.c_str(), &made) != 0)
    return cannot(os_error(errno));
  return impl_->start(std::move(descriptor), AF_UNIX, std::nullopt, path, {path, 0}, made.st_ino);
}

void Server::stop_listening(ListenerId listener) { impl_->stop(listener); }

void Server::close(Duration grace, std::function<void()> done) {
  impl_->when_closed.push_back(std::move(done));
  impl_->drain();
  impl_->grace_timer.expires_after(grace);
  impl_->grace_timer.async_wait([weak = std::weak_ptr(impl_)](const ErrorCode& error) {
    if (const auto impl = weak.lock(); impl && !error) impl->abort();
  });
  impl_->finish_if_empty();
}

std::size_t Server::connections() const { return impl_->connections.size(); }

// --- responder ---

Responder::Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
Responder::Responder(Responder&&) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(exchange_, other.exchange_);
  return *this;
}

Responder::~Responder() {
  if (exchange_) answer(error_response(500, "the server has no answer to this request"));
}

std::shared_ptr<Responder::Exchange> Responder::take() {
  TIPHYS_CHECK(exchange_ != nullptr, "a request is answered once");
  return std::move(exchange_);
}

void Responder::answer(Response response) { take()->give(std::move(response)); }

EventStream Responder::stream_events(EventStreamOptions options) {
  const auto exchange = take();
  auto queue = std::make_shared<EventStream::Queue>(exchange->executor, std::move(options));
  if (exchange->is_over) {
    queue->outbox.end();
    asio::post(exchange->executor, [queue, is_open = exchange->is_open] {
      if (*is_open && queue->options.on_end) queue->options.on_end(StreamEnd::kClientGone);
    });
  } else {
    exchange->give(queue);
  }
  return EventStream(std::move(queue));
}

Result<WebSocket> Responder::upgrade(WebSocketOptions options) {
  const auto exchange = take();
  if (auto refusal = refuse_upgrade(exchange->head, options)) {
    std::string why = concat("refused the upgrade with ", std::to_string(refusal->status));
    exchange->give(*std::move(refusal));
    return fail(Code::kFailedPrecondition, std::move(why));
  }
  if (exchange->is_over) return fail(Code::kUnavailable, "the client is gone");
  auto state =
      std::make_shared<WebSocket::State>(exchange->executor, std::move(options), exchange->is_open);
  exchange->give(state);
  return WebSocket(std::move(state));
}

// --- events ---

EventStream::EventStream(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
EventStream::EventStream(EventStream&&) noexcept = default;

EventStream& EventStream::operator=(EventStream&& other) noexcept {
  std::swap(queue_, other.queue_);
  return *this;
}

EventStream::~EventStream() {
  if (queue_) queue_->outbox.close();
}

void EventStream::send(std::string_view event, std::string_view data, std::string_view id) {
  queue_->outbox.push({event_text(event, data, id)});
}

void EventStream::close() { queue_->outbox.close(); }

std::string event_text(std::string_view event, std::string_view data, std::string_view id) {
  const auto in_one_line = [](std::string_view text) {
    std::string line(text);
    std::erase_if(line,
                  [](char letter) { return letter == '\n' || letter == '\r' || letter == '\0'; });
    return line;
  };
  std::string text;
  if (!id.empty()) text += concat("id: ", in_one_line(id), "\n");
  if (!event.empty()) text += concat("event: ", in_one_line(event), "\n");
  // A carriage return ends a line too, alone or with a line feed.
  std::string lines(data);
  for (std::size_t at = 0; (at = lines.find('\r', at)) != std::string::npos;)
    lines.compare(at, 2, "\r\n") == 0 ? lines.erase(at, 1) : lines.replace(at, 1, "\n");
  for (const auto line : split(lines, '\n')) text += concat("data: ", line, "\n");
  return text + "\n";
}

}  // namespace tiphys::http
