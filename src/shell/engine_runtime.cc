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
      timers_(timers),
      read_config_(std::move(read_config)) {}

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

void EngineRuntime::watch(workload::Token token, const InstanceName&, ContainerId container,
                          std::function<void(ExecutionState)> sink) {
  watches_.insert_or_assign(
      token, Watched{std::move(container), std::move(sink), last_listing_ + 1, std::nullopt});
  refresh();
}

void EngineRuntime::unwatch(workload::Token token) { watches_.erase(token); }

void EngineRuntime::listen() {
  if (listening_) return;
  listening_ = true;
  engine_.watch(settings_.owner, [this](const EngineEvent& event) { changed(event); });
}

void EngineRuntime::changed(const EngineEvent& event) {
  match(
      event,
      [&](const ContainerChanged& e) {
        if (listing_) changed_during_listing_.insert(e.id);
        // A sink may begin or end watches: look at each token anew.
        std::vector<workload::Token> tokens;
        for (const auto& [token, watched] : watches_)
          if (watched.container == e.id) tokens.push_back(token);
        for (const auto token : tokens)
          if (const auto watched = watches_.find(token); watched != watches_.end())
            tell(watched->second, execution_state_of(e.status));
      },
      [&](const ChangesLost&) {
        listening_ = false;
        if (!listing_) refresh_after(kStatePollPeriod);
      });
}

void EngineRuntime::refresh() {
  if (listing_) {
    list_again_ = true;
    return;
  }
  if (watches_.empty()) return;
  // Listening begins before the listing, so that nothing falls between them.
  listen();
  listing_ = ++last_listing_;
  list_again_ = false;
  changed_during_listing_.clear();
  ask(*listing_, false);
}

void EngineRuntime::ask(std::uint64_t listing, bool second_try) {
  engine_.list(settings_.owner, [this, listing, second_try](const auto& containers) {
    if (listing_ != listing) return;
    if (containers || second_try)
      listed(containers);
    else
      ask(listing, true);
  });
}

// [impl->swdd~podman-state-getter-returns-lost-state~1]
void EngineRuntime::listed(const Result<std::vector<Container>>& containers) {
  std::map<ContainerId, ExecutionState> states;
  if (containers)
    for (const auto& container : *containers)
      states.emplace(container.id, execution_state_of(container.status));
  std::vector<workload::Token> tokens;
  tokens.reserve(watches_.size());
  for (const auto& [token, watched] : watches_) tokens.push_back(token);
  // A sink may begin or end watches: the listing is under way until all are told, and each token is looked at anew.
  for (const auto token : tokens) {
    const auto entry = watches_.find(token);
    if (entry == watches_.end() || entry->second.first_listing > *listing_ ||
        changed_during_listing_.contains(entry->second.container))
      continue;
    const auto state = states.find(entry->second.container);
    if (!containers)
      tell(entry->second, ExecutionState(Phase::kFailedUnknown, settings_.listing_failed));
    else if (state != states.end())
      tell(entry->second, state->second);
    else
      tell(entry->second,
           execution_state_of(ContainerStatus{workload::ContainerPhase::kGone, {}, 0, false}));
  }
  listing_.reset();
  if (list_again_)
    refresh();
  else
    refresh_after(listening_ && containers ? kStateVerifyPeriod : kStatePollPeriod);
}

void EngineRuntime::refresh_after(Duration pause) {
  timers_.after(pause, [this, generation = ++timer_generation_] {
    if (generation == timer_generation_) refresh();
  });
}

// [impl->swdd~generic-state-checker-sends-workload-state~2]
void EngineRuntime::tell(Watched& watched, const ExecutionState& state) {
  if (watched.last == state) return;
  watched.last = state;
  const auto sink = watched.sink;  // the watch may end while it is told
  sink(state);
}

}  // namespace tiphys::shell
