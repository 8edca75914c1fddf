#include "io/rpc/http2/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "io/host/descriptor.h"
#include "io/rpc/http2/address.h"
#include "io/rpc/http2/connection.h"

namespace tiphys::rpc::http2 {

namespace asio = boost::asio;

namespace {

struct Target {
  std::string url;
  std::string scheme;
  HostPort host_port;  // of http and https
  std::string path;    // of unix
  [[nodiscard]] std::string authority() const {
    return scheme == "unix" ? "localhost" : url.substr(scheme.size() + std::strlen("://"));
  }
};

Result<Target> parse_url(const std::string& url) {
  constexpr std::string_view kUnix = "unix:";
  if (url.starts_with(kUnix))
    return Target{.url = url, .scheme = "unix", .host_port = {}, .path = url.substr(kUnix.size())};
  const auto bad = [&url] {
    return fail(Code::kInvalidArgument, "'" + url +
                                            "' is no address of a server; expected "
                                            "http://HOST:PORT, https://HOST:PORT or unix:PATH");
  };
  const auto separator = url.find("://");
  if (separator == std::string::npos) return bad();
  const std::string scheme = url.substr(0, separator);
  if (scheme != "http" && scheme != "https") return bad();
  std::string rest = url.substr(separator + std::strlen("://"));
  if (rest.ends_with('/')) rest.pop_back();
  auto host_port = parse_host_port(rest);
  if (!host_port) return bad();
  return Target{.url = scheme + "://" + rest,
                .scheme = scheme,
                .host_port = std::move(*host_port),
                .path = {}};
}

// Tries the addresses of one target, one after the other, and hands the first socket that connects to the connection.
class Dial final : public std::enable_shared_from_this<Dial> {
 public:
  Dial(std::shared_ptr<Connection> connection, Target target, ConnectorOptions options)
      : connection_(std::move(connection)),
        target_(std::move(target)),
        options_(std::move(options)) {}

  void resolved(const Result<std::vector<SocketAddress>>& addresses) {
    if (!addresses) return give_up(addresses.error().message);
    addresses_ = *addresses;
    try_next();
  }

 private:
  void give_up(const std::string& why) {
    connection_->give_up("cannot connect to " + target_.url + ": " + why);
  }

  void try_next() {
    while (next_ < addresses_.size() && !connection_->is_closed()) {
      const SocketAddress& address = addresses_[next_++];
      const int descriptor =
          socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (descriptor < 0) {
        problem_ = std::strerror(errno);
        continue;
      }
      connection_->socket() = Connection::Socket(
          connection_->executor(), asio::generic::stream_protocol(address.storage.ss_family, 0),
          descriptor);
      if (!address.is_unix()) {
        const int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      }
      if (connect(descriptor, address.data(), address.length) == 0) return connected();
      if (errno == EINPROGRESS) return await_connection();
      problem_ = std::strerror(errno);
    }
    if (!connection_->is_closed()) give_up(problem_);
  }

  void await_connection() {
    connection_->socket().async_wait(
        Connection::Socket::wait_write,
        [self = shared_from_this()](const boost::system::error_code& error) {
          self->check(error);
        });
  }

  void check(const boost::system::error_code& error) {
    if (connection_->is_closed()) return;
    if (!error && !host::is_ready(connection_->socket().native_handle(), POLLOUT))
      return await_connection();
    int problem = error.value();
    socklen_t length = sizeof problem;
    if (!error)
      getsockopt(connection_->socket().native_handle(), SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem == 0) return connected();
    problem_ = std::strerror(problem);
    try_next();
  }

  void connected() {
    const int descriptor = connection_->socket().native_handle();
    if (target_.scheme != "https") return connection_->carry(plain_transport(descriptor));
    const std::string& name =
        options_.server_name.empty() ? target_.host_port.host : options_.server_name;
    auto transport = tls_client_transport(descriptor, *options_.tls, name);
    if (!transport) return give_up(transport.error().message);
    connection_->carry(std::move(*transport));
  }

  std::shared_ptr<Connection> connection_;
  Target target_;
  ConnectorOptions options_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  std::string problem_ = "there is no address";
};

Result<std::vector<SocketAddress>> to_sockets(const Result<std::vector<host::Address>>& addresses) {
  if (!addresses) return fail(addresses.error());
  std::vector<SocketAddress> sockets;
  for (const host::Address& address : *addresses) {
    TIPHYS_TRY(SocketAddress parsed, parse_socket_address(host::to_string(address)));
    sockets.push_back(parsed);
  }
  return sockets;
}

class SocketConnector final : public Connector {
 public:
  SocketConnector(asio::any_io_executor executor, host::Resolver& resolver,
                  ConnectorOptions options)
      : executor_(std::move(executor)),
        resolver_(resolver),
        options_(std::move(options)),
        buffers_(std::make_shared_for_overwrite<Buffers>()) {}

  Result<std::shared_ptr<HttpConnection>> connect(
      const std::string& url, std::shared_ptr<HttpConnection::Owner> owner) override {
    TIPHYS_TRY(Target target, parse_url(url));
    if (target.scheme == "https" && !options_.tls)
      return fail(Code::kInvalidArgument,
                  url + " needs certificates; give them, or connect without TLS by http://");
    auto peer = std::make_shared<const Peer>(Peer{.address = target.url});
    Origin origin{.scheme = target.scheme == "https" ? "https" : "http",
                  .authority = target.authority()};
    const auto connection = std::make_shared<Connection>(
        executor_, Role::kClient, options_.limits, std::move(peer), std::move(origin), buffers_);
    connection->set_owner(std::move(owner));
    connection->expect();
    const auto dial = std::make_shared<Dial>(connection, target, options_);
    if (target.scheme == "unix") {
      asio::post(executor_, [dial, address = unix_address(target.path)] {
        dial->resolved(address.map([](const SocketAddress& one) { return std::vector{one}; }));
      });
    } else {
      resolver_.resolve(target.host_port.host, target.host_port.port, executor_,
                        [dial](const Result<std::vector<host::Address>>& found) {
                          dial->resolved(to_sockets(found));
                        });
    }
    return connection->http();
  }

 private:
  asio::any_io_executor executor_;
  host::Resolver& resolver_;
  ConnectorOptions options_;
  std::shared_ptr<Buffers> buffers_;
};

}  // namespace

std::unique_ptr<Connector> connector(const asio::any_io_executor& executor,
                                     host::Resolver& resolver, ConnectorOptions options) {
  return std::make_unique<SocketConnector>(executor, resolver, std::move(options));
}

}  // namespace tiphys::rpc::http2
