#include "io/runtimes/podman_kube/kube_runtime.h"

#include <algorithm>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "io/runtimes/commands/config_reading.h"
#include "io/runtimes/podman_kube/kube_argv.h"
#include "io/runtimes/podman_kube/kube_output.h"
#include "io/runtimes/podman_kube/kube_state.h"
#include "io/runtimes/podman_kube/manifest_injection.h"
#include "io/runtimes/podman_kube/manifest_pods.h"

namespace tiphys::kube {

using agent::FoundWorkload;
using commands::Purpose;
using shell::CreateError;
using shell::CreateResult;
using workload::ContainerId;

namespace {

constexpr const char* kListingFailed = "Error getting state from pods.";

ContainerId id_of(const InstanceName& instance) { return {to_string(instance)}; }

tl::unexpected<CreateError> refuse(std::string why) {
  return tl::unexpected(CreateError{.cause = std::move(why), .may_succeed_later = false});
}

// What is played for the workload: its config, with the control interface in the manifest.
CreateResult<KubeConfig> config_to_play(const WorkloadSpec& spec,
                                        const shell::Equipment& equipment) {
  if (!equipment.files.empty())
    return refuse(
        "Workload files are not supported for podman-kube runtime. Use ConfigMaps instead.");
  auto config = read_kube_config(spec.workload().runtime_config);
  if (!config) return commands::unreadable_config(config.error());
  if (equipment.control_interface) {
    auto manifest = inject_control_interface(config->manifest, config->control_interface_target,
                                             *equipment.control_interface);
    if (!manifest) return refuse(std::move(manifest).error().message);
    config->manifest = *std::move(manifest);
  }
  return *std::move(config);
}

ExecutionState state_of(const std::optional<std::vector<std::string>>& pods,
                        const ContainersByPod& containers) {
  return pods ? kube_state(*pods, containers) : ExecutionState(Phase::kSucceededOk);
}

}  // namespace

struct KubeRuntime::Creation {
  InstanceName instance;
  std::string runtime_config;  // as the user wrote it
  KubeConfig config;
  std::function<void(CreateResult<ContainerId>)> sink;
  std::optional<std::set<std::string>> pods_before = {};
};

KubeRuntime::KubeRuntime(podman::PodmanEngine& engine, shell::Strand& strand, shell::Timers& timers,
                         shell::Log& log)
    : engine_(engine),
      strand_(strand),
      timers_(timers),
      log_(log),
      watches_({.list = [this](auto sink) { list_states(std::move(sink)); },
                .listen =
                    [this] {
                      engine_.watch_pods([this](const shell::EngineEvent& event) {
                        match(
                            event, [this](const shell::ContainerChanged&) { watches_.refresh(); },
                            [this](const shell::ChangesLost&) { watches_.changes_lost(); });
                      });
                    },
                .absent = ExecutionState(Phase::kRemoved),
                .listing_failed = ExecutionState(Phase::kFailedUnknown, kListingFailed)},
               timers) {}

void KubeRuntime::run(const InstanceName& instance, commands::EngineCommand command,
                      std::function<void(Result<std::string>)> done) {
  engine_.run(to_string(instance), std::move(command), std::move(done));
}

// -- Creating

// [impl->swdd~podman-kube-create-workload-creates-config-volume~1]
void KubeRuntime::create(WorkloadSpecPtr spec, std::optional<ContainerId>,
                         shell::Equipment equipment,
                         std::function<void(CreateResult<ContainerId>)> sink) {
  auto config = config_to_play(*spec, equipment);
  if (!config) return sink(tl::unexpected(config.error()));
  ++creations_;
  knows_of_none_ = false;
  auto creation = std::make_shared<Creation>(Creation{
      spec->instance(), spec->workload().runtime_config, *std::move(config), std::move(sink)});
  // What an earlier failure left may still be in the way; whether it can be cleared now, the play will show.
  clear_half(creation->instance, [this, creation](const Status&) {
    engine_.list_pods([this, creation](const auto& containers) {
      if (containers) {
        creation->pods_before.emplace();
        for (const auto& [pod, states] : *containers) creation->pods_before->insert(pod);
      }
      keep(creation->instance, config_volume(creation->instance), creation->runtime_config,
           [this, creation] { play(creation); });
    });
  });
}

// [impl->swdd~podman-kube-create-workload-apply-manifest~1]
void KubeRuntime::play(const CreationPtr& creation) {
  run(creation->instance,
      {Purpose::kCreate, play_arguments(creation->config), creation->config.manifest},
      [this, creation](const Result<std::string>& output) {
        if (output)
          played(creation, *output);
        else
          play_failed(creation, output.error());
      });
}

// [impl->swdd~podman-kube-create-workload-creates-pods-volume~1]
// [impl->swdd~podman-kube-create-workload-returns-workload-id~1]
// [impl->swdd~podman-kube-create-starts-podman-kube-state-getter~1]
// [impl->swdd~podman-kube-state-getter-reset-cache~1]
void KubeRuntime::played(const CreationPtr& creation, const std::string& output) {
  auto pods = parse_played_pods(output);
  auto data = write_pods(pods);
  played_.insert_or_assign(creation->instance,
                           Played{std::move(creation->config.manifest),
                                  std::move(creation->config.down_options), std::move(pods)});
  follow();
  keep(creation->instance, pods_volume(creation->instance), std::move(data),
       [creation] { creation->sink(id_of(creation->instance)); });
}

void KubeRuntime::play_failed(const CreationPtr& creation, const Error& error) {
  const auto& instance = creation->instance;
  halves_.insert_or_assign(instance,
                           Half{names_in(creation->config.manifest), creation->pods_before});
  clear_half(instance, [this, creation, cause = error.message](const Status& cleared) {
    const auto tell = [creation, cause, left = !cleared] {
      creation->sink(tl::unexpected(CreateError{cause, true, left}));
    };
    if (!cleared) return tell();  // the config volume is how the next run of the agent finds it
    drop_volume(creation->instance, config_volume(creation->instance), tell);
  });
}

void KubeRuntime::clear_half(const InstanceName& instance, std::function<void(Status)> done) {
  const auto half = halves_.find(instance);
  if (half == halves_.end()) return done({});
  // Without knowing what was there before, nothing is known to be ours.
  if (!half->second.before) {
    halves_.erase(half);
    return done({});
  }
  run(instance, {Purpose::kOther, list_pods_arguments()},
      [this, instance, done = std::move(done)](const Result<std::string>& output) mutable {
        if (!output) return done(fail(output.error()));
        const auto& [names, before] = halves_.at(instance);
        std::vector<std::string> left;
        for (auto& [id, name] : parse_listed_pods(*output))
          if (may_come_from(names, name) && !before->contains(id)) left.push_back(std::move(id));
        remove_pods(instance, left, [this, instance, done = std::move(done)](const Status& status) {
          if (status) halves_.erase(instance);
          done(status);
        });
      });
}

// -- Removing

// [impl->swdd~podman-kube-get-workload-id-uses-volumes~1]
void KubeRuntime::remove_all_of(const InstanceName& instance, std::function<void(Status)> done) {
  clear_half(instance, [this, instance, done = std::move(done)](const Status& cleared) mutable {
    if (!cleared) return done(cleared);
    if (const auto known = played_.find(instance); known != played_.end())
      return take_down(instance, known->second, std::move(done));
    load(instance, [this, instance, done = std::move(done)](const auto& loaded) mutable {
      if (!loaded) return done(fail(loaded.error()));
      if (!*loaded) return done({});
      take_down(instance, **loaded, std::move(done));
    });
  });
}

void KubeRuntime::remove(const InstanceName& instance, std::optional<ContainerId>,
                         std::function<void(Status)> sink) {
  removing_.insert(instance);
  remove_all_of(instance, [this, instance, sink = std::move(sink)](const Status& removed) {
    removing_.erase(instance);
    sink(removed);
  });
}

// [impl->swdd~podman-kube-delete-workload-downs-manifest-file~1]
void KubeRuntime::take_down(const InstanceName& instance, const Played& played,
                            std::function<void(Status)> done) {
  run(instance, {Purpose::kRemove, down_arguments(played.down_options), played.manifest},
      [this, instance, pods = played.pods,
       done = std::move(done)](const Result<std::string>& output) mutable {
        if (output) return forget(instance, std::move(done));
        const bool is_gone = is_no_such_pod(output.error());
        if (!is_gone && !is_paused(output.error())) return done(fail(output.error()));
        if (!pods) return is_gone ? forget(instance, std::move(done)) : done(fail(output.error()));
        // podman gives up at the first pod that is gone or paused; the others are still there.
        engine_.list_pods([this, instance, pods = *std::move(pods),
                           done = std::move(done)](const auto& containers) mutable {
          if (containers)
            std::erase_if(pods, [&](const auto& pod) { return !containers->contains(pod); });
          remove_pods(instance, pods,
                      [this, instance, done = std::move(done)](const Status& status) mutable {
                        if (!status) return done(status);
                        forget(instance, std::move(done));
                      });
        });
      });
}

void KubeRuntime::remove_pods(const InstanceName& instance, const std::vector<std::string>& pods,
                              std::function<void(Status)> done) {
  if (pods.empty()) return done({});
  run(instance, {Purpose::kRemove, remove_pods_arguments(pods)},
      [done = std::move(done)](const Result<std::string>& output) {
        done(output ? Status() : fail(output.error()));
      });
}

// [impl->swdd~podman-kube-delete-removes-volumes~1]
void KubeRuntime::forget(const InstanceName& instance, std::function<void(Status)> done) {
  drop_volume(instance, pods_volume(instance), [this, instance, done = std::move(done)]() mutable {
    drop_volume(instance, config_volume(instance), [this, instance, done = std::move(done)] {
      played_.erase(instance);
      follow();
      done({});
    });
  });
}

// -- Volumes

// [impl->swdd~podman-kube-create-continues-if-cannot-create-volume~1]
void KubeRuntime::keep(const InstanceName& instance, std::string volume, std::string data,
                       std::function<void()> done) {
  // The label of a volume that is there already cannot be changed.
  run(instance, {Purpose::kOther, remove_volume_arguments(volume)},
      [this, instance, volume, data = std::move(data),
       done = std::move(done)](const Result<std::string>&) {
        run(instance, {Purpose::kOther, create_volume_arguments(volume, data)},
            [this, volume, done](const Result<std::string>& output) {
              if (!output)
                log_.warn(
                    "A volume of a workload could not be made; the workload will not be found "
                    "when the agent is started again",
                    {{"volume", volume}, {"reason", output.error().message}});
              done();
            });
      });
}

void KubeRuntime::drop_volume(const InstanceName& instance, const std::string& volume,
                              std::function<void()> done) {
  run(instance, {Purpose::kOther, remove_volume_arguments(volume)},
      [this, volume, done = std::move(done)](const Result<std::string>& output) {
        if (!output && !is_no_such_volume(output.error()))
          log_.warn("A volume of a workload that is gone could not be removed",
                    {{"volume", volume}, {"reason", output.error().message}});
        done();
      });
}

void KubeRuntime::load(const InstanceName& instance,
                       std::function<void(Result<std::optional<Played>>)> done) {
  run(instance, {Purpose::kOther, inspect_volume_arguments(config_volume(instance))},
      [this, instance, done = std::move(done)](const Result<std::string>& output) mutable {
        if (!output && is_no_such_volume(output.error())) return done(std::nullopt);
        const auto failed = [&](std::string_view why) {
          done(fail(Code::kDataLoss,
                    concat("Could not load workload metadata from volume '",
                           config_volume(instance), "': ", why,
                           ". Its pods, if any, have to be removed by hand, then the volume.")));
        };
        const auto data = output ? parse_volume_data(*output) : fail(output.error());
        if (!data) return failed(data.error().message);
        auto config = read_kube_config(*data);
        if (!config) return failed(to_string(config.error()));
        load_pods(instance,
                  {std::move(config->manifest), std::move(config->down_options), std::nullopt},
                  std::move(done));
      });
}

void KubeRuntime::load_pods(const InstanceName& instance, Played played,
                            std::function<void(Result<std::optional<Played>>)> done) {
  run(instance, {Purpose::kOther, inspect_volume_arguments(pods_volume(instance))},
      [played = std::move(played),
       done = std::move(done)](const Result<std::string>& output) mutable {
        const auto data = output ? parse_volume_data(*output) : fail(output.error());
        auto pods = data ? parse_pods(*data) : fail(data.error());
        if (pods) played.pods = *std::move(pods);
        done(std::move(played));
      });
}

// -- Finding

// [impl->swdd~podman-kube-list-existing-workloads-using-config-volumes~1]
void KubeRuntime::list(const AgentName& agent,
                       std::function<void(Result<std::vector<FoundWorkload>>)> sink) {
  if (knows_of_none_)
    return strand_.post([sink = std::move(sink)] { sink(std::vector<FoundWorkload>()); });
  engine_.run("volumes", {Purpose::kOther, list_volumes_arguments(agent)},
              [this, agent, creations = creations_,
               sink = std::move(sink)](const Result<std::string>& output) mutable {
                if (!output) return sink(fail(output.error()));
                auto instances = parse_config_volumes(*output, agent);
                if (instances.empty() && creations == creations_) remember_none();
                load_all(instances, [this, instances, sink = std::move(sink)]() mutable {
                  tell_found(std::move(instances), std::move(sink));
                });
              });
}

void KubeRuntime::remember_none() {
  if (std::exchange(knows_of_none_, true)) return;
  timers_.after(kNoVolumesLife, [this, creations = creations_] {
    if (creations == creations_) knows_of_none_ = false;
  });
}

void KubeRuntime::load_all(std::vector<InstanceName> instances, const std::function<void()>& done) {
  std::erase_if(instances, [this](const auto& instance) { return played_.contains(instance); });
  if (instances.empty()) return done();
  auto open = std::make_shared<std::size_t>(instances.size());
  for (const auto& instance : instances)
    load(instance, [this, instance, open, done](Result<std::optional<Played>> loaded) {
      if (!loaded)
        log_.warn("A podman-kube workload cannot be found again",
                  {{"instance", to_string(instance)}, {"reason", loaded.error().message}});
      else if (*loaded)
        played_.emplace(instance, **std::move(loaded));
      if (--*open == 0) done();
    });
}

void KubeRuntime::tell_found(std::vector<InstanceName> instances,
                             std::function<void(Result<std::vector<FoundWorkload>>)> sink) {
  follow();
  engine_.list_pods(
      [this, instances = std::move(instances), sink = std::move(sink)](const auto& containers) {
        if (!containers) return sink(fail(containers.error()));
        std::vector<FoundWorkload> found;
        for (const auto& instance : instances)
          if (const auto known = played_.find(instance); known != played_.end())
            found.push_back({kKubeRuntime, instance, state_of(known->second.pods, *containers),
                             id_of(instance), can_start_again()});
        sink(std::move(found));
      });
}

// -- States

void KubeRuntime::watch(workload::Token token, const InstanceName&, ContainerId container,
                        std::function<void(ExecutionState)> sink) {
  watches_.watch(token, std::move(container), std::move(sink));
}

void KubeRuntime::follow() {
  std::set<std::string> pods;
  for (const auto& [instance, played] : played_)
    if (played.pods) pods.insert(played.pods->begin(), played.pods->end());
  engine_.follow_pods(std::move(pods));
}

void KubeRuntime::list_states(std::function<void(Result<shell::StateWatches::States>)> sink) {
  engine_.list_pods([this, sink = std::move(sink)](const auto& containers) {
    if (!containers) return sink(fail(containers.error()));
    shell::StateWatches::States states;
    for (const auto& [instance, played] : played_) {
      auto state = state_of(played.pods, *containers);
      if (state.phase == Phase::kRemoved && removing_.contains(instance))
        state = ExecutionState(Phase::kStopping, kStoppingInfo);
      states.emplace(id_of(instance), std::move(state));
    }
    sink(std::move(states));
  });
}

// -- Logs

shell::LogStream KubeRuntime::logs(ContainerId, shell::LogOptions,
                                   std::function<void(shell::LogEvent)> sink) {
  const auto stream = ++last_log_;
  open_logs_.insert(stream);
  strand_.post([this, stream, sink = std::move(sink)] {
    if (open_logs_.erase(stream) > 0) sink(shell::LogEnd{});
  });
  return stream;
}

}  // namespace tiphys::kube
