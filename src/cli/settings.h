#pragma once

// How `ank` reaches its server and how much it says: the command line and the environment over the
// config file over the defaults. Pure.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options.h"
#include "io/link/security.h"

namespace tiphys::cli {

// What a config file says; its certificates may be paths or contents.
struct ConfigFile {
  std::optional<std::string> server_url;
  std::optional<std::uint64_t> response_timeout_ms;
  std::optional<bool> verbose;
  std::optional<bool> quiet;
  std::optional<bool> no_wait;
  std::optional<bool> insecure;
  link::Pem ca;
  link::Pem certificate;
  link::Pem key;
};

// Keys stand at the top level or in a table [default], which only fills what the top level leaves
// open. The path only serves the messages.
Result<ConfigFile> parse_config_file(std::string_view text, std::string_view path);

struct Settings {
  std::string server_url;
  std::chrono::milliseconds response_timeout;
  bool verbose = false;  // never together with quiet
  bool quiet = false;
  bool no_wait = false;
  link::SecurityOptions security;
};

Settings settings_of(const GivenOptions& given, const ConfigFile& file);

}  // namespace tiphys::cli
