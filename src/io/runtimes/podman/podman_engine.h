#pragma once

// Podman as an engine; see commands/command_engine.h and docs/decisions/0010-podman-exits.md.

#include "io/runtimes/commands/command_engine.h"
#include "io/runtimes/podman/podman_output.h"

namespace tiphys::podman {

// [impl->swdd~podman-name-returns-podman~1]
inline constexpr const char* kPodmanRuntime = "podman";

using PodmanSettings = commands::EngineSettings;

// [impl->swdd~podman-implements-runtime-connector~1]
// [impl->swdd~podman-uses-podman-cli~1]
// [impl->swdd~podman-implements-runtime-state-getter~1]
// [impl->swdd~podman-start-checker-starts-podman-state-checker~1]
class PodmanEngine final : public commands::CommandEngine {
 public:
  PodmanEngine(boost::asio::any_io_executor executor, shell::Strand& strand, shell::Log& log,
               PodmanSettings settings = {});
};

}  // namespace tiphys::podman
