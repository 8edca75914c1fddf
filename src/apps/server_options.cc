#include "apps/server_options.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "apps/config_file.h"
#include "base/strings.h"
#include "io/host/files.h"
#include "io/rpc/http2/address.h"
#include "text/manifest.h"

namespace tiphys::apps {

const Program& server_program() {
  static const Program kProgram{
      .name = "ank-server",
      .purpose =
          "Keeps the state that a cluster shall have and tells its agents which workloads "
          "to run. Speaks the protocol of Ankaios 1.x.",
      .options = {
          {.letter = 'm',
           .name = "startup-manifest",
           .value = "<MANIFEST_PATH>",
           .help = "YAML manifest with the state to begin with",
           .fallback = "none, the cluster begins empty",
           .hidden_letter = 'c',
           .hidden_name = "startup-config"},
          {.letter = 'x',
           .name = "server-config",
           .value = "<CONFIG_PATH>",
           .help = "Config file (TOML)",
           .fallback = "/etc/ankaios/ank-server.conf if it exists"},
          {.letter = 'a',
           .name = "address",
           .value = "<ADDR>",
           .help = "Where to listen: a numeric IPv4 address, or an IPv6 address in brackets, with "
                   "a port",
           .fallback = "127.0.0.1:25551"},
          // [impl->swdd~server-supports-cli-argument-for-insecure-communication~1]
          {.letter = 'k',
           .name = "insecure",
           .variable = "ANKSERVER_INSECURE",
           .help = "Speak plain text to everybody, without TLS and without certificates",
           .fallback = "false"},
          // [impl->swdd~server-supports-pem-file-paths-as-cli-arguments~1]
          {.name = "ca_pem",
           .value = "<CA_PEM>",
           .variable = "ANKSERVER_CA_PEM",
           .help = "Certificate of the authority that signed those of agents and commanders"},
          {.name = "crt_pem",
           .value = "<CRT_PEM>",
           .variable = "ANKSERVER_CRT_PEM",
           .help = "Certificate of this server, for the name ank-server"},
          {.name = "key_pem",
           .value = "<KEY_PEM>",
           .variable = "ANKSERVER_KEY_PEM",
           .help = "Its private key; nobody but its owner may have access to the file"},
      }};
  return kProgram;
}

namespace {

constexpr std::string_view kAddressOffence = "invalid socket address syntax";

bool is_address(const std::string& text) {
  const auto address = rpc::http2::parse_socket_address(text);
  return address && !address->is_unix();
}

OrStop<std::vector<server::Hook>> read_hooks(const ConfigFile& file) {
  const auto tables = file.tables("mutating_hooks");
  if (!tables) return tl::unexpected(tables.error());
  std::vector<server::Hook> hooks;
  for (const auto& table : *tables) {
    auto name = table.string("name");
    if (!name) return tl::unexpected(std::move(name).error());
    if (!*name) return table.refuse("name: missing; it names the program to run");
    const auto priority =
        table.number("prio", std::numeric_limits<decltype(server::Hook::priority)>::max());
    if (!priority) return tl::unexpected(priority.error());
    auto folder = table.string("path");
    if (!folder) return tl::unexpected(std::move(folder).error());
    hooks.push_back({**std::move(name), folder->value_or(server::kDefaultHookFolder),
                     static_cast<std::uint8_t>(priority->value_or(0))});
  }
  return hooks;
}

}  // namespace

// [impl->swdd~server-loads-config-file~1]
OrStop<ServerOptions> read_server_options(const std::vector<std::string>& arguments,
                                          const host::Environment& environment,
                                          const std::string& default_file) {
  const auto given = read_arguments(server_program(), arguments, environment);
  if (!given) return tl::unexpected(given.error());
  ServerOptions options;
  if (const auto address = given->value("address")) {
    if (!is_address(*address))
      return bad_value(server_program(), "address", *address, kAddressOffence);
    options.address = *address;
  }

  const auto file = ConfigFile::load(given->value("server-config"), default_file);
  if (!file) return tl::unexpected(file.error());
  auto hooks = read_hooks(*file);
  if (!hooks) return tl::unexpected(std::move(hooks).error());
  options.hooks = std::move(*hooks);
  auto manifest = file->string("startup_manifest");
  if (!manifest) return tl::unexpected(std::move(manifest).error());
  options.startup_manifest = std::move(*manifest);
  if (auto path = given->value("startup-manifest")) options.startup_manifest = std::move(path);
  const auto address = file->string("address");
  if (!address) return tl::unexpected(address.error());
  if (*address && !is_address(**address))
    return file->refuse(concat("address: '", **address, "': ", kAddressOffence,
                               ", expected for example 127.0.0.1:25551 or [::1]:25551"));
  if (*address && !given->value("address")) options.address = **address;

  auto security = read_security(*given, *file);
  if (!security) return tl::unexpected(std::move(security).error());
  options.security = std::move(*security);
  return options;
}

// [impl->swdd~server-loads-startup-state-file~3]
OrStop<StartupManifest> read_startup_manifest(const std::string& path) {
  const auto text = host::read_file(path, host::FileKind::kAny);
  if (!text) return fatal("Could not read the startup config", text.error().message);
  auto manifest = parse_manifest(*text, path);
  if (manifest) return StartupManifest{std::move(manifest->state), std::move(manifest->warnings)};

  using Stage = ManifestError::Stage;
  const std::string detail = to_string(manifest.error());
  switch (manifest.error().stage) {
    case Stage::kSyntax:
      return fatal("Invalid tags format in startup manifest",
                   concat("Failed to parse YAML: ", detail));
    case Stage::kTags:
      return fatal("Invalid tags format in startup manifest", detail);
    case Stage::kFields:
      return fatal("Parsing start config failed with error", detail);
    case Stage::kContent:
      return fatal("server error", detail);
  }
  return fatal("Parsing start config failed with error", detail);
}

}  // namespace tiphys::apps
