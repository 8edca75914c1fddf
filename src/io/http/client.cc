#include "io/http/client.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <exception>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/http/message_reader.h"
#include "io/http/transport.h"
#include "io/http/url.h"

namespace tiphys::http {

struct Client::Impl {
  asio::any_io_executor executor;
  host::Resolver& resolver;
  ClientOptions options;
  bool is_open = true;
  std::set<std::shared_ptr<Transport>> transports{};  // of requests that are under way

  Result<host::TlsContext> tls() {
    if (!options.tls) {
      TIPHYS_TRY(options.tls, host::TlsContext::client({}, {"http/1.1"}));
    }
    return *options.tls;
  }
};

namespace {

using Addresses = std::vector<host::Address>;
using TimePoint = asio::steady_timer::time_point;

constexpr std::size_t kReadSize = std::size_t{16} << 10U;
constexpr std::size_t kMostErrorBytes = std::size_t{64} << 10U;  // of a body that nobody asked for

Error too_late(const Url& url) {
  return {Code::kDeadlineExceeded, concat(to_string(url), ": the deadline has passed")};
}

Error broken(const Url& url, std::string_view why) {
  return {Code::kUnavailable, concat(to_string(url), ": ", why)};
}

// An answer that comes from somewhere else, and a coroutine that waits for it.
template <class T>
class Awaited : public std::enable_shared_from_this<Awaited<T>> {
 public:
  explicit Awaited(const asio::any_io_executor& executor) : timer_(executor) {}

  // From any thread, once; what was told keeps nothing of this, and so the timer ends where it lived.
  auto teller() {
    return [self = this->shared_from_this()](T value) mutable {
      const auto executor = self->timer_.get_executor();
      asio::post(executor, [self = std::move(self), value = std::move(value)]() mutable {
        self->value_ = std::move(value);
        self->timer_.cancel();
      });
    };
  }
  // Nothing when it took too long.
  asio::awaitable<std::optional<T>> wait(TimePoint deadline) {
    const auto self = this->shared_from_this();
    timer_.expires_at(deadline);
    if (!value_) {
      auto waiting = timer_.async_wait(asio::as_tuple(asio::use_awaitable));
      co_await std::move(waiting);
    }
    co_return std::move(value_);
  }

 private:
  asio::steady_timer timer_;
  std::optional<T> value_;
};

Result<asio::generic::stream_protocol::endpoint> endpoint_of(const host::Address& address) {
  const std::string ip = address.ip.substr(0, address.ip.find('%'));
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    return asio::generic::stream_protocol::endpoint(&v4, sizeof(v4));
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    if (ip.size() < address.ip.size())
      v6.sin6_scope_id = ::if_nametoindex(address.ip.substr(ip.size() + 1).c_str());
    return asio::generic::stream_protocol::endpoint(&v6, sizeof(v6));
  }
  return fail(Code::kInternal, concat("'", address.ip, "' is not an IP address"));
}

Result<asio::generic::stream_protocol::endpoint> endpoint_of_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return fail(Code::kInvalidArgument, "the path of the socket is longer than 107 bytes");
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  return asio::generic::stream_protocol::endpoint(&address, sizeof(address));
}

Status check(const ClientRequest& request) {
  if (!is_token(request.method))
    return fail(Code::kInvalidArgument, concat("'", request.method, "' is not a method"));
  for (const auto& [name, value] : request.headers)
    if (!is_token(name) || !is_header_value(value))
      return fail(Code::kInvalidArgument,
                  concat("the header field '", name, "' holds what cannot be sent"));
  return {};
}

bool is_redirection(const ClientRequest& request, const Response& response) {
  if (!request.unix_path.empty() || response.headers.find("Location") == nullptr) return false;
  switch (response.status) {
    case 301:
    case 302:
    case 303:
      return request.method == "GET" || request.method == "HEAD";
    case 307:
    case 308:
      return true;
    default:
      return false;
  }
}

std::string request_text(const ClientRequest& request, const Url& url,
                         const std::string& user_agent) {
  Headers headers = request.headers;
  for (const auto* ours : {"Host", "Connection", "Content-Length", "Transfer-Encoding"})
    headers.remove(ours);
  if (headers.find("User-Agent") == nullptr) headers.add("User-Agent", user_agent);
  const bool may_have_body = request.method != "GET" && request.method != "HEAD";
  if (!request.body.empty() || may_have_body)
    headers.add("Content-Length", std::to_string(request.body.size()));
  return concat(request.method, " ", url.target, " HTTP/1.1\r\nHost: ", url.authority(),
                "\r\nConnection: close\r\n", to_text(headers), "\r\n", request.body);
}

// --- one request and its redirections ---

class Fetch {
 public:
  Fetch(std::shared_ptr<Client::Impl> client, ClientRequest request)
      : client_(std::move(client)),
        request_(std::move(request)),
        deadline_(asio::steady_timer::clock_type::now() + request_.deadline) {}

