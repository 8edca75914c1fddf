#pragma once

// Runs workloads that are Kubernetes manifests, by `podman kube play` and `podman kube down`.
//
//   create   volume <instance>.config  ──▶  kube play  ──▶  volume <instance>.pods
//   remove   kube down  ──▶  both volumes go
//
// What a workload was made of is kept in memory and, for the next run of the agent, in the labels of two volumes: the
// runtime config, written before the manifest is played so that whatever there is will be found, and the ids of the pods.
//
// A play that fails leaves half of its pods behind, whose names then fail every further play: they are taken away before
// the failure is told. Only those that came with this play, though, because a name may be in use by another's pod.
//
// The containers are in the listing that all users of this podman share, see CommandEngine. Everything on the strand.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "io/runtimes/podman/podman_engine.h"
#include "io/runtimes/podman_kube/kube_config.h"
#include "shell/log.h"
#include "shell/runtime.h"
#include "shell/state_watches.h"
#include "shell/strand.h"

namespace tiphys::kube {

// [impl->swdd~podman-kube-name-returns-podman-kube~1]
inline constexpr const char* kKubeRuntime = "podman-kube";

// Only we make the volumes by which workloads are found, so where there were none there will be none, unless an agent before
// us has left a command that makes one later than we looked. For such a latecomer we look again after this time. While
// nothing happens, asking podman is what costs an agent most.
inline constexpr Duration kNoVolumesLife = std::chrono::minutes(10);

// [impl->swdd~podman-kube-implements-runtime-connector~1]
// [impl->swdd~podman-kube-implements-runtime-state-getter~1]
// [impl->swdd~podman-kube-uses-podman-cli~1]
class KubeRuntime final : public shell::Runtime {
 public:
  KubeRuntime(podman::PodmanEngine& engine, shell::Strand& strand, shell::Timers& timers,
              shell::Log& log);

  // A pod whose containers have ended is played anew after it was taken down.
  [[nodiscard]] bool can_start_again() const override { return false; }
  void list(const AgentName& agent,
            std::function<void(Result<std::vector<agent::FoundWorkload>>)> sink) override;
  void create(WorkloadSpecPtr spec, std::optional<workload::ContainerId> reuse,
              shell::Equipment equipment,
              std::function<void(shell::CreateResult<workload::ContainerId>)> sink) override;
  void remove(const InstanceName& instance, std::optional<workload::ContainerId> container,
              std::function<void(Status)> sink) override;
  void watch(workload::Token token, const InstanceName& instance, workload::ContainerId container,
             std::function<void(ExecutionState)> sink) override;
  void unwatch(workload::Token token) override { watches_.unwatch(token); }
  // There are none of a whole manifest: they end at once.
  shell::LogStream logs(workload::ContainerId container, shell::LogOptions options,
                        std::function<void(shell::LogEvent)> sink) override;
  void end_logs(shell::LogStream stream) override { open_logs_.erase(stream); }

 private:
  // What takes a workload down again and tells its state; the instance is the key.
  // [impl->swdd~podman-kube-workload-id]
  struct Played {
    std::string manifest;
    std::vector<std::string> down_options;
    std::optional<std::vector<std::string>> pods;  // none: the agent died before they were kept
  };
  // Pods that a failed play may have made: of these names, unless they were there before.
  struct Half {
    std::vector<std::string> names;
    std::optional<std::set<std::string>> before;
  };
  struct Creation;
  using CreationPtr = std::shared_ptr<Creation>;

  void play(const CreationPtr& creation);
  void played(const CreationPtr& creation, const std::string& output);
  void play_failed(const CreationPtr& creation, const Error& error);
  void remove_all_of(const InstanceName& instance, std::function<void(Status)> done);
  void take_down(const InstanceName& instance, const Played& played,
                 std::function<void(Status)> done);
  void remove_pods(const InstanceName& instance, const std::vector<std::string>& pods,
                   std::function<void(Status)> done);
  void clear_half(const InstanceName& instance, std::function<void(Status)> done);
  void forget(const InstanceName& instance, std::function<void(Status)> done);

  void keep(const InstanceName& instance, std::string volume, std::string data,
            std::function<void()> done);
  void drop_volume(const InstanceName& instance, const std::string& volume,
                   std::function<void()> done);
  // Nothing when there is no config volume.
  void load(const InstanceName& instance, std::function<void(Result<std::optional<Played>>)> done);
  void load_pods(const InstanceName& instance, Played played,
                 std::function<void(Result<std::optional<Played>>)> done);
  void load_all(std::vector<InstanceName> instances, const std::function<void()>& done);
  void remember_none();
  void tell_found(std::vector<InstanceName> instances,
                  std::function<void(Result<std::vector<agent::FoundWorkload>>)> sink);

  void follow();
  void list_states(std::function<void(Result<shell::StateWatches::States>)> sink);
  void run(const InstanceName& instance, commands::EngineCommand command,
           std::function<void(Result<std::string>)> done);

  podman::PodmanEngine& engine_;
  shell::Strand& strand_;
  shell::Timers& timers_;
  shell::Log& log_;

  // The last listing found no volumes, and none have been made here since.
  bool knows_of_none_ = false;
  std::uint64_t creations_ = 0;
  std::map<InstanceName, Played> played_;
  std::map<InstanceName, Half> halves_;  // that could not be taken away yet
  // Without containers these are not gone yet: that is told by the answer, once the volumes are gone as well.
  std::set<InstanceName> removing_;
  shell::StateWatches watches_;
  shell::LogStream last_log_ = 0;
  std::set<shell::LogStream> open_logs_;
};

}  // namespace tiphys::kube
