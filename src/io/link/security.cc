#include "io/link/security.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace tiphys::link {
namespace {

using Kind = SecurityError::Kind;

struct Item {
  std::string_view option;
  const Pem& pem;
  std::string host::TlsMaterial::* text;
  std::string host::TlsFiles::* file;
};

using Items = std::array<Item, 3>;

bool has_path(const Pem& pem) { return pem.path && !pem.path->empty(); }
bool is_given(const Pem& pem) { return has_path(pem) || (pem.content && !pem.content->empty()); }

// Never the content: it may be a private key.
std::string shown(const Pem& pem) {
  if (has_path(pem)) return *pem.path;
  return is_given(pem) ? "<content in the config file>" : "\"\"";
}

std::string missing_message(const SecurityOptions& options, const Items& items) {
  std::string message =
      concat("Either provide mTLS config via the '--ca_pem ", shown(options.ca), "', '--crt_pem ",
             shown(options.certificate), "' and '--key_pem ", shown(options.key),
             "' options or deactivate mTLS with the '--insecure' option!");
  std::vector<std::string> missing;
  for (const auto& item : items)
    if (!is_given(item.pem)) missing.emplace_back(item.option);
  if (missing.size() == items.size()) return message;
  message += concat(" Not given: ", join(missing, ", "), ".");
  if (options.insecure) message += " '--insecure' counts only when no certificate is given.";
  return message;
}

tl::expected<std::string, SecurityError> text_of(const Item& item) {
  if (!has_path(item.pem)) return *item.pem.content;
  host::TlsFiles files;
  files.*item.file = *item.pem.path;
  auto material = host::read_tls_files(files);
  if (material) return std::move(*material.*item.text);
  return tl::unexpected(SecurityError{
      item.pem.path_of_config_file ? Kind::kUnreadableOfConfigFile : Kind::kUnreadable,
      concat("Certificate error: '", material.error().message, "'")});
}

}  // namespace

std::string to_string(const SecurityError& error) {
  switch (error.kind) {
    case Kind::kUnreadable:
      return concat("Failed to load certificate files!: '", error.message, "'");
    case Kind::kUnreadableOfConfigFile:
      return concat(
          "Config file could not be parsed: 'Certificate could not have been read due to: ",
          error.message, "'");
    case Kind::kMissing:
      return concat("Missing certificate files: '", error.message, "'");
  }
  return error.message;
}

tl::expected<Security, SecurityError> decide_security(const SecurityOptions& options) {
  const Items items{{
      {"--ca_pem", options.ca, &host::TlsMaterial::ca, &host::TlsFiles::ca},
      {"--crt_pem", options.certificate, &host::TlsMaterial::certificate,
       &host::TlsFiles::certificate},
      {"--key_pem", options.key, &host::TlsMaterial::key, &host::TlsFiles::key},
  }};

  std::size_t given = 0;
  host::TlsMaterial material;
  for (const auto& item : items) {
    if (!is_given(item.pem)) continue;
    ++given;
    auto text = text_of(item);
    if (!text) return tl::unexpected(std::move(text).error());
    material.*item.text = std::move(*text);
  }

  if (given == 0 && options.insecure) return Security{};
  if (given < items.size())
    return tl::unexpected(SecurityError{Kind::kMissing, missing_message(options, items)});
  Security security{.tls = std::move(material)};
  if (options.insecure)
    security.warnings.emplace_back(
        "Insecure and secure flags specified at the same time. Defaulting to secure "
        "communication.");
  return security;
}

}  // namespace tiphys::link
