#pragma once

// TLS over OpenSSL, as strict as our peers allow: TLS 1.2 or newer, names from subject alternative names only, no
// renegotiation, no compression, no session tickets or caches on the server. A given CA is the only trust anchor.
// OpenSSL's types stay opaque here; whoever reads and writes a connection includes its headers.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/host/tls_files.h"

struct ssl_ctx_st;
struct ssl_st;

namespace tiphys::host {

// What a side of a TLS connection offers and demands; made once, shared by its connections and cheap to copy. OpenSSL
// is not touched before one is made: loading it costs megabytes.
//
// `alpn` are the protocols of the application, the preferred one first; none means that there is no such negotiation.
// Errors say which of the three texts is bad, and never what it holds.
class TlsContext {
 public:
  // Demands a client certificate that the CA signed; without a CA none is asked for. Refuses clients with which it has
  // no protocol in common, and those that name none unless http/1.1 is offered, which is what they mean.
  static Result<TlsContext> server(const TlsMaterial& material,
                                   const std::vector<std::string>& alpn);

  // Without a CA the system's trust store counts; without a certificate none is shown. Each connection has to be told
  // whom it expects: expect_server_name().
  static Result<TlsContext> client(const TlsMaterial& material,
                                   const std::vector<std::string>& alpn);

  // Never null; SSL_new() takes a share of its own.
  [[nodiscard]] ssl_ctx_st* native() const { return native_.get(); }

 private:
  explicit TlsContext(std::shared_ptr<ssl_ctx_st> native) : native_(std::move(native)) {}

  std::shared_ptr<ssl_ctx_st> native_;
};

struct PeerCertificate {
  std::size_t certificates = 0;  // how many the peer sent, with those that lead to the CA
  // False also for a list that nobody can read, so that a broken one opens no door.
  bool has_alt_names = false;
  std::vector<std::string> dns_names;  // of the subject alternative names, in their order
};

// What the peer showed in the handshake, which has checked it; nothing if it showed none.
std::optional<PeerCertificate> peer_certificate(const ssl_st* connection);

// The protocol that both sides agreed upon, or an empty text.
std::string agreed_protocol(const ssl_st* connection);

// What went wrong last in this thread, in one sentence; empties OpenSSL's queue of errors. With a connection it also says
// why the peer's certificate was refused.
std::string tls_error(const ssl_st* connection = nullptr);

// Before the handshake of a client: the server must show a certificate for this host name or IP address. A name is sent
// along (SNI), an address is not.
Status expect_server_name(ssl_st* connection, const std::string& name);

}  // namespace tiphys::host