  asio::awaitable<Result<Response>> run();

 private:
  asio::awaitable<Result<Response>> ask(Url url);
  asio::awaitable<Status> connect(Url url);
  asio::awaitable<Status> connect_to(Url url, asio::generic::stream_protocol::endpoint endpoint);
  Status prepare(const Url& url, int family);
  asio::awaitable<Result<Response>> read_answer(Url url);
  asio::awaitable<Status> deliver(Url url, Response* response, std::string piece);
  void hold(std::shared_ptr<Transport> transport);
  void let_go();

  std::shared_ptr<Client::Impl> client_;
  ClientRequest request_;
  TimePoint deadline_;
  std::shared_ptr<Transport> transport_;
  std::size_t body_bytes_ = 0;
};

asio::awaitable<Result<Response>> Fetch::run() {
  if (auto checked = check(request_); !checked) co_return fail(checked.error());
  auto url = parse_url(request_.url);
  if (!url) co_return fail(url.error());
  for (int followed = 0;; ++followed) {
    auto asking = ask(*url);
    auto response = co_await std::move(asking);
    let_go();
    if (!client_->is_open) co_return fail(Code::kCancelled, "the client has ended");
    if (!response || !is_redirection(request_, *response)) co_return response;
    if (followed >= client_->options.redirections)
      co_return fail(broken(*url, concat("more than ", std::to_string(followed), " redirections")));
    auto next = resolve_url(*url, *response->headers.find("Location"));
    if (!next) co_return fail(broken(*url, next.error().message));
    if (url->is_secure && !next->is_secure)
      co_return fail(
          broken(*url, concat("redirects to ", to_string(*next), ", which is not secure")));
    if (!url->has_same_origin(*next))
      for (const auto* secret : {"Authorization", "Cookie"}) request_.headers.remove(secret);
    url = std::move(next);
  }
}

asio::awaitable<Result<Response>> Fetch::ask(Url url) {
  auto connecting = connect(url);
  if (auto connected = co_await std::move(connecting); !connected)
    co_return fail(connected.error());
  auto writing = transport_->write(request_text(request_, url, client_->options.user_agent));
  const ErrorCode error = co_await std::move(writing);
  if (error == asio::error::timed_out) co_return fail(too_late(url));
  // A server may answer and close before it has read everything: its answer is worth more than our error.
  auto reading = read_answer(url);
  auto response = co_await std::move(reading);
  if (!response && error) co_return fail(broken(url, to_sentence(error)));
  co_return response;
}

asio::awaitable<Status> Fetch::connect(Url url) {
  if (!request_.unix_path.empty()) {
    const auto endpoint = endpoint_of_unix(request_.unix_path);
    if (!endpoint) co_return fail(endpoint.error());
    auto connecting = connect_to(url, *endpoint);
    co_return co_await std::move(connecting);
  }
  const auto resolved = std::make_shared<Awaited<Result<Addresses>>>(client_->executor);
  client_->resolver.resolve(url.host, url.port, client_->executor, resolved->teller());
  auto resolving = resolved->wait(deadline_);
  const auto addresses = co_await std::move(resolving);
  if (!client_->is_open) co_return fail(Code::kCancelled, "the client has ended");
  if (!addresses) co_return fail(too_late(url));
  if (!*addresses) co_return fail(addresses->error());
  Status last;
  for (const auto& address : **addresses) {
    const auto endpoint = endpoint_of(address);
    if (!endpoint) co_return fail(endpoint.error());
    auto connecting = connect_to(url, *endpoint);
    last = co_await std::move(connecting);
    if (last || !client_->is_open || last.error().code == Code::kDeadlineExceeded) break;
  }
  co_return last;
}

asio::awaitable<Status> Fetch::connect_to(Url url,
                                          asio::generic::stream_protocol::endpoint endpoint) {
  if (auto prepared = prepare(url, endpoint.protocol().family()); !prepared)
    co_return fail(broken(url, prepared.error().message));
  auto connecting = transport_->connect(endpoint);
  const ErrorCode error = co_await std::move(connecting);
  if (error == asio::error::timed_out && transport_->is_expired()) co_return fail(too_late(url));
  if (error) co_return fail(broken(url, to_sentence(error)));
  auto shaking = transport_->shake_hands();
  const auto shaken = co_await std::move(shaking);
  if (!shaken && transport_->is_expired()) co_return fail(too_late(url));
  if (!shaken) co_return fail(broken(url, shaken.error().message));
  co_return Status();
}

