#pragma once

// Runs workloads on an engine: one container per instance, found again by its labels.
//
// States come from the engine's changes while those last, and from a listing of all containers: at once when a watch
// begins, every second while there are no changes to listen to or the engine fails to list, every minute to verify
// them. An engine that always loses its changes costs no more than that second.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shell/engine.h"
#include "shell/runtime.h"
#include "shell/strand.h"

namespace tiphys::shell {

inline constexpr Duration kStatePollPeriod = std::chrono::seconds(1);
inline constexpr Duration kStateVerifyPeriod = std::chrono::seconds(60);

// [impl->swdd~agent-provides-generic-state-checker-implementation~1]
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
  void watch(workload::Token token, const InstanceName& instance, ContainerId container,
             std::function<void(ExecutionState)> sink) override;
  void unwatch(workload::Token token) override;
  LogStream logs(ContainerId container, LogOptions options,
                 std::function<void(LogEvent)> sink) override {
    return engine_.logs(std::move(container), std::move(options), std::move(sink));
  }
  void continue_logs(LogStream stream) override { engine_.continue_logs(stream); }
  void end_logs(LogStream stream) override { engine_.end_logs(stream); }

 private:
  struct Watched {
    ContainerId container;
    std::function<void(ExecutionState)> sink;
    std::uint64_t first_listing;  // that began after the watch; older ones know nothing of it
    std::optional<ExecutionState> last;
  };

  [[nodiscard]] bool is_missing(const Result<std::vector<Container>>& listing) const;
  void remove_all_of(const InstanceName& instance, std::function<void(Status)> done);
  void listen();
  void changed(const EngineEvent& event);
  void refresh();
  void ask(std::uint64_t listing, bool second_try);
  void listed(const Result<std::vector<Container>>& containers);
  void refresh_after(Duration pause);
  static void tell(Watched& watched, const ExecutionState& state);

  const Settings settings_;
  Engine& engine_;
  Timers& timers_;
  const ReadConfig read_config_;

  std::map<workload::Token, Watched> watches_;
  bool listening_ = false;
  std::optional<std::uint64_t> listing_;  // the one under way; an answer to another is stale
  std::uint64_t last_listing_ = 0;
  bool list_again_ = false;                       // a watch began after the listing did
  std::set<ContainerId> changed_during_listing_;  // the listing is older than what we know of these
  std::uint64_t timer_generation_ = 0;            // an older timer is stale
};

}  // namespace tiphys::shell
