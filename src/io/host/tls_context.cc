#include "io/host/tls_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace tiphys::host {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;
using OwnedBio = Owned<BIO, BIO_free>;
using OwnedCertificate = Owned<X509, X509_free>;
using OwnedKey = Owned<EVP_PKEY, EVP_PKEY_free>;

tl::unexpected<Error> unusable(std::string_view what, std::string_view why) {
  return fail(Code::kInvalidArgument, concat(what, ": ", why));
}

// --- PEM ---

OwnedBio reading(const std::string& text) {
  return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a passphrase is refused; without this OpenSSL would ask for it on the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

bool is_end_of_pem(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

Result<std::vector<OwnedCertificate>> read_certificates(std::string_view what,
                                                        const std::string& text) {
  ERR_clear_error();
  const OwnedBio bio = reading(text);
  std::vector<OwnedCertificate> certificates;
  while (auto* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr))
    certificates.emplace_back(certificate);
  const bool whole = is_end_of_pem(ERR_peek_last_error());
  const std::string reason = tls_error();
  if (!whole)
    return unusable(what, concat("certificate ", std::to_string(certificates.size() + 1),
                                 " in the PEM text is damaged (", reason, ")"));
  if (certificates.empty()) return unusable(what, "the PEM text holds no certificate");
  return certificates;
}

Result<OwnedKey> read_key(const std::string& text) {
  ERR_clear_error();
  const OwnedBio bio = reading(text);
  OwnedKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key) return key;
  if (text.find("ENCRYPTED") != std::string::npos) {
    ERR_clear_error();
    return unusable("key", "it is protected by a passphrase; give one without");
  }
  const bool none = text.find("PRIVATE KEY-----") == std::string::npos;
  const std::string reason = tls_error();
  return none ? unusable("key", "the PEM text holds no private key")
              : unusable("key", concat("the private key is damaged (", reason, ")"));
}

std::string to_text(const ASN1_TIME* time) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// --- parts of a context ---

Status set_identity(SSL_CTX* context, const TlsMaterial& material) {
  TIPHYS_TRY(const auto chain, read_certificates("certificate", material.certificate));
  TIPHYS_TRY(const OwnedKey key, read_key(material.key));
  X509* own = chain.front().get();
  const ASN1_TIME* end = X509_get0_notAfter(own);
  if (X509_cmp_current_time(end) < 0)
    return unusable("certificate", concat("it expired on ", to_text(end), "; renew it"));
  if (X509_check_private_key(own, key.get()) != 1) {
    ERR_clear_error();
    return unusable("key", "it does not belong to the certificate");
  }
  if (SSL_CTX_use_certificate(context, own) != 1)
    return unusable("certificate", concat("OpenSSL refuses it (", tls_error(), ")"));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return unusable("key", concat("OpenSSL refuses it (", tls_error(), ")"));
  for (std::size_t i = 1; i < chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
      return unusable("certificate", concat("certificate ", std::to_string(i + 1),
                                            " in the PEM text is refused (", tls_error(), ")"));
  return {};
}

// The certificates of the CA become the trust anchors, and nothing else is one.
Status trust(SSL_CTX* context, const std::string& ca, bool tell_clients) {
  TIPHYS_TRY(const auto anchors, read_certificates("ca", ca));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& anchor : anchors) {
    if (X509_STORE_add_cert(store, anchor.get()) != 1 ||
        (tell_clients && SSL_CTX_add_client_CA(context, anchor.get()) != 1))
      return unusable("ca", concat("OpenSSL refuses it (", tls_error(), ")"));
  }
  // An intermediate authority may be the anchor, without the one above it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

// --- negotiation of the application's protocol ---

Result<std::string> to_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const auto& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255)
      return unusable("alpn", concat("'", protocol, "' is not between 1 and 255 bytes long"));
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

const unsigned char* bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// What a server offers has to live as long as the native context, which connections keep alive.
struct Offer {
  std::string wire;
  bool required;
};

void free_offer(void* /*parent*/, void* offer, CRYPTO_EX_DATA* /*data*/, int /*index*/,
                long /*argument*/, void* /*pointer*/) {
  delete static_cast<Offer*>(offer);
}

int offer_index() {
  static const int kIndex = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_offer);
  return kIndex;
}

const Offer& offer_of(const SSL* connection) {
  return *static_cast<const Offer*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), offer_index()));
}