// A transport that is not connected yet.
Status Fetch::prepare(const Url& url, int family) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return fail(Code::kUnavailable, std::generic_category().message(errno));
  TIPHYS_TRY(Socket socket, adopt_socket(client_->executor, family, descriptor));
  if (!url.is_secure) {
    hold(make_transport(std::move(socket)));
    return {};
  }
  TIPHYS_TRY(const host::TlsContext context, client_->tls());
  SSL* connection = SSL_new(context.native());
  if (connection == nullptr) return fail(Code::kUnavailable, host::tls_error());
  SSL_set_connect_state(connection);
  hold(make_tls_transport(std::move(socket), connection));
  return host::expect_server_name(connection, url.host);
}

asio::awaitable<Result<Response>> Fetch::read_answer(Url url) {
  ResponseReader reader(client_->options.header_bytes, request_.method == "HEAD");
  Response response;
  std::string buffer;
  body_bytes_ = 0;
  while (true) {
    auto progress = reader.read(buffer);
    if (progress && *progress == Progress::kNeedsMore) {
      // First what came of the body, then more: a sink that is slow stops the sender.
      auto delivering = deliver(url, &response, reader.take_body());
      if (auto delivered = co_await std::move(delivering); !delivered)
        co_return fail(delivered.error());
      const std::size_t held = buffer.size();
      buffer.resize(held + kReadSize);
      auto reading = transport_->read(asio::mutable_buffer(buffer.data() + held, kReadSize));
      const auto [error, bytes] = co_await std::move(reading);
      buffer.resize(held + (error ? 0 : bytes));
      if (!error) continue;
      if (error == asio::error::timed_out) co_return fail(too_late(url));
      if (error != asio::error::eof) co_return fail(broken(url, to_sentence(error)));
      progress = reader.end();
    }
    if (!progress) co_return fail(broken(url, progress.error().message));
    if (*progress == Progress::kHead) {
      response.status = reader.head().status;
      response.headers = reader.head().headers;
      if (response.status >= 100 && response.status < 200) {  // not the answer yet
        if (response.status == 101) co_return fail(broken(url, "changes the protocol unasked"));
        reader = ResponseReader(client_->options.header_bytes, request_.method == "HEAD");
      }
    }
    if (*progress == Progress::kDone) {
      auto delivering = deliver(url, &response, reader.take_body());
      if (auto delivered = co_await std::move(delivering); !delivered)
        co_return fail(delivered.error());
      co_return response;
    }
  }
}

asio::awaitable<Status> Fetch::deliver(Url url, Response* response, std::string piece) {
  if (piece.empty()) co_return Status();
  if (!client_->is_open) co_return fail(Code::kCancelled, "the client has ended");
  const bool is_wanted = response->status >= 200 && response->status < 300;
  body_bytes_ += piece.size();
  const std::size_t most =
      is_wanted ? request_.max_bytes : std::min(request_.max_bytes, kMostErrorBytes);
  if (body_bytes_ > most)
    co_return fail(Code::kResourceExhausted, concat(to_string(url), ": the answer is longer than ",
                                                    std::to_string(most), " bytes"));
  if (!is_wanted || !request_.sink) {
    response->body += piece;
    co_return Status();
  }
  const auto taken = std::make_shared<Awaited<Status>>(client_->executor);
  request_.sink(std::move(piece), taken->teller());
  auto waiting = taken->wait(deadline_);
  const auto status = co_await std::move(waiting);
  if (!client_->is_open) co_return fail(Code::kCancelled, "the client has ended");
  if (!status) co_return fail(too_late(url));
  co_return *status;
}

void Fetch::hold(std::shared_ptr<Transport> transport) {
  let_go();
  transport_ = std::move(transport);
  transport_->expire_at(deadline_);
  client_->transports.insert(transport_);
}

void Fetch::let_go() {
  if (!transport_) return;
  transport_->close();
  client_->transports.erase(transport_);
  transport_ = nullptr;
}

asio::awaitable<Result<Response>> fetch(std::shared_ptr<Client::Impl> client,
                                        ClientRequest request) {
  Fetch one(std::move(client), std::move(request));
  auto running = one.run();
  co_return co_await std::move(running);
}

}  // namespace

Client::Client(asio::any_io_executor executor, host::Resolver& resolver, ClientOptions options)
    : impl_(new Impl{
          .executor = std::move(executor), .resolver = resolver, .options = std::move(options)}) {}

Client::~Client() {
  impl_->is_open = false;
  for (const auto& transport : impl_->transports) transport->close();
}

void Client::request(ClientRequest request, std::function<void(Result<Response>)> done) {
  asio::co_spawn(impl_->executor, fetch(impl_, std::move(request)),
                 [impl = impl_, done = std::move(done)](const std::exception_ptr& error,
                                                        Result<Response> response) {
                   if (!impl->is_open) return;
                   if (error) response = fail(Code::kInternal, "the request ended in an exception");
                   done(std::move(response));
                 });
}

asio::awaitable<Result<Response>> Client::request(ClientRequest request) {
  return fetch(impl_, std::move(request));
}

}  // namespace tiphys::http
