#include "io/host/tls_context.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/host/test_certificates.h"

namespace tiphys::host {
namespace {

using Protocols = std::vector<std::string>;

struct SslDeleter {
  void operator()(SSL* connection) const { SSL_free(connection); }
};
using Connection = std::unique_ptr<SSL, SslDeleter>;

// Both ends of a connection in memory, after the handshake. An error is the sentence of the side that noticed.
struct Handshake {
  Connection client;
  Connection server;
  std::string client_error;
  std::string server_error;

  [[nodiscard]] bool succeeded() const { return client_error.empty() && server_error.empty(); }
};

// One more step of one side; true when it is through.
bool advance(SSL* side, std::string& error) {
  if (!error.empty()) return false;
  ERR_clear_error();
  const int result = SSL_do_handshake(side);
  if (result == 1) return true;
  const int reason = SSL_get_error(side, result);
  if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) error = tls_error(side);
  return false;
}

Handshake shake_hands(const TlsContext& client, const TlsContext& server,
                      const std::string& server_name = "ank-server") {
  Handshake hands{.client = Connection(SSL_new(client.native())),
                  .server = Connection(SSL_new(server.native())),
                  .client_error = "",
                  .server_error = ""};
  constexpr std::size_t kBuffer = 65'536;
  BIO* client_end = nullptr;
  BIO* server_end = nullptr;
  BIO_new_bio_pair(&client_end, kBuffer, &server_end, kBuffer);
  SSL_set_bio(hands.client.get(), client_end, client_end);
  SSL_set_bio(hands.server.get(), server_end, server_end);
  SSL_set_connect_state(hands.client.get());
  SSL_set_accept_state(hands.server.get());
  const auto expected = expect_server_name(hands.client.get(), server_name);
  EXPECT_TRUE(expected) << expected.error().message;

  constexpr int kMostSteps = 20;
  int step = 0;
  for (bool through = false; !through && step < kMostSteps; ++step) {
    const bool client_through = advance(hands.client.get(), hands.client_error);
    const bool server_through = advance(hands.server.get(), hands.server_error);
    through = client_through && server_through;
    if (!hands.client_error.empty() && !hands.server_error.empty()) break;
  }
  // In TLS 1.3 a client is through before the server has refused its certificate: the next read shows it.
  if (hands.client_error.empty() && !hands.server_error.empty()) {
    char byte = 0;
    if (SSL_read(hands.client.get(), &byte, 1) <= 0) hands.client_error = tls_error();
  }
  return hands;
}

TlsContext must(Result<TlsContext> context) {
  if (!context) throw std::runtime_error(context.error().message);
  return *context;
}

TlsContext server_of(const TlsMaterial& material, const Protocols& alpn = {"h2"}) {
  return must(TlsContext::server(material, alpn));
}

TlsContext client_of(const TlsMaterial& material, const Protocols& alpn = {"h2"}) {
  return must(TlsContext::client(material, alpn));
}

const std::vector<KeyKind> kAllKinds = {KeyKind::kEd25519, KeyKind::kEcdsa, KeyKind::kRsa};

TEST(TlsContext, ShakesHandsWithEachKindOfKey) {
  for (const auto ca_kind : kAllKinds) {
    const Authority ca = make_ca({.kind = ca_kind});
    for (const auto kind : kAllKinds) {
      SCOPED_TRACE(testing::Message() << "authority " << static_cast<int>(ca_kind)
                                      << ", certificates " << static_cast<int>(kind));
      const auto hands = shake_hands(client_of(issue(ca, {.names = {"agent_A"}, .kind = kind})),
                                     server_of(issue(ca, {.names = {"ank-server"}, .kind = kind})));
      EXPECT_TRUE(hands.succeeded()) << hands.client_error << " / " << hands.server_error;
      EXPECT_EQ(agreed_protocol(hands.client.get()), "h2");
      EXPECT_EQ(agreed_protocol(hands.server.get()), "h2");
    }
  }
}

TEST(TlsContext, SpeaksTls12AndNothingOlder) {
  const Authority ca = make_ca();
  const auto server = server_of(issue(ca, {.names = {"ank-server"}}));
  for (const auto& [version, works] :
       std::vector<std::pair<int, bool>>{{TLS1_2_VERSION, true}, {TLS1_1_VERSION, false}}) {
    const auto client = client_of(issue(ca, {.names = {"agent_A"}}));
    SSL_CTX_set_security_level(client.native(), 0);  // or the client would not even try
    SSL_CTX_set_min_proto_version(client.native(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(client.native(), version);
    const auto hands = shake_hands(client, server);
    EXPECT_EQ(hands.succeeded(), works) << hands.server_error;
    if (works) {
      EXPECT_EQ(SSL_version(hands.server.get()), TLS1_2_VERSION);
    }
  }
}

TEST(TlsContext, TrustsAnAuthorityOfVersion1) {
  for (const auto kind : kAllKinds) {
    const Authority ca = make_ca({.kind = kind, .is_version_1 = true});
    const auto hands = shake_hands(client_of(issue(ca, {.names = {"agent_A"}})),
                                   server_of(issue(ca, {.names = {"ank-server"}})));
    EXPECT_TRUE(hands.succeeded()) << hands.client_error << " / " << hands.server_error;
  }
}

TEST(TlsContext, TrustsAnAuthorityBelowAnotherWithoutTheOtherOne) {
  const Authority below = issue_ca(make_ca(), {.name = "below"});
  const auto hands = shake_hands(client_of(issue(below, {.names = {"agent_A"}})),
                                 server_of(issue(below, {.names = {"ank-server"}})));
  EXPECT_TRUE(hands.succeeded()) << hands.client_error << " / " << hands.server_error;
}

TEST(TlsContext, SendsTheCertificatesThatLeadToTheAuthority) {
  const Authority root = make_ca();
  const Authority below = issue_ca(root, {.name = "below"});
  TlsMaterial client = issue(below, {.names = {"agent_A"}});
  client.certificate += below.certificate;
  client.ca = root.certificate;
  const auto hands =
      shake_hands(client_of(client), server_of(issue(root, {.names = {"ank-server"}})));
  ASSERT_TRUE(hands.succeeded()) << hands.client_error << " / " << hands.server_error;
  EXPECT_EQ(peer_certificate(hands.server.get())->certificates, 2U);
  EXPECT_EQ(peer_certificate(hands.client.get())->certificates, 1U);
}

TEST(TlsContext, RefusesAPeerWhoseCertificateIsNotGood) {
  const Authority ca = make_ca();
  const Authority foreign = make_ca();
  const Authority other = make_ca({.name = "another authority"});
  struct Row {
    std::string title;
    TlsMaterial server;
    TlsMaterial client;
    std::string client_error;  // a part of it
    std::string server_error;
  };
  const TlsMaterial good_server = issue(ca, {.names = {"ank-server"}});
  const TlsMaterial good_client = issue(ca, {.names = {"agent_A"}});
  const auto trusting_ca = [&](TlsMaterial material) {
    material.ca = ca.certificate;
    return material;
  };
  for (const auto& row : std::vector<Row>{
           {"server with another name", issue(ca, {.names = {"other"}}), good_client,
            "hostname mismatch", ""},
           {"server named in its subject only", issue(ca, {.common_name = "ank-server"}),
            good_client, "hostname mismatch", ""},
           {"server of an authority with the same name",
            trusting_ca(issue(foreign, {.names = {"ank-server"}})), good_client,
            "certificate verify failed", ""},
           {"server of another authority", trusting_ca(issue(other, {.names = {"ank-server"}})),
            good_client, "unable to get local issuer certificate", ""},
           {"expired server", issue(ca, {.names = {"ank-server"}, .validity = Validity::kExpired}),
            good_client, "certificate has expired", ""},
           {"server of tomorrow",
            issue(ca, {.names = {"ank-server"}, .validity = Validity::kNotYet}), good_client,
            "certificate is not yet valid", ""},
           {"expired client", good_server,
            issue(ca, {.names = {"agent_A"}, .validity = Validity::kExpired}), "",
            "certificate has expired"},
           {"client of another authority", good_server,
            trusting_ca(issue(other, {.names = {"agent_A"}})), "",
            "unable to get local issuer certificate"},
           {"client without a certificate",
            good_server,
            {.ca = ca.certificate},
            "",
            "peer did not return a certificate"}}) {
    SCOPED_TRACE(row.title);
    const auto server = server_of(good_server);
    show_certificate(server, row.server);
    const auto client = client_of({.ca = ca.certificate});
    if (!row.client.certificate.empty()) show_certificate(client, row.client);
    const auto hands = shake_hands(client, server);
    EXPECT_FALSE(hands.succeeded());
    EXPECT_NE(hands.client_error.find(row.client_error), std::string::npos) << hands.client_error;
    EXPECT_NE(hands.server_error.find(row.server_error), std::string::npos) << hands.server_error;
  }
}

TEST(TlsContext, ChecksAddressesAsAddresses) {
  const Authority ca = make_ca();
  const auto server = server_of(issue(ca, {.names = {"127.0.0.1", "::1"}}));
  const auto client = client_of(issue(ca, {.names = {"agent_A"}}));
  for (const auto& [name, works] : std::vector<std::pair<std::string, bool>>{
           {"127.0.0.1", true}, {"::1", true}, {"127.0.0.2", false}, {"localhost", false}}) {
    SCOPED_TRACE(name);
    const auto hands = shake_hands(client, server, name);
    EXPECT_EQ(hands.succeeded(), works) << hands.client_error;
    if (!works) continue;
    EXPECT_EQ(SSL_get_servername(hands.server.get(), TLSEXT_NAMETYPE_host_name), nullptr);
  }
}

TEST(TlsContext, SendsTheNameItExpects) {
  const Authority ca = make_ca();
  const auto server = server_of(issue(ca, {.names = {"ank-server"}}));
  const auto client = client_of(issue(ca, {.names = {"agent_A"}}));
  for (const std::string name : {"ank-server", "ank-server."}) {
    const auto hands = shake_hands(client, server, name);
    ASSERT_TRUE(hands.succeeded()) << hands.client_error;
    EXPECT_STREQ(SSL_get_servername(hands.server.get(), TLSEXT_NAMETYPE_host_name), "ank-server");
  }
}

TEST(TlsContext, RefusesANameThatIsNone) {
  const auto client = client_of({.ca = make_ca().certificate});
  const Connection connection(SSL_new(client.native()));
  EXPECT_FALSE(expect_server_name(connection.get(), ""));
  EXPECT_FALSE(expect_server_name(connection.get(), std::string("ank-server\0x", 12)));
  EXPECT_FALSE(expect_server_name(connection.get(), std::string(300, 'x')));
}

TEST(TlsContext, AsksForNoCertificateWithoutAnAuthority) {
  const Authority ca = make_ca();
  TlsMaterial material = issue(ca, {.names = {"ank-server"}});
  material.ca.clear();
  const auto hands = shake_hands(client_of({.ca = ca.certificate}), server_of(material));
  EXPECT_TRUE(hands.succeeded()) << hands.client_error << " / " << hands.server_error;
  EXPECT_FALSE(peer_certificate(hands.server.get()));
}

TEST(TlsContext, TrustsNobodyOutsideTheSystemsStoreWithoutAnAuthority) {
  const Authority ca = make_ca();
  TlsMaterial material = issue(ca, {.names = {"ank-server"}});
  material.ca.clear();
  const auto hands = shake_hands(client_of({}), server_of(material));
  EXPECT_NE(hands.client_error.find("certificate verify failed"), std::string::npos)
      << hands.client_error;
}

TEST(TlsContext, AgreesOnAProtocolOrRefuses) {
  const Authority ca = make_ca();
  const TlsMaterial server = issue(ca, {.names = {"ank-server"}});
  const TlsMaterial client = issue(ca, {.names = {"agent_A"}});
  struct Row {
    Protocols server;
    Protocols client;
    bool works;
    std::string agreed;
  };
  for (const auto& row : std::vector<Row>{{{"h2"}, {"h2"}, true, "h2"},
                                          {{"h2"}, {"http/1.1", "h2"}, true, "h2"},
                                          {{"h2", "http/1.1"}, {"http/1.1", "h2"}, true, "h2"},
                                          {{"h2"}, {"http/1.1"}, false, ""},
                                          {{"h2"}, {}, false, ""},
                                          {{"http/1.1"}, {}, true, ""},
                                          {{"http/1.1"}, {"http/1.1"}, true, "http/1.1"},
                                          {{"http/1.1"}, {"h2"}, false, ""},
                                          {{}, {"h2"}, true, ""},
                                          {{}, {}, true, ""}}) {
    const auto hands = shake_hands(client_of(client, row.client), server_of(server, row.server));
    EXPECT_EQ(hands.succeeded(), row.works) << hands.client_error;
    if (row.works) {
      EXPECT_EQ(agreed_protocol(hands.client.get()), row.agreed);
    } else {
      EXPECT_NE(hands.client_error.find("no application protocol"), std::string::npos)
          << hands.client_error;
    }
  }
}

TEST(TlsContext, KeepsNoSessions) {
  const Authority ca = make_ca();
  const auto server = server_of(issue(ca, {.names = {"ank-server"}}));
  const auto client = client_of(issue(ca, {.names = {"agent_A"}}));
  const auto hands = shake_hands(client, server);
  ASSERT_TRUE(hands.succeeded());
  EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get0_session(hands.client.get())), 0);
  EXPECT_EQ(SSL_CTX_sess_number(server.native()), 0);
}

TEST(TlsContext, ConnectionsOutliveTheContext) {
  const Authority ca = make_ca();
  Connection server;
  {
    const auto context = server_of(issue(ca, {.names = {"ank-server"}}));
    server.reset(SSL_new(context.native()));
  }
  const auto client_context = client_of(issue(ca, {.names = {"agent_A"}}));
  const Connection client(SSL_new(client_context.native()));
  BIO* client_end = nullptr;
  BIO* server_end = nullptr;
  BIO_new_bio_pair(&client_end, 0, &server_end, 0);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  ASSERT_TRUE(expect_server_name(client.get(), "ank-server"));
  std::string client_error;
  std::string server_error;
  bool through = false;
  for (int step = 0; step < 20 && !through; ++step) {
    const bool client_through = advance(client.get(), client_error);
    through = advance(server.get(), server_error) && client_through;
  }
  EXPECT_TRUE(through) << client_error << server_error;
  EXPECT_EQ(agreed_protocol(client.get()), "h2");
}

TEST(PeerCertificate, ShowsTheNames) {
  const Authority ca = make_ca();
  const auto server = server_of(issue(ca, {.names = {"ank-server"}}));
  struct Row {
    std::vector<std::string> names;
    bool has_alt_names;
    std::vector<std::string> dns_names;
  };
  for (const auto& row : std::vector<Row>{{{"agent_A", "*"}, true, {"agent_A", "*"}},
                                          {{"10.0.0.1", "agent_B"}, true, {"agent_B"}},
                                          {{"10.0.0.1"}, true, {}},
                                          {{}, false, {}}}) {
    const auto hands = shake_hands(client_of(issue(ca, {.names = row.names})), server);
    ASSERT_TRUE(hands.succeeded()) << hands.server_error;
    const auto peer = peer_certificate(hands.server.get());
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->certificates, 1U);
    EXPECT_EQ(peer->has_alt_names, row.has_alt_names);
    EXPECT_EQ(peer->dns_names, row.dns_names);
  }
}

