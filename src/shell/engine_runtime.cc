#include "shell/engine_runtime.h"

#include <iterator>
#include <utility>

#include "base/match.h"
#include "shell/once.h"
#include "shell/owner_labels.h"

namespace tiphys::shell {
namespace {

std::optional<InstanceName> instance_of(const Container& container) {
  const auto label = container.labels.find(kInstanceLabel);
  if (label == container.labels.end()) return std::nullopt;
  auto instance = parse_instance_name(label->second);
  if (!instance) return std::nullopt;
  return *std::move(instance);
}

}  // namespace

EngineRuntime::EngineRuntime(Settings settings, Engine& engine, Timers& timers,
                             ReadConfig read_config)
    : settings_(std::move(settings)),
      engine_(engine),
      read_config_(std::move(read_config)),
      // [impl->swdd~podman-state-getter-returns-lost-state~1]
      watches_(
          {.list = [this](auto sink) { list_states(std::move(sink)); },
           .listen =
               [this] {
                 engine_.watch(settings_.owner,
                               [this](const EngineEvent& event) { changed(event); });
               },
           .absent = workload::execution_state_of({workload::ContainerPhase::kGone, {}, 0, false}),
           .listing_failed = ExecutionState(Phase::kFailedUnknown, settings_.listing_failed)},
          timers) {}

bool EngineRuntime::is_missing(const Result<std::vector<Container>>& listing) const {
  return settings_.may_be_missing && !listing && listing.error().code == Code::kNotFound;
}

void EngineRuntime::list(const AgentName& agent,
                         std::function<void(Result<std::vector<agent::FoundWorkload>>)> sink) {
  engine_.list(Owner{settings_.owner.part, agent}, [this, sink = std::move(sink)](auto containers) {
    if (is_missing(containers)) return sink(std::vector<agent::FoundWorkload>());
    if (!containers) return sink(fail(containers.error()));
    std::vector<agent::FoundWorkload> found;
    for (const auto& container : *containers)
      if (auto instance = instance_of(container))
        found.push_back({settings_.name, *std::move(instance), execution_state_of(container.status),
                         container.id});
    sink(std::move(found));
  });
}

void EngineRuntime::create(WorkloadSpecPtr spec, std::optional<ContainerId> reuse,
                           Equipment equipment,
                           std::function<void(CreateResult<ContainerId>)> sink) {
  const InstanceName instance = spec->instance();
  // A failed creation may have left a container that would block the name of the next try.
  auto failed = [this, instance, sink](const Error& error) {
    remove_all_of(instance, [sink, error](const Status& cleaned) {
      sink(tl::unexpected(CreateError{error.message, true, !cleaned.has_value()}));
    });
    // The analyser loses sight of a std::function that is moved twice; LeakSanitizer sees no leak.
  };  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)
  auto container = read_config_(*spec);
  if (!container) return sink(tl::unexpected(container.error()));
  if (reuse) {
    engine_.start(*reuse, std::move(container->general_options),
                  once([failed, sink, id = *reuse](Status status) {
                    if (status)
                      sink(id);
                    else
                      failed(status.error());
                  }));
    return;
  }
  container->name = to_string(instance);
  // [impl->swdd~podman-create-workload-mounts-fifo-files~1]
  if (equipment.control_interface)
    container->mounts.push_back({*equipment.control_interface, kControlInterfaceMountPoint});
  std::move(equipment.files.begin(), equipment.files.end(), std::back_inserter(container->mounts));
  container->labels[kInstanceLabel] = to_string(instance);
  container->labels[kAnkaiosAgentLabel] = instance.agent.value;
  engine_.create(settings_.owner, *std::move(container), true,
                 once([failed, sink](Result<ContainerId> id) {
                   if (id)
                     sink(*std::move(id));
                   else
                     failed(id.error());
                 }));
}

// [impl->swdd~podman-create-workload-deletes-failed-container~1]
void EngineRuntime::remove_all_of(const InstanceName& instance, std::function<void(Status)> done) {
  engine_.list(settings_.owner, once([this, instance, done = std::move(done)](auto containers) {
                 if (is_missing(containers)) return done({});
                 if (!containers) return done(fail(containers.error()));
                 std::vector<ContainerId> found;
                 for (const auto& container : *containers)
                   if (instance_of(container) == instance) found.push_back(container.id);
                 if (found.empty()) return done({});
                 struct Open {
                   std::size_t count;
                   Status status;
                 };
                 auto open = std::make_shared<Open>(Open{found.size(), {}});
                 for (auto& container : found)
                   engine_.remove(std::move(container), once([open, done](const Status& status) {
                                    if (!status) open->status = status;
                                    if (--open->count == 0) done(open->status);
                                  }));
               }));
}

void EngineRuntime::remove(const InstanceName& instance, std::optional<ContainerId> container,
                           std::function<void(Status)> sink) {
  if (container)
    engine_.remove(*std::move(container), std::move(sink));
  else
    remove_all_of(instance, std::move(sink));
}

void EngineRuntime::list_states(std::function<void(Result<StateWatches::States>)> sink) {
  engine_.list(settings_.owner, [sink = std::move(sink)](const auto& containers) {
    if (!containers) return sink(fail(containers.error()));
    StateWatches::States states;
    for (const auto& container : *containers)
      states.emplace(container.id, execution_state_of(container.status));
    sink(std::move(states));
  });
}

void EngineRuntime::changed(const EngineEvent& event) {
  match(
      event,
      [this](const ContainerChanged& e) { watches_.changed(e.id, execution_state_of(e.status)); },
      [this](const ChangesLost&) { watches_.changes_lost(); });
}

}  // namespace tiphys::shell
