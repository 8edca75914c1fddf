#pragma once

// Whether a program speaks TLS or plain text, decided from what its user gave. The sentences are those of stock Ankaios,
// except that none of them shows what a certificate or key holds.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/host/tls_files.h"

namespace tiphys::link {

// One PEM, by its path or as text; a path given on the command line replaces a text of the config file. An empty one
// counts as not given.
struct Pem {
  std::optional<std::string> path{};
  std::optional<std::string> content{};
  bool path_of_config_file = false;  // a file that cannot be read is then the config file's fault
};

struct SecurityOptions {
  bool insecure = false;
  Pem ca{};
  Pem certificate{};
  Pem key{};
};

struct Security {
  std::optional<host::TlsMaterial> tls{};  // none: plain text
  std::vector<std::string> warnings{};
};

// What went wrong, apart: the programs put different words before it.
struct SecurityError {
  enum class Kind : unsigned char { kUnreadable, kUnreadableOfConfigFile, kMissing };
  Kind kind;
  std::string message;
};

// The words that stock server and agent write: "Missing certificate files: 'Either provide ...'"
std::string to_string(const SecurityError& error);

// All three given: TLS, even with `insecure`. None given and insecure: plain text. Anything else is an error.
tl::expected<Security, SecurityError> decide_security(const SecurityOptions& options);

}  // namespace tiphys::link