TEST(TlsContext, SaysWhichTextIsBadAndNotWhatItHolds) {
  const Authority ca = make_ca();
  const TlsMaterial good = issue(ca, {.names = {"ank-server"}});
  const TlsMaterial other = issue(ca, {.names = {"ank-server"}});
  const TlsMaterial expired = issue(ca, {.names = {"ank-server"}, .validity = Validity::kExpired});
  const auto damaged = [](std::string pem) {
    const std::size_t second_line = pem.find('\n') + 1;
    return pem.replace(second_line, 8, "////////");
  };
  const std::string secret = "cGxlYXNlIGRvIG5vdCBzaG93IG1l";
  struct Row {
    TlsMaterial material;
    std::string error;  // its beginning
  };
  const std::string locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" + secret +
                             "\n-----END ENCRYPTED PRIVATE KEY-----\n";
  for (const auto& row : std::vector<Row>{
           {{secret, good.certificate, good.key}, "ca: the PEM text holds no certificate"},
           {{damaged(good.ca), good.certificate, good.key},
            "ca: certificate 1 in the PEM text is damaged ("},
           {{good.ca + damaged(good.ca), good.certificate, good.key},
            "ca: certificate 2 in the PEM text is damaged ("},
           {{good.ca, secret, good.key}, "certificate: the PEM text holds no certificate"},
           {{good.ca, "", good.key}, "certificate: the PEM text holds no certificate"},
           {{good.ca, damaged(good.certificate), good.key},
            "certificate: certificate 1 in the PEM text is damaged ("},
           {{good.ca, good.certificate, secret}, "key: the PEM text holds no private key"},
           {{good.ca, good.certificate, ""}, "key: the PEM text holds no private key"},
           {{good.ca, good.certificate, good.certificate},
            "key: the PEM text holds no private key"},
           {{good.ca, good.certificate, damaged(good.key)}, "key: the private key is damaged ("},
           {{good.ca, good.certificate, locked}, "key: it is protected by a passphrase"},
           {{good.ca, good.certificate, other.key}, "key: it does not belong to the certificate"},
           {{good.ca, expired.certificate, expired.key}, "certificate: it expired on "}}) {
    SCOPED_TRACE(row.error);
    for (const auto& context :
         {TlsContext::server(row.material, {"h2"}), TlsContext::client(row.material, {"h2"})}) {
      ASSERT_FALSE(context);
      EXPECT_TRUE(context.error().message.starts_with(row.error)) << context.error().message;
      EXPECT_EQ(context.error().message.find(secret), std::string::npos);
      EXPECT_EQ(context.error().message.find('\n'), std::string::npos);
      EXPECT_EQ(ERR_peek_error(), 0U) << "left for somebody else to stumble over";
    }
  }
}

TEST(TlsContext, RefusesProtocolsThatCannotBeSent) {
  const TlsMaterial material = issue(make_ca(), {.names = {"ank-server"}});
  for (const std::string& protocol : {std::string(), std::string(256, 'x')}) {
    EXPECT_FALSE(TlsContext::server(material, {protocol}));
    EXPECT_FALSE(TlsContext::client(material, {protocol}));
  }
}

TEST(TlsError, EmptiesTheQueue) {
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_PACKET);
  EXPECT_EQ(tls_error(), "bad length, bad packet");
  EXPECT_EQ(tls_error(), "OpenSSL gives no reason");
}

}  // namespace
}  // namespace tiphys::host
