#include "shell/agent_shell.h"

#include <utility>

#include "base/check.h"
#include "base/match.h"

namespace tiphys::shell {

AgentShell::AgentShell(const agent::Settings& settings, Strand& strand, Clock& clock,
                       Timers& timers, Trace& trace, Log& log, AgentLink& link,
                       ControlInterfaces& interfaces, std::map<std::string, Runtime*> runtimes,
                       WorkloadFolders& folders)
    : name_(settings.name),
      machine_(settings),
      timers_(timers),
      log_(log),
      link_(link),
      interfaces_(interfaces),
      runtimes_(std::move(runtimes)),
      outfitter_(folders, log),
      actor_(
          {.name = "agent " + settings.name.value}, strand, clock, trace,
          [this](const agent::Event& event, Instant now) { return machine_.step(event, now); },
          [this](agent::Effect effect) { perform(std::move(effect)); }) {}

void AgentShell::perform(agent::Effect effect) {
  match(
      std::move(effect), [&](const agent::Send& e) { link_.send(e.message); },
      [&](const agent::ListWorkloads& e) { list(e); },
      [&](const agent::Warn& e) { log_.warn(e.text); },
      [&](workload::CreateContainer e) { create(std::move(e)); },
      [&](const workload::DeleteContainer& e) { remove(e); },
      [&](const workload::ClearFolder& e) { clear(e); },
      [&](const workload::Watch& e) {
        watches_[e.token] = &runtime(e.runtime);
        watches_[e.token]->watch(e.token, e.instance, e.container,
                                 [this, token = e.token](ExecutionState state) {
                                   tell_loop(workload::Observed{token, std::move(state)});
                                 });
      },
      [&](workload::Unwatch e) {
        const auto watch = watches_.find(e.token);
        TIPHYS_CHECK(watch != watches_.end(), "a watch that ends has begun");
        watch->second->unwatch(e.token);
        watches_.erase(watch);
      },
      [&](workload::ArmTimer e) {
        timers_.after(e.after, [this, token = e.token] { tell_loop(workload::TimerFired{token}); });
      },
      [&](const agent::OpenInterface& e) { open_interface(e); },
      [&](agent::SendToWorkload e) { interfaces_.send(e.number, std::move(e.message)); },
      [&](agent::ReadOn e) { interfaces_.read_on(e.number); },
      [&](agent::StopReading e) { interfaces_.stop_reading(e.number); },
      [&](agent::CloseInterface e) {
        interfaces_.close(e.number);
        interface_folders_.closed(e.number);
      },
      [&](agent::FetchLogs e) { fetch_logs(std::move(e)); },
      [&](agent::ContinueFetching e) {
        if (const auto fetch = fetches_.find(e.fetch); fetch != fetches_.end())
          fetch->second.runtime->continue_logs(fetch->second.stream);
      },
      [&](agent::StopFetching e) {
        if (const auto fetch = fetches_.extract(e.fetch); !fetch.empty())
          fetch.mapped().runtime->end_logs(fetch.mapped().stream);
      },
      [&](agent::SendLogs e) {
        link_.send(ToServer(std::move(e.entries)),
                   [this, receipt = e.receipt] { actor_.tell(agent::LogsSent{receipt}); });
      });
}

void AgentShell::fetch_logs(agent::FetchLogs effect) {
  Runtime& from = runtime(effect.runtime);
  fetches_[effect.fetch] = Fetch{&from, 0};
  LogOptions options{effect.options.follow.value_or(false), effect.options.tail,
                     std::move(effect.options.since), std::move(effect.options.until)};
  const LogStream stream = from.logs(
      std::move(effect.container), std::move(options),
      [this, number = effect.fetch](LogEvent event) {
        match(
            std::move(event),
            [&](LogLines e) { actor_.tell(agent::LogsArrived{number, std::move(e.lines)}); },
            [&](const LogEnd& e) {
              fetches_.erase(number);
              actor_.tell(agent::LogsEnded{number, e.status ? "" : e.status.error().message});
            });
      });
  // Unless it has ended already.
  if (const auto fetch = fetches_.find(effect.fetch); fetch != fetches_.end())
    fetch->second.stream = stream;
}

void AgentShell::open_interface(const agent::OpenInterface& effect) {
  const auto tell = [this, number = effect.number](InterfaceEvent event) {
    actor_.tell(agent::ForInterface{number, std::move(event)});
  };
  interface_folders_.opening(effect.number, effect.instance);
  interface_folders_.when_clear(effect.instance, [this, tell, effect] {
    if (!interface_folders_.is_opening(effect.number)) return;  // it was closed meanwhile
    interfaces_.open(
        effect.number, effect.instance,
        [this, tell, number = effect.number](const Result<std::string>& folder) {
          if (!folder) tell(agent::NotOpened{folder.error().message});
          interface_folders_.opened(number, folder ? std::optional(*folder) : std::nullopt);
        },
        tell);
  });
}

void AgentShell::list(const agent::ListWorkloads& effect) {
  runtime(effect.runtime)
      .list(name_, [this, token = effect.token](Result<std::vector<agent::FoundWorkload>> found) {
        if (found)
          actor_.tell(agent::Listed{token, *std::move(found)});
        else
          actor_.tell(agent::ListFailed{token, found.error().message});
      });
}

// The container mounts what stands beside it, so that has to be there first. Where files cannot be written, the runtime
// is not asked, so nobody knows what an earlier try, or an earlier agent, has left there.
void AgentShell::create(workload::CreateContainer effect) {
  const WorkloadSpecPtr spec = effect.spec;
  interface_folders_.ask(spec->instance(), [this, effect = std::move(effect)](const auto& folder) {
    const WorkloadSpecPtr asked_for = effect.spec;
    outfitter_.prepare(asked_for, [this, effect, folder](Result<Equipment> equipment) {
      if (equipment) {
        equipment->control_interface = folder;
        create_equipped(effect, *std::move(equipment));
      } else {
        tell_loop(workload::CreateFailed{.token = effect.token,
                                         .cause = std::move(equipment).error().message,
                                         .may_succeed_later = false,
                                         .left_something = true});
      }
    });
  });
}

void AgentShell::create_equipped(const workload::CreateContainer& effect, Equipment equipment) {
  const bool can_start_again = runtime(effect.runtime).can_start_again();
  runtime(effect.runtime)
      .create(
          effect.spec, effect.reuse, std::move(equipment),
          [this, effect, can_start_again](CreateResult<workload::ContainerId> container) {
            if (container)
              tell_loop(workload::Created{effect.token, *std::move(container), can_start_again});
            else
              create_failed(effect, std::move(container).error());
          });
}

void AgentShell::create_failed(const workload::CreateContainer& effect, CreateError error) {
  auto tell = [this, token = effect.token, error = std::move(error)] {
    tell_loop(
        workload::CreateFailed{token, error.cause, error.may_succeed_later, error.left_something});
  };
  if (effect.spec->workload().files.empty()) return tell();
  outfitter_.clear_files(effect.spec->instance(), std::move(tell));
}

void AgentShell::clear(const workload::ClearFolder& effect) {
  interface_folders_.clearing(effect.instance);
  auto tell = [this, effect] {
    interface_folders_.cleared(effect.instance);
    tell_loop(workload::FolderCleared{effect.token});
  };
  if (effect.part == workload::ClearFolder::Part::kAll)
    outfitter_.clear_all(effect.instance, std::move(tell));
  else
    outfitter_.clear_files(effect.instance, std::move(tell));
}

void AgentShell::remove(const workload::DeleteContainer& effect) {
  runtime(effect.runtime)
      .remove(effect.instance, effect.container, [this, token = effect.token](Status status) {
        if (status)
          tell_loop(workload::Deleted{token});
        else
          tell_loop(workload::DeleteFailed{token, status.error().message});
      });
}

Runtime& AgentShell::runtime(const std::string& name) const {
  const auto entry = runtimes_.find(name);
  TIPHYS_CHECK(entry != runtimes_.end(), "the machine speaks to enabled runtimes only");
  return *entry->second;
}

}  // namespace tiphys::shell
