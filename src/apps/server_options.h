#pragma once

// What ank-server is told by its command line, its environment and its config file, in this order of weight.

#include <optional>
#include <string>
#include <vector>

#include "apps/arguments.h"
#include "core/server/hooks.h"
#include "io/link/security.h"
#include "model/state.h"

namespace tiphys::apps {

inline constexpr const char* kServerConfigFile = "/etc/ankaios/ank-server.conf";

struct ServerOptions {
  std::optional<std::string> startup_manifest{};  // path
  std::string address = "127.0.0.1:25551";
  link::SecurityOptions security{};
  std::vector<server::Hook> hooks{};
};

const Program& server_program();

OrStop<ServerOptions> read_server_options(const std::vector<std::string>& arguments,
                                          const host::Environment& environment,
                                          const std::string& default_file = kServerConfigFile);

struct StartupManifest {
  State state;
  std::vector<std::string> warnings;
};
OrStop<StartupManifest> read_startup_manifest(const std::string& path);

}  // namespace tiphys::apps
