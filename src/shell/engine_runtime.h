#pragma once

// Runs workloads on an engine: one container per instance, found again by its labels.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shell/engine.h"
#include "shell/runtime.h"
#include "shell/state_watches.h"
#include "shell/strand.h"

namespace tiphys::shell {

class EngineRuntime final : public Runtime {
 public:
  // What the workload's runtime config means to this engine. A config that cannot be read will never succeed.
  using ReadConfig = std::function<CreateResult<ContainerSpec>(const WorkloadSpec&)>;

  struct Settings {
    std::string name;  // of the runtime, as workloads say it
    Owner owner;
    std::string
        listing_failed;  // the additional information of a state that the engine did not tell
    // Not every machine has this engine. One that is not there (kNotFound) has no containers: that is worth no warning, and
    // nothing needs to be taken away from it.
    bool may_be_missing = false;
  };

  EngineRuntime(Settings settings, Engine& engine, Timers& timers, ReadConfig read_config);

  void list(const AgentName& agent,
            std::function<void(Result<std::vector<agent::FoundWorkload>>)> sink) override;
  void create(WorkloadSpecPtr spec, std::optional<ContainerId> reuse, Equipment equipment,
              std::function<void(CreateResult<ContainerId>)> sink) override;
  void remove(const InstanceName& instance, std::optional<ContainerId> container,
              std::function<void(Status)> sink) override;
  void watch(workload::Token token, const InstanceName&, ContainerId container,
             std::function<void(ExecutionState)> sink) override {
    watches_.watch(token, std::move(container), std::move(sink));
  }
  void unwatch(workload::Token token) override { watches_.unwatch(token); }
  LogStream logs(ContainerId container, LogOptions options,
                 std::function<void(LogEvent)> sink) override {
    return engine_.logs(std::move(container), std::move(options), std::move(sink));
  }
  void continue_logs(LogStream stream) override { engine_.continue_logs(stream); }
  void end_logs(LogStream stream) override { engine_.end_logs(stream); }

 private:
  [[nodiscard]] bool is_missing(const Result<std::vector<Container>>& listing) const;
  void remove_all_of(const InstanceName& instance, std::function<void(Status)> done);
  void list_states(std::function<void(Result<StateWatches::States>)> sink);
  void changed(const EngineEvent& event);

  const Settings settings_;
  Engine& engine_;
  const ReadConfig read_config_;
  StateWatches watches_;
};

}  // namespace tiphys::shell
