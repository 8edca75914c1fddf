// Peers whose certificates or TLS are not what they should be: no connection, one log line with the reason at the server,
// UNAVAILABLE with the reason at the client, and honest peers go on.

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <chrono>
#include <string>

#include "io/host/test_certificates.h"
#include "tests/rpc/arena.h"
#include "tests/rpc/raw_socket.h"

namespace tiphys::rpc {
namespace {

using namespace std::chrono_literals;
using host::issue;
using host::TlsContext;
using host::TlsMaterial;
using host::Validity;

TlsContext must(Result<TlsContext> context) {
  EXPECT_TRUE(context.has_value()) << context.error().message;
  return *context;
}

class HostileTls : public testing::Test {
 protected:
  [[nodiscard]] TlsMaterial certificate(const std::string& name,
                                        Validity validity = Validity::kNow) const {
    return issue(ca_, {.names = {name}, .validity = validity});
  }
  static TlsContext server_context(const TlsMaterial& material) {
    return must(TlsContext::server(material, {"h2"}));
  }
  static TlsContext client_context(const TlsMaterial& material) {
    return must(TlsContext::client(material, {"h2"}));
  }
  [[nodiscard]] ArenaOptions options() const {
    ArenaOptions made;
    made.tls = server_context(certificate("ank-server"));
    made.honest_tls = client_context(certificate("honest"));
    return made;
  }

  static Result<std::string> call(Arena& arena, const TlsContext& context,
                                  const std::string& server_name = "ank-server",
                                  const std::string& method = "/test.Arena/Echo") {
    ClientOptions made{.url = "https://" + arena.address()};
    made.connector.tls = context;
    made.connector.server_name = server_name;
    Client client(arena.loop(), made);
    return result_of(client.call(method, "hello", {.timeout = 30s}));
  }

  static void expect_unavailable(const Result<std::string>& result, const std::string& text) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::kUnavailable) << describe(result);
    EXPECT_NE(result.error().message.find(text), std::string::npos) << describe(result);
  }

  // A client that shows this is refused by the server.
  void expect_client_refused(const TlsContext& context, const std::string& reason) {
    Arena arena(options());
    arena.remember_quiet();
    expect_unavailable(call(arena, context), "");
    arena.expect_one_line(reason);
    arena.expect_quiet();
  }

  // A server that shows this is refused by the client.
  void expect_server_refused(const TlsContext& context, const std::string& server_name,
                             const std::string& reason) {
    ArenaOptions bad = options();
    bad.tls = context;
    Arena arena(bad);
    expect_unavailable(call(arena, *bad.honest_tls, server_name), reason);
    EXPECT_EQ(arena.log().await_lines(1).size(), 1U);
  }

  host::Authority ca_ = host::make_ca();
  host::Authority foreign_ca_ = host::make_ca({.name = "Somebody else"});
};

TEST_F(HostileTls, ClientWithoutACertificate) {
  expect_client_refused(client_context({.ca = ca_.certificate}), "certificate");
}

TEST_F(HostileTls, ClientWithAnExpiredCertificate) {
  const TlsContext context = client_context(certificate("agent"));
  host::show_certificate(context, certificate("agent", Validity::kExpired));
  expect_client_refused(context, "expired");
}

TEST_F(HostileTls, ClientWithACertificateThatIsNotValidYet) {
  const TlsContext context = client_context(certificate("agent"));
  host::show_certificate(context, certificate("agent", Validity::kNotYet));
  expect_client_refused(context, "not yet valid");
}

TEST_F(HostileTls, ClientOfAForeignAuthority) {
  TlsMaterial foreign = issue(foreign_ca_, {.names = {"agent"}});
  foreign.ca = ca_.certificate;
  expect_client_refused(client_context(foreign), "certificate");
}

