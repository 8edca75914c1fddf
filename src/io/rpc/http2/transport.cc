#include "io/rpc/http2/transport.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tiphys::rpc::http2 {

namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// A peer that goes while something is on its way to it resets the connection. That is no offence.
bool has_gone(int error) { return error == ECONNRESET || error == EPIPE; }

Result<Progress> no_progress(int error, Need need) {
  if (would_block(error)) return Progress{.need = need};
  if (has_gone(error)) return Progress{.is_ended = true};
  return fail(Code::kUnavailable, std::strerror(error));
}

class Plain final : public Transport {
 public:
  explicit Plain(int descriptor) : descriptor_(descriptor) {}

  Result<Progress> handshake() override { return Progress{}; }

  Result<Progress> read(char* into, std::size_t size) override {
    const ssize_t got = recv(descriptor_, into, size, 0);
    const auto bytes = static_cast<std::size_t>(got);
    if (got > 0)
      return Progress{.bytes = bytes, .need = bytes < size ? Need::kReadable : Need::kNothing};
    if (got == 0) return Progress{.is_ended = true};
    return no_progress(errno, Need::kReadable);
  }

  Result<Progress> write(std::string_view bytes) override {
    const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return Progress{.bytes = static_cast<std::size_t>(sent)};
    return no_progress(errno, Need::kWritable);
  }

  void shut_down() override {}
  void identify(Peer&) const override {}

 private:
  int descriptor_;
};

// OpenSSL's own socket BIO writes with write(), which raises SIGPIPE when the peer has gone; this one does not.
int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = recv(socket_of(bio), into, static_cast<std::size_t>(size), 0);
  if (got < 0 && would_block(errno)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && would_block(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* make_bio(int descriptor) {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* const made =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  BIO* const bio = BIO_new(kMethod);
  if (bio) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): OpenSSL keeps a pointer for us, and it is a number
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
    BIO_set_init(bio, 1);
  }
  return bio;
}

class Tls final : public Transport {
 public:
  using Handle = std::unique_ptr<SSL, decltype(&SSL_free)>;

  explicit Tls(Handle ssl) : ssl_(std::move(ssl)) {}

  Result<Progress> handshake() override {
    ERR_clear_error();
    auto done = progress(SSL_do_handshake(ssl_.get()), 0, "TLS handshake failed: ");
    is_open_ = done && done->need == Need::kNothing;
    return done;
  }

  Result<Progress> read(char* into, std::size_t size) override {
    ERR_clear_error();
    std::size_t got = 0;
    const int answer = SSL_read_ex(ssl_.get(), into, size, &got);
    return progress(answer, got, "");
  }

  Result<Progress> write(std::string_view bytes) override {
    ERR_clear_error();
    std::size_t sent = 0;
    const int answer = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    return progress(answer, sent, "");
  }

  void shut_down() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
  }

  void identify(Peer& peer) const override {
    if (auto shown = host::peer_certificate(ssl_.get()))
      peer.certificate = CertificateNames{.certificates = shown->certificates,
                                          .has_alt_names = shown->has_alt_names,
                                          .dns_names = std::move(shown->dns_names)};
  }

 private:
  Result<Progress> progress(int answer, std::size_t bytes, const char* prefix) {
    if (answer > 0) return Progress{.bytes = bytes};
    const int error = errno;
    switch (SSL_get_error(ssl_.get(), answer)) {
      case SSL_ERROR_WANT_READ:
        return Progress{.need = Need::kReadable};
      case SSL_ERROR_WANT_WRITE:
        return Progress{.need = Need::kWritable};
      case SSL_ERROR_ZERO_RETURN:
        return Progress{.is_ended = true};
      case SSL_ERROR_SYSCALL:
        if (has_gone(error) && ERR_peek_error() == 0) return Progress{.is_ended = true};
        if (error != 0 && ERR_peek_error() == 0)
          return fail(Code::kUnavailable, prefix + std::string(std::strerror(error)));
        [[fallthrough]];
      default:
        if (ended_without_a_word()) return Progress{.is_ended = true};
        return fail(Code::kUnavailable, prefix + host::tls_error(ssl_.get()));
    }
  }

  // A process that ends does not say so in TLS. Nothing can be cut off unnoticed by that: HTTP/2 marks the end of every
  // stream itself.
  bool ended_without_a_word() {
    return is_open_ && ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  }

  Handle ssl_;
  bool is_open_ = false;  // the handshake is done; after an error OpenSSL does not know it any more
};

Result<Tls::Handle> make(int descriptor, const host::TlsContext& context) {
  Tls::Handle ssl(SSL_new(context.native()), SSL_free);
  BIO* const bio = ssl ? make_bio(descriptor) : nullptr;
  if (!bio) return fail(Code::kInternal, "TLS: " + host::tls_error());
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

}  // namespace

std::unique_ptr<Transport> plain_transport(int descriptor) {
  return std::make_unique<Plain>(descriptor);
}

Result<std::unique_ptr<Transport>> tls_server_transport(int descriptor,
                                                        const host::TlsContext& context) {
  TIPHYS_TRY(Tls::Handle ssl, make(descriptor, context));
  SSL_set_accept_state(ssl.get());
  return std::make_unique<Tls>(std::move(ssl));
}

Result<std::unique_ptr<Transport>> tls_client_transport(int descriptor,
                                                        const host::TlsContext& context,
                                                        const std::string& server_name) {
  TIPHYS_TRY(Tls::Handle ssl, make(descriptor, context));
  TIPHYS_REQUIRE(host::expect_server_name(ssl.get(), server_name));
  SSL_set_connect_state(ssl.get());
  return std::make_unique<Tls>(std::move(ssl));
}

}  // namespace tiphys::rpc::http2