int select_protocol(SSL* connection, const unsigned char** selected, unsigned char* selected_size,
                    const unsigned char* theirs, unsigned int theirs_size, void* /*argument*/) {
  const Offer& ours = offer_of(connection);
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, selected_size, bytes(ours.wire),
                            static_cast<unsigned int>(ours.wire.size()), theirs,
                            theirs_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *selected = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// select_protocol() is not even asked when a client names no protocol.
int demand_protocol(SSL* connection, int* alert, void* /*argument*/) {
  const unsigned char* content = nullptr;
  std::size_t size = 0;
  if (!offer_of(connection).required ||
      SSL_client_hello_get0_ext(connection, TLSEXT_TYPE_application_layer_protocol_negotiation,
                                &content, &size) == 1)
    return SSL_CLIENT_HELLO_SUCCESS;
  *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
  return SSL_CLIENT_HELLO_ERROR;
}

Status offer_protocols(SSL_CTX* context, const std::vector<std::string>& alpn) {
  if (alpn.empty()) return {};
  TIPHYS_TRY(std::string wire, to_wire(alpn));
  const bool required = std::find(alpn.begin(), alpn.end(), "http/1.1") == alpn.end();
  auto* offer = new Offer{std::move(wire), required};  // free_offer() ends it with the context
  if (SSL_CTX_set_ex_data(context, offer_index(), offer) != 1) {
    delete offer;
    return fail(Code::kInternal, tls_error());
  }
  SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
  SSL_CTX_set_client_hello_cb(context, demand_protocol, nullptr);
  return {};
}

Result<std::shared_ptr<SSL_CTX>> make(const SSL_METHOD* method) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context) return fail(Code::kInternal, concat("OpenSSL does not start: ", tls_error()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  // No certificate is sent but those given: OpenSSL would add the CA, and a stock server refuses agents that send two.
  SSL_CTX_set_mode(context.get(), SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_RELEASE_BUFFERS |
                                      SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

}  // namespace

Result<TlsContext> TlsContext::server(const TlsMaterial& material,
                                      const std::vector<std::string>& alpn) {
  TIPHYS_TRY(auto context, make(TLS_server_method()));
  TIPHYS_REQUIRE(set_identity(context.get(), material));
  if (!material.ca.empty()) {
    TIPHYS_REQUIRE(trust(context.get(), material.ca, true));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  TIPHYS_REQUIRE(offer_protocols(context.get(), alpn));
  return TlsContext(std::move(context));
}

Result<TlsContext> TlsContext::client(const TlsMaterial& material,
                                      const std::vector<std::string>& alpn) {
  TIPHYS_TRY(auto context, make(TLS_client_method()));
  if (material.ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context.get()) != 1)
      return unusable("ca", concat("the system's trust store cannot be read (", tls_error(), ")"));
  } else {
    TIPHYS_REQUIRE(trust(context.get(), material.ca, false));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (!material.certificate.empty() || !material.key.empty())
    TIPHYS_REQUIRE(set_identity(context.get(), material));
  TIPHYS_TRY(const std::string wire, to_wire(alpn));
  // Unlike all others, this function answers 0 for success.
  if (SSL_CTX_set_alpn_protos(context.get(), bytes(wire), static_cast<unsigned int>(wire.size())) !=
      0)
    return fail(Code::kInternal, tls_error());
  return TlsContext(std::move(context));
}

std::optional<PeerCertificate> peer_certificate(const ssl_st* connection) {
  const X509* own = SSL_get0_peer_certificate(connection);
  if (own == nullptr) return std::nullopt;

  PeerCertificate peer;
  // On a server the chain lacks the peer's own certificate, on a client it begins with it.
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(connection);
  const int sent = chain == nullptr ? 0 : sk_X509_num(chain);
  peer.certificates = static_cast<std::size_t>(sent) + (SSL_is_server(connection) == 1 ? 1 : 0);

  const Owned<GENERAL_NAMES, GENERAL_NAMES_free> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(own, NID_subject_alt_name, nullptr, nullptr)));
  if (!names) return peer;
  peer.has_alt_names = true;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const ASN1_IA5STRING* text = name->d.dNSName;
    peer.dns_names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                                static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return peer;
}

std::string agreed_protocol(const ssl_st* connection) {
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(connection, &protocol, &size);
  return {reinterpret_cast<const char*>(protocol), size};
}

std::string tls_error(const ssl_st* connection) {
  std::vector<std::string> reasons;
  while (const auto error = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(error);
    std::string text = reason != nullptr ? reason : concat("error ", std::to_string(error));
    if (std::find(reasons.begin(), reasons.end(), text) == reasons.end())
      reasons.push_back(std::move(text));
  }
  if (connection != nullptr)
    if (const auto verified = SSL_get_verify_result(connection); verified != X509_V_OK)
      reasons.emplace_back(X509_verify_cert_error_string(verified));
  return reasons.empty() ? "OpenSSL gives no reason" : join(reasons, ", ");
}

Status expect_server_name(ssl_st* connection, const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos)
    return unusable("server name", "it is empty or holds a zero byte");
  if (is_address(name)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), name.c_str()) != 1)
      return unusable("server name", concat("'", name, "' is refused (", tls_error(), ")"));
    return {};
  }
  // The dot that makes a name absolute is never part of a certificate, and must not be sent.
  std::string host = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
  SSL_set_hostflags(connection,
                    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(connection, host.c_str()) != 1 ||
      // What the macro SSL_set_tlsext_host_name() does, without its old-style cast.
      SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) !=
          1)
    return unusable("server name", concat("'", name, "' is refused (", tls_error(), ")"));
  return {};
}

}  // namespace tiphys::host
