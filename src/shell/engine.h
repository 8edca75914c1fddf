#pragma once

// The engine port: what runs containers (podman, containerd, native processes), below anything that knows workloads.
//
// Containers carry labels that say whose they are, see owner_labels.h. Nobody lists, adopts or deletes what belongs to
// another owner or agent. Every answer comes on the strand, exactly once; an engine that hangs is answered for by its
// adapter with an error.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "core/workload/container_status.h"
#include "core/workload/control_loop.h"
#include "model/names.h"
#include "shell/equipment.h"
#include "shell/log_stream.h"

namespace tiphys::shell {

using workload::ContainerId;
using workload::ContainerStatus;

struct Owner {
  std::string part;  // "ankaios", "diego"
  AgentName agent;

  friend bool operator==(const Owner&, const Owner&) = default;
};

// The options are the engine's own words, handed through as the user wrote them.
struct ContainerSpec {
  std::string name;  // unique in the engine; a second container of that name is refused
  std::string image;
  std::vector<std::string> general_options;
  std::vector<std::string> create_options;
  std::vector<std::string> arguments;
  std::vector<Mount> mounts;
  std::map<std::string, std::string> labels;  // the engine adds the owner's
};

struct Container {
  ContainerId id;
  std::string name;
  std::map<std::string, std::string> labels;
  ContainerStatus status;
};

struct ContainerChanged {
  ContainerId id;
  ContainerStatus status;
};
// The source of changes has ended; some may have been missed.
struct ChangesLost {};
using EngineEvent = std::variant<ContainerChanged, ChangesLost>;
using EngineWatch = std::uint64_t;

struct ContainerStats {
  std::uint64_t memory_bytes = 0;
  Duration cpu_time{};
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Makes the container and, if wanted, starts it in the same breath. A missing image is pulled.
  virtual void create(const Owner& owner, ContainerSpec spec, bool start,
                      std::function<void(Result<ContainerId>)> sink) = 0;
  // Again, with the general options that its spec had.
  virtual void start(ContainerId container, std::vector<std::string> general_options,
                     std::function<void(Status)> sink) = 0;
  virtual void signal(ContainerId container, int signal, std::function<void(Status)> sink) = 0;
  // Stops it if it runs, then takes it away; one that is gone already counts as removed.
  virtual void remove(ContainerId container, std::function<void(Status)> sink) = 0;
  // All containers of that owner with their states, by id.
  // [impl->swdd~agent-general-runtime-state-getter-interface~1]
  virtual void list(const Owner& owner,
                    std::function<void(Result<std::vector<Container>>)> sink) = 0;

  // Tells every change of a container of that owner: its end with exit code and whether it ran out of memory, its
  // disappearance, its start. After ChangesLost nothing more comes.
  virtual EngineWatch watch(const Owner& owner, std::function<void(EngineEvent)> sink) = 0;
  virtual void unwatch(EngineWatch watch) = 0;

  virtual void stats(ContainerId container, std::function<void(Result<ContainerStats>)> sink) = 0;
  virtual LogStream logs(ContainerId container, LogOptions options,
                         std::function<void(LogEvent)> sink) = 0;
  // The lines that were told last are dealt with.
  virtual void continue_logs(LogStream stream) = 0;
  virtual void end_logs(LogStream stream) = 0;
};

}  // namespace tiphys::shell
