#pragma once

// Certificates for tests, made in memory in a few milliseconds: nothing to renew, nothing on the disk.

#include <cstdint>
#include <string>
#include <vector>

#include "io/host/tls_context.h"
#include "io/host/tls_files.h"

namespace tiphys::host {

enum class KeyKind : std::uint8_t { kEd25519, kEcdsa, kRsa };

struct Authority {
  std::string certificate{};  // PEM
  std::string key{};          // PEM
};

struct AuthorityOptions {
  KeyKind kind = KeyKind::kEd25519;
  bool is_version_1 =
      false;  // X.509 v1: without any extension, not even the one that says it is an authority
  std::string name = "Tiphys test authority";
};

Authority make_ca(const AuthorityOptions& options = {});

enum class Validity : std::uint8_t { kNow, kExpired, kNotYet };

struct CertificateOptions {
  std::vector<std::string>
      names{};  // DNS names, or IP addresses; none means no subject alternative names at all
  KeyKind kind = KeyKind::kEd25519;
  Validity validity = Validity::kNow;
  std::string common_name = "test";
};

// A certificate of that authority, with its key, and the authority's certificate to trust. Serves clients and servers.
TlsMaterial issue(const Authority& ca, const CertificateOptions& options);

// An authority below another one; its certificate leads to the one above.
Authority issue_ca(const Authority& above, const AuthorityOptions& options);

// Lets a side show a certificate that TlsContext refuses to be made of, such as an expired one.
void show_certificate(const TlsContext& context, const TlsMaterial& material);

}  // namespace tiphys::host
