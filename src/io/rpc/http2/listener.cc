#include "io/rpc/http2/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "io/host/descriptor.h"
#include "io/rpc/http2/address.h"
#include "io/rpc/http2/connection.h"

namespace tiphys::rpc::http2 {

namespace asio = boost::asio;

namespace {

constexpr int kAcceptedAtOnce = 64;
constexpr auto kPauseWithoutDescriptors = std::chrono::milliseconds(100);

std::string path_of(const std::string& address) { return address.substr(std::strlen("unix:")); }

// A socket file that refuses connections belongs to a process that has ended.
void remove_stale_socket(const SocketAddress& address, const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const host::Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.number(), address.data(), address.length) != 0 && errno == ECONNREFUSED)
    unlink(path.c_str());
}

class Listener final : public HttpListener, public std::enable_shared_from_this<Listener> {
 public:
  Listener(const asio::any_io_executor& executor, shell::Log& log, ListenerOptions options,
           int descriptor)
      : log_(log),
        options_(std::move(options)),
        address_(local_address(descriptor)),
        descriptor_(executor, descriptor),
        pause_(executor),
        buffers_(std::make_shared_for_overwrite<Buffers>()) {
    struct stat status{};
    if (address_.is_unix() && lstat(path_of(to_string(address_)).c_str(), &status) == 0)
      file_ = status.st_ino;
  }

  [[nodiscard]] std::string address() const override { return to_string(address_); }

  void start(Accept accept) override {
    accept_ = std::move(accept);
    wait();
  }

  void stop() override {
    if (!descriptor_.is_open()) return;
    boost::system::error_code ignored;  // it goes either way
    static_cast<void>(descriptor_.close(ignored));
    pause_.cancel();
    accept_ = nullptr;
    remove_file();
  }

 private:
  void wait() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                             if (!error) self->accept_waiting();
                           });
  }

  void accept_waiting() {
    for (int turn = 0; turn < kAcceptedAtOnce && descriptor_.is_open(); ++turn) {
      const int accepted =
          accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted >= 0) {
        take(accepted);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return pause(std::strerror(errno));
      } else if (errno != EINTR && errno != ECONNABORTED) {
        break;
      }
    }
    if (descriptor_.is_open()) wait();
  }

  // The kernel keeps the connections that wait.
  void pause(const char* why) {
    if (!std::exchange(has_complained_, true))
      log_.error("no connection can be accepted for now",
                 {{"address", address()}, {"reason", why}});
    pause_.expires_after(kPauseWithoutDescriptors);
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->accept_waiting();
    });
  }

  void take(int accepted) {
    has_complained_ = false;
    auto peer = std::make_shared<Peer>();
    if (address_.is_unix()) {
      peer->address = "unix";
      ucred credentials{};
      socklen_t length = sizeof credentials;
      if (getsockopt(accepted, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0)
        peer->credentials = UnixCredentials{credentials.pid, credentials.uid, credentials.gid};
    } else {
      const int on = 1;
      setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      peer->address = to_string(peer_address(accepted));
    }
    Connection::Socket socket(descriptor_.get_executor(),
                              asio::generic::stream_protocol(address_.storage.ss_family, 0),
                              accepted);
    std::unique_ptr<Transport> transport;
    if (options_.tls) {
      auto made = tls_server_transport(accepted, *options_.tls);
      if (!made) return log_.error("connection refused", {{"reason", made.error().message}});
      transport = std::move(*made);
    } else {
      transport = plain_transport(accepted);
    }
    const auto connection =
        std::make_shared<Connection>(descriptor_.get_executor(), Role::kServer, options_.limits,
                                     std::move(peer), Origin{}, buffers_);
    auto owner = accept_(connection->http());
    if (!owner) return;
    connection->set_owner(std::move(owner));
    connection->socket() = std::move(socket);
    connection->carry(std::move(transport));
  }

  void remove_file() {
    if (!file_) return;
    const std::string path = path_of(to_string(address_));
    struct stat status{};
    if (lstat(path.c_str(), &status) == 0 && status.st_ino == *file_) unlink(path.c_str());
    file_.reset();
  }

  shell::Log& log_;
  ListenerOptions options_;
  SocketAddress address_;
  std::optional<ino_t> file_;  // of our unix socket
  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer pause_;
  std::shared_ptr<Buffers> buffers_;
  Accept accept_;
  bool has_complained_ = false;
};

// Pending operations keep the listener itself alive; this is the part that the server owns.
class Handle final : public HttpListener {
 public:
  explicit Handle(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}
  ~Handle() override { listener_->stop(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] std::string address() const override { return listener_->address(); }
  void start(Accept accept) override { listener_->start(std::move(accept)); }
  void stop() override { listener_->stop(); }

 private:
  std::shared_ptr<Listener> listener_;
};

}  // namespace

Result<std::unique_ptr<HttpListener>> listen(const asio::any_io_executor& executor, shell::Log& log,
                                             ListenerOptions options) {
  TIPHYS_TRY(const SocketAddress address, parse_socket_address(options.address));
  const auto problem = [&options] {
    return fail(Code::kUnavailable,
                "cannot listen on " + options.address + ": " + std::strerror(errno));
  };
  host::Descriptor descriptor(
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor.is_open()) return problem();
  if (address.is_unix()) {
    remove_stale_socket(address, path_of(options.address));
  } else {
    const int on = 1;
    setsockopt(descriptor.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (bind(descriptor.number(), address.data(), address.length) != 0) return problem();
  if (::listen(descriptor.number(), SOMAXCONN) != 0) return problem();
  return std::make_unique<Handle>(
      std::make_shared<Listener>(executor, log, std::move(options), descriptor.release()));
}

}  // namespace tiphys::rpc::http2
