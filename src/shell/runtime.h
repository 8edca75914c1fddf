#pragma once

// The runtime port: what a workload needs from whatever runs it. Every answer comes on the strand, exactly once.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/agent/harmonise.h"
#include "core/workload/control_loop.h"
#include "model/workload.h"
#include "shell/equipment.h"
#include "shell/log_stream.h"

namespace tiphys::shell {

// Why a workload could not be created, whether another try makes sense, and whether half of it may still be there.
struct CreateError {
  std::string cause;
  bool may_succeed_later = true;
  bool left_something = false;
};
template <class T>
using CreateResult = tl::expected<T, CreateError>;

// [impl->swdd~functions-required-by-runtime-connector~1]
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Whether create() can start an ended container again.
  [[nodiscard]] virtual bool can_start_again() const { return true; }

  virtual void list(const AgentName& agent,
                    std::function<void(Result<std::vector<agent::FoundWorkload>>)> sink) = 0;
  // Starts the workload; with `reuse`, by starting that ended container again. A failure cleans up after itself.
  virtual void create(WorkloadSpecPtr spec, std::optional<workload::ContainerId> reuse,
                      Equipment equipment,
                      std::function<void(CreateResult<workload::ContainerId>)> sink) = 0;
  // What is gone already counts as removed. Without a container: whatever there is of the instance.
  virtual void remove(const InstanceName& instance, std::optional<workload::ContainerId> container,
                      std::function<void(Status)> sink) = 0;
  // Tells the state at once and then whenever it differs, until unwatch() with the same token.
  // [impl->swdd~agent-general-state-checker-interface~1]
  virtual void watch(workload::Token token, const InstanceName& instance,
                     workload::ContainerId container, std::function<void(ExecutionState)> sink) = 0;
  virtual void unwatch(workload::Token token) = 0;

  // What the container has written; LogEnd comes last. After end_logs() nothing comes any more.
  virtual LogStream logs(workload::ContainerId container, LogOptions options,
                         std::function<void(LogEvent)> sink) = 0;
  // The lines that were told last are dealt with. A runtime without logs never waits for this.
  virtual void continue_logs(LogStream) {}
  virtual void end_logs(LogStream stream) = 0;
};

}  // namespace tiphys::shell
