#include "cli/settings.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "model/tree.h"
#include "text/toml.h"

namespace tiphys::cli {
namespace {

constexpr std::string_view kDefaultUrl = "https://127.0.0.1:25551";
constexpr std::uint64_t kDefaultTimeoutMs = 3000;
// Longer is as good as for ever, and still far from what a clock can count.
constexpr std::uint64_t kMaxTimeoutMs = std::uint64_t{1000} * 60 * 60 * 24 * 365;
constexpr std::string_view kConfigVersion = "v1";

tl::unexpected<Error> unusable(std::string_view inner) {
  return fail(Code::kInvalidArgument, concat("Config file could not be parsed: '", inner, "'"));
}

tl::unexpected<Error> unreadable(std::string_view path, std::string_view detail) {
  return unusable(concat("Config file could not have been parsed due to: ", path, ": ", detail));
}

class Reader {
 public:
  Reader(const Tree& root, std::string_view path) : root_(root), path_(path) {}

  Result<ConfigFile> read() {
    const auto defaults = root_.child("default");
    if (defaults && !defaults->is_map())
      return unreadable(path_, "Expected 'default' to be a table");
    if (defaults) defaults_ = *defaults;

    const auto version = string("version");
    if (!error_ && !version) return unreadable(path_, "missing field `version`");
    if (!error_ && *version != kConfigVersion) return unusable(concat("Wrong version: ", *version));

    ConfigFile file;
    file.server_url = string("server_url");
    file.response_timeout_ms = number("response_timeout");
    file.verbose = boolean("verbose");
    file.quiet = boolean("quiet");
    file.no_wait = boolean("no_wait");
    file.insecure = boolean("insecure");
    file.ca = pem("ca_pem");
    file.certificate = pem("crt_pem");
    file.key = pem("key_pem");
    if (error_) return fail(*std::move(error_));
    return file;
  }

 private:
  std::optional<Tree> value(std::string_view key) const {
    auto found = root_.child(key);
    return found ? found : defaults_.child(key);
  }

  void refuse(std::string_view key, const Tree& found, std::string_view wanted) {
    if (!error_)
      error_ =
          unreadable(path_, concat(key, ": expected ", wanted, ", found ", found.kind())).value();
  }

  std::optional<std::string> string(std::string_view key) {
    const auto found = value(key);
    if (!found) return std::nullopt;
    if (const auto* text = found->string()) return *text;
    refuse(key, *found, "a string");
    return std::nullopt;
  }
  std::optional<bool> boolean(std::string_view key) {
    const auto found = value(key);
    if (!found) return std::nullopt;
    if (const auto* boolean = found->boolean()) return *boolean;
    refuse(key, *found, "true or false");
    return std::nullopt;
  }
  std::optional<std::uint64_t> number(std::string_view key) {
    const auto found = value(key);
    if (!found) return std::nullopt;
    if (const auto* number = found->number()) return *number;
    refuse(key, *found, "a number");
    return std::nullopt;
  }
  link::Pem pem(std::string_view key) {
    link::Pem pem{string(key), string(concat(key, "_content")), true};
    if (pem.path && pem.content && !error_)
      error_ = unusable(
                   "Conflicting certificates: Certificate paths and certificate content are "
                   "both set")
                   .value();
    return pem;
  }

  const Tree& root_;
  const std::string_view path_;
  Tree defaults_;
  std::optional<Error> error_;  // the first one
};

link::Pem chosen(const std::optional<std::string>& given, const link::Pem& file) {
  return given ? link::Pem{given, std::nullopt, false} : file;
}

}  // namespace

Result<ConfigFile> parse_config_file(std::string_view text, std::string_view path) {
  const auto root = parse_toml(text);
  if (!root) return unreadable(path, to_string(root.error()));
  return Reader(*root, path).read();
}

Settings settings_of(const GivenOptions& given, const ConfigFile& file) {
  Settings settings;
  settings.server_url =
      given.server_url.value_or(file.server_url.value_or(std::string(kDefaultUrl)));
  settings.response_timeout = std::chrono::milliseconds(std::min(
      given.response_timeout_ms.value_or(file.response_timeout_ms.value_or(kDefaultTimeoutMs)),
      kMaxTimeoutMs));
  settings.quiet = given.quiet || file.quiet.value_or(false);
  settings.verbose = !settings.quiet && (given.verbose || file.verbose.value_or(false));
  settings.no_wait = given.no_wait || file.no_wait.value_or(false);
  settings.security = {given.insecure.value_or(file.insecure.value_or(false)),
                       chosen(given.ca_pem, file.ca), chosen(given.crt_pem, file.certificate),
                       chosen(given.key_pem, file.key)};
  return settings;
}

}  // namespace tiphys::cli