TEST_F(HostileTls, ClientWithACertificateWithoutAName) {
  // The connection is good; that there is no name is for the handler to see.
  Arena arena(options());
  arena.remember_quiet();
  const auto nobody =
      call(arena, client_context(issue(ca_, {})), "ank-server", "/test.Arena/WhoAmI");
  EXPECT_EQ(nobody.value_or("nothing"), "no names") << describe(nobody);
  const auto somebody =
      call(arena, client_context(certificate("agent_A")), "ank-server", "/test.Arena/WhoAmI");
  EXPECT_EQ(somebody.value_or("nothing"), "agent_A") << describe(somebody);
  arena.expect_quiet();
}

TEST_F(HostileTls, ClientThatKnowsOnlyTls11) {
  const TlsContext context = client_context(certificate("agent"));
  SSL_CTX_set_cipher_list(context.native(), "DEFAULT@SECLEVEL=0");
  SSL_CTX_set_min_proto_version(context.native(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context.native(), TLS1_1_VERSION);
  expect_client_refused(context, "unsupported protocol");
}

TEST_F(HostileTls, ClientThatSpeaksAnotherProtocol) {
  expect_client_refused(must(TlsContext::client(certificate("agent"), {"http/1.1"})), "protocol");
}

TEST_F(HostileTls, ClientThatSpeaksWithoutTls) {
  Arena arena(options());
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(client_hello()));
    peer.await_close();
  }
  arena.expect_one_line("TLS handshake failed");
  arena.expect_quiet();
}

TEST_F(HostileTls, ClientThatSaysGarbage) {
  Arena arena(options());
  arena.remember_quiet();
  {
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send(std::string(1000, '\xA5')));
    peer.await_close();
  }
  arena.expect_one_line("TLS handshake failed");
  arena.expect_quiet();
}

TEST_F(HostileTls, ClientThatStopsHalfWayThroughTheHandshake) {
  ArenaOptions impatient = options();
  impatient.http.handshake = 2s;  // an honest handshake takes a while under a sanitiser
  Arena arena(impatient);
  arena.remember_quiet();
  {
    // The head of a record with a ClientHello of 500 bytes, and the first of them.
    RawSocket peer = arena.connect();
    ASSERT_TRUE(peer.send("\x16" + number(0x0301, 2) + number(504, 2) + "\x01" + number(500, 3) +
                          number(0x0303, 2)));
    peer.await_close();
  }
  arena.expect_one_line("no HTTP/2 connection was made in time");
  arena.expect_quiet();
}

TEST_F(HostileTls, HalfAHandshakeDoesNotHoldUpTheEnd) {
  Arena arena(options());
  const RawSocket peer = arena.connect();
  arena.expect_honest_call();
  arena.await_connections(2);
  const auto closed = arena.close(Duration::zero());
  EXPECT_EQ(closed.wait_for(5s), std::future_status::ready);
}

TEST_F(HostileTls, ServerWithAnExpiredCertificate) {
  const TlsContext context = server_context(certificate("ank-server"));
  host::show_certificate(context, certificate("ank-server", Validity::kExpired));
  expect_server_refused(context, "ank-server", "expired");
}

TEST_F(HostileTls, ServerOfAForeignAuthority) {
  const TlsContext context = server_context(certificate("ank-server"));
  host::show_certificate(context, issue(foreign_ca_, {.names = {"ank-server"}}));
  expect_server_refused(context, "ank-server", "certificate");
}

TEST_F(HostileTls, ServerWithAnotherName) {
  expect_server_refused(server_context(certificate("ank-server")), "other-server", "mismatch");
}

TEST_F(HostileTls, ServerWithoutAName) {
  const TlsContext context = server_context(certificate("ank-server"));
  host::show_certificate(context, issue(ca_, {.common_name = "ank-server"}));
  expect_server_refused(context, "ank-server", "mismatch");
}

TEST_F(HostileTls, ServerThatSpeaksWithoutTls) {
  Arena plain;
  ClientOptions made{.url = "https://" + plain.address()};
  made.connector.tls = client_context(certificate("agent"));
  made.connector.server_name = "ank-server";
  Client client(plain.loop(), made);
  expect_unavailable(result_of(client.call("/test.Arena/Echo", "hello", {.timeout = 30s})), "TLS");
}

}  // namespace
}  // namespace tiphys::rpc
