#include "io/host/test_certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys::host {
namespace {

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct CertificateDeleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using OwnedKey = std::unique_ptr<EVP_PKEY, KeyDeleter>;
using OwnedCertificate = std::unique_ptr<X509, CertificateDeleter>;
using OwnedBio = std::unique_ptr<BIO, BioDeleter>;

constexpr int kDay = 24 * 60 * 60;

void expect(bool condition) { TIPHYS_CHECK(condition, "OpenSSL cannot make a test certificate"); }

OwnedKey make_key(KeyKind kind) {
  switch (kind) {
    case KeyKind::kEcdsa:
      return OwnedKey(EVP_EC_gen("P-256"));
    case KeyKind::kRsa:
      return OwnedKey(EVP_RSA_gen(2048));
    case KeyKind::kEd25519:
      break;
  }
  return OwnedKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
}

std::string text_of(const OwnedBio& bio) {
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string to_pem(X509* certificate) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  expect(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return text_of(bio);
}

std::string to_pem(EVP_PKEY* key) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  expect(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_of(bio);
}

OwnedBio reading(const std::string& pem) {
  return OwnedBio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

OwnedCertificate certificate_from(const std::string& pem) {
  OwnedCertificate certificate(PEM_read_bio_X509(reading(pem).get(), nullptr, nullptr, nullptr));
  expect(certificate != nullptr);
  return certificate;
}

OwnedKey key_from(const std::string& pem) {
  OwnedKey key(PEM_read_bio_PrivateKey(reading(pem).get(), nullptr, nullptr, nullptr));
  expect(key != nullptr);
  return key;
}

void add_extension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  expect(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

OwnedCertificate draft(EVP_PKEY* key, const std::string& name, Validity validity) {
  OwnedCertificate certificate(X509_new());
  std::uint64_t serial = 0;
  expect(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial | 1U);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  const bool not_yet = validity == Validity::kNotYet;
  const bool expired = validity == Validity::kExpired;
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), not_yet ? kDay : -10 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), expired ? -kDay : 10 * kDay);
  expect(X509_set_pubkey(certificate.get(), key) == 1);
  return certificate;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* issuer_key) {
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  const bool hashes_itself = EVP_PKEY_get_base_id(issuer_key) == EVP_PKEY_ED25519;
  expect(X509_sign(certificate, issuer_key, hashes_itself ? nullptr : EVP_sha256()) > 0);
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

OwnedCertificate draft_ca(EVP_PKEY* key, const AuthorityOptions& options) {
  auto certificate = draft(key, options.name, Validity::kNow);
  if (!options.is_version_1) {
    X509_set_version(certificate.get(), X509_VERSION_3);
    add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  }
  return certificate;
}

}  // namespace

Authority make_ca(const AuthorityOptions& options) {
  const OwnedKey key = make_key(options.kind);
  const auto certificate = draft_ca(key.get(), options);
  sign(certificate.get(), certificate.get(), key.get());
  return {to_pem(certificate.get()), to_pem(key.get())};
}

Authority issue_ca(const Authority& above, const AuthorityOptions& options) {
  const OwnedKey key = make_key(options.kind);
  const auto certificate = draft_ca(key.get(), options);
  sign(certificate.get(), certificate_from(above.certificate).get(), key_from(above.key).get());
  return {to_pem(certificate.get()), to_pem(key.get())};
}

TlsMaterial issue(const Authority& ca, const CertificateOptions& options) {
  const OwnedKey key = make_key(options.kind);
  const auto certificate = draft(key.get(), options.common_name, options.validity);
  X509_set_version(certificate.get(), X509_VERSION_3);
  add_extension(certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  std::vector<std::string> names;
  names.reserve(options.names.size());
  for (const auto& name : options.names)
    names.push_back(concat(is_address(name) ? "IP:" : "DNS:", name));
  if (!names.empty()) add_extension(certificate.get(), NID_subject_alt_name, join(names, ","));
  sign(certificate.get(), certificate_from(ca.certificate).get(), key_from(ca.key).get());
  return {.ca = ca.certificate, .certificate = to_pem(certificate.get()), .key = to_pem(key.get())};
}

void show_certificate(const TlsContext& context, const TlsMaterial& material) {
  expect(SSL_CTX_use_certificate(context.native(), certificate_from(material.certificate).get()) ==
         1);
  expect(SSL_CTX_use_PrivateKey(context.native(), key_from(material.key).get()) == 1);
}

}  // namespace tiphys::host
