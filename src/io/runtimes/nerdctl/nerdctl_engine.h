#pragma once

// containerd as an engine, through nerdctl; see commands/command_engine.h.
//
// A listing is `nerdctl ps` for all containers, then `nerdctl inspect` for those that an agent may have made: only the second
// tells states, exit codes and processes. The end of a process is noticed at once, and one listing then tells its exit code.

#include "io/runtimes/commands/command_engine.h"
#include "io/runtimes/nerdctl/nerdctl_output.h"

namespace tiphys::nerdctl {

// As workloads name it: the engine is containerd, whatever program speaks to it.
inline constexpr const char* kContainerdRuntime = "containerd";

using NerdctlSettings = commands::EngineSettings;

class NerdctlEngine final : public commands::CommandEngine {
 public:
  NerdctlEngine(boost::asio::any_io_executor executor, shell::Strand& strand, shell::Log& log,
                NerdctlSettings settings = {});
};

}  // namespace tiphys::nerdctl
