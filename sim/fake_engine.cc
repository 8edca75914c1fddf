#include "sim/fake_engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys::sim {
namespace {

using shell::Container;
using shell::ContainerId;
using shell::ContainerSpec;
using shell::ContainerStatus;
using workload::ContainerPhase;

std::string phase_word(const ContainerStatus& status) {
  switch (status.phase) {
    case ContainerPhase::kStarting:
      return "created";
    case ContainerPhase::kRunning:
      return "running";
    case ContainerPhase::kExited:
      return concat("exited ", std::to_string(status.exit_code));
    case ContainerPhase::kDead:
      return concat("dead ", std::to_string(status.exit_code));
    case ContainerPhase::kStopping:
      return "stopping";
    case ContainerPhase::kUnknown:
      return "unknown";
    case ContainerPhase::kGone:
      return "gone";
  }
  return "unknown";
}

}  // namespace

FakeEngine::FakeEngine(World& world, std::string node, Mutation mutation)
    : world_(world), node_(std::move(node)), mutation_(mutation) {}

void FakeEngine::attach(Process* process) {
  process_ = process;
  watchers_.clear();
  logs_.clear();
}

bool FakeEngine::ever_was(const std::string& name, const ContainerStatus& status) const {
  return history_.contains({name, phase_word(status)});
}

int FakeEngine::failed_creates(const std::string& name) const {
  const auto entry = failed_creates_.find(name);
  return entry == failed_creates_.end() ? 0 : entry->second;
}

void FakeEngine::add_foreign(const std::string& name) {
  ContainerSpec spec;
  spec.name = name;
  spec.labels["name"] = name;
  run(put(shell::Owner{"somebody", AgentName{node_}}, std::move(spec), false));
}

template <class T>
void FakeEngine::call(std::string_view what, const std::function<T()>& effect,
                      std::function<void(T)> sink) {
  TIPHYS_CHECK(process_ != nullptr, "a dead agent calls nobody");
  const bool slow = world_.fault("engine slow", 1, 12);
  const Duration until_effect =
      slow ? world_.draw(seconds(1), seconds(25)) : world_.draw(milliseconds(5), milliseconds(200));
  const Duration until_answer =
      slow ? world_.draw(seconds(1), seconds(10)) : world_.draw(milliseconds(1), milliseconds(20));
  const bool fails_before = world_.fault("engine failed before the effect", 1, 14);
  const bool fails_after = !fails_before && world_.fault("engine failed after the effect", 1, 20);
  const bool doubled = world_.fault("engine doubled an answer", 1, 16);
  const auto alive = process_->liveness();
  // The answer goes to the life of the agent that asked; the effect happens whether that one lives or not.
  auto answer = [this, sink = std::move(sink), alive](const T& value) {
    if (*alive)
      sink(value);
    else
      world_.count("engine answered after a restart");
  };
  world_.after(until_effect, [=, this, what = std::string(what)] {
    caller_alive_ = *alive;
    std::optional<T> value;
    if (!fails_before) value = effect();
    caller_alive_ = true;
    if (fails_before || fails_after)
      value = tiphys::fail(Code::kUnavailable, concat("engine error: ", what, " failed"));
    world_.after(until_answer, [answer, value] { answer(*value); });
    if (doubled) world_.after(2 * until_answer, [answer, value] { answer(*value); });
  });
}

bool FakeEngine::mutate(Mutation mutation) {
  return mutation_ == mutation && world_.random().chance(1, 4);
}

void FakeEngine::create(const shell::Owner& owner, ContainerSpec spec, bool start,
                        std::function<void(Result<ContainerId>)> sink) {
  const std::string name = spec.name;
  call<Result<ContainerId>>(
      "create",
      [this, owner, spec = std::move(spec), start]() -> Result<ContainerId> {
        return make(owner, spec, start);
      },
      [this, name, sink = std::move(sink)](Result<ContainerId> id) {
        if (!id) ++failed_creates_[name];
        sink(std::move(id));
      });
}

Result<ContainerId> FakeEngine::make(const shell::Owner& owner, ContainerSpec spec, bool start) {
  for (const auto& [id, container] : containers_)
    if (container.spec.name == spec.name)
      return tiphys::fail(Code::kAlreadyExists,
                          concat("the name ", spec.name, " is in use by ", id.value));
  if (mutate(Mutation::kDroppedCreate))
    return ContainerId{concat(node_, "-", std::to_string(++last_id_))};
  if (mutate(Mutation::kWrongInstance)) {
    spec.name += "x";
    spec.labels["name"] = spec.name;
  }
  if (start && world_.fault("engine left a half-made container", 1, 30)) {
    put(owner, std::move(spec), false);
    return tiphys::fail(Code::kInternal, "engine error: made but not started");
  }
  ContainerId id = put(owner, spec, false);
  if (start) run(id);
  if (mutate(Mutation::kDoubledCreate)) run(put(owner, spec, false));
  if (world_.fault("engine doubled a container", 1, 40)) {
    spec.name += "-again";  // its label is that of the real one
    doubled_.insert(spec.labels["name"]);
    run(put(owner, std::move(spec), true));
  }
  return id;
}

ContainerId FakeEngine::put(const shell::Owner& owner, ContainerSpec spec, bool surplus) {
  ContainerId id{concat(node_, "-", std::to_string(++last_id_))};
  containers_[id] = FakeContainer{owner, std::move(spec), {}, surplus};
  set_status(id, ContainerStatus{ContainerPhase::kStarting, "created", 0, false});
  return id;
}

void FakeEngine::run(const ContainerId& id) {
  auto& container = containers_.at(id);
  const std::uint64_t run = ++container.run;
  container.late = !caller_alive_;
  const std::string& image = container.spec.image;
  set_status(id, ContainerStatus{ContainerPhase::kRunning, "running", 0, false});
  const auto end_after = [&](Duration duration, int exit_code, bool only_with_faults) {
    world_.after(duration, [this, id, run, exit_code, only_with_faults] {
      const auto entry = containers_.find(id);
      if (entry == containers_.end() || entry->second.run != run) return;
      if (only_with_faults && !world_.faults_on()) return;
      if (only_with_faults) world_.count("container crashed");
      end(id, exit_code);
    });
  };
  if (image == "job") end_after(world_.draw(seconds(1), seconds(30)), 0, false);
  if (image == "flaky")
    end_after(world_.draw(seconds(5), seconds(60)),
              1 + static_cast<int>(world_.random().below(100)), true);
  if (container.owner.part != "somebody" && world_.fault("engine lost a container", 1, 40))
    world_.after(world_.draw(seconds(1), seconds(60)), [this, id] { lose(id); });
}

void FakeEngine::end(const ContainerId& id, int exit_code) {
  if (containers_.at(id).status.phase == ContainerPhase::kRunning)
    set_status(id, ContainerStatus{ContainerPhase::kExited, "exited", exit_code, false});
}

void FakeEngine::lose(const ContainerId& id) {
  const auto entry = containers_.find(id);
  if (entry == containers_.end()) return;
  const FakeContainer container = entry->second;
  lost_.insert(container.spec.labels.at("name"));
  containers_.erase(entry);
  world_.line(concat("engine ", node_, " lost ", id.value));
  tell(container.owner,
       shell::ContainerChanged{id, ContainerStatus{ContainerPhase::kGone, "", 0, false}});
}

void FakeEngine::set_status(const ContainerId& id, ContainerStatus status) {
  auto& container = containers_.at(id);
  container.status = status;
  history_.insert({container.spec.labels["name"], phase_word(status)});
  world_.line(
      concat("engine ", node_, " ", id.value, " ", container.spec.name, " ", phase_word(status)));
  tell(container.owner, shell::ContainerChanged{id, std::move(status)});
}

void FakeEngine::tell(const shell::Owner& owner, const shell::EngineEvent& event) {
  if (process_ == nullptr) return;
  std::vector<shell::EngineWatch> ended;
  for (auto& [number, watcher] : watchers_) {
    if (!(watcher.owner == owner)) continue;
    const bool lost = world_.fault("engine stopped telling changes", 1, 25);
    watcher.last =
        std::max(watcher.last, world_.now() + world_.draw(milliseconds(1), milliseconds(10)));
    world_.at(watcher.last,
              process_->guarded([sink = watcher.sink,
                                 told = lost ? shell::EngineEvent(shell::ChangesLost{}) : event] {
                sink(told);
              }));
    if (lost) ended.push_back(number);
  }
  for (const auto number : ended) watchers_.erase(number);
}

void FakeEngine::start(ContainerId container, std::vector<std::string> /*general_options*/,
                       std::function<void(Status)> sink) {
  call<Status>(
      "start",
      [this, container]() -> Status {
        if (!containers_.contains(container))
          return tiphys::fail(Code::kNotFound, "no such container");
        if (containers_.at(container).status.phase != ContainerPhase::kRunning) run(container);
        return {};
      },
      std::move(sink));
}

void FakeEngine::signal(ContainerId container, int signal, std::function<void(Status)> sink) {
  call<Status>(
      "signal",
      [this, container, signal]() -> Status {
        if (!containers_.contains(container))
          return tiphys::fail(Code::kNotFound, "no such container");
        end(container, 128 + signal);
        return {};
      },
      std::move(sink));
}

void FakeEngine::remove(ContainerId container, std::function<void(Status)> sink) {
  call<Status>(
      "remove",
      [this, container]() -> Status {
        const auto entry = containers_.find(container);
        if (entry == containers_.end() || mutate(Mutation::kDroppedDelete)) return {};
        const shell::Owner owner = entry->second.owner;
        // The call of a dead agent may take away what the next one has adopted.
        if (!caller_alive_) lost_.insert(entry->second.spec.labels.at("name"));
        world_.line(concat("engine ", node_, " ", container.value, " removed"));
        containers_.erase(entry);
        tell(owner, shell::ContainerChanged{container,
                                            ContainerStatus{ContainerPhase::kGone, "", 0, false}});
        return {};
      },
      std::move(sink));
}

void FakeEngine::list(const shell::Owner& owner,
                      std::function<void(Result<std::vector<Container>>)> sink) {
  call<Result<std::vector<Container>>>(
      "list",
      [this, owner]() -> Result<std::vector<Container>> {
        std::vector<Container> found;
        for (const auto& [id, container] : containers_)
          if (container.owner == owner)
            found.push_back({id, container.spec.name, container.spec.labels, container.status});
        return found;
      },
      std::move(sink));
}

shell::EngineWatch FakeEngine::watch(const shell::Owner& owner,
                                     std::function<void(shell::EngineEvent)> sink) {
  watchers_[++last_watch_] = Watcher{owner, std::move(sink), world_.now()};
  return last_watch_;
}

void FakeEngine::unwatch(shell::EngineWatch watch) { watchers_.erase(watch); }

void FakeEngine::stats(ContainerId container,
                       std::function<void(Result<shell::ContainerStats>)> sink) {
  call<Result<shell::ContainerStats>>(
      "stats",
      [this, container]() -> Result<shell::ContainerStats> {
        if (!containers_.contains(container))
          return tiphys::fail(Code::kNotFound, "no such container");
        return shell::ContainerStats{1 << 20U, milliseconds(1)};
      },
      std::move(sink));
}

shell::LogStream FakeEngine::logs(ContainerId container, shell::LogOptions options,
                                  std::function<void(shell::LogEvent)> sink) {
  const shell::LogStream stream = ++last_logs_;
  logs_.emplace(stream, FakeLogs{std::move(container), options.follow, std::move(sink),
                                 world_.random().below(5)});
  if (!world_.fault("engine hung in logs", 1, 15)) write_logs(stream);
  return stream;
}

// The next batch or the end, after a while.
void FakeEngine::write_logs(shell::LogStream stream) {
  const bool fails = world_.fault("engine failed in logs", 1, 15);
  world_.after(world_.draw(milliseconds(10), seconds(5)), process_->guarded([this, stream, fails] {
    const auto entry = logs_.find(stream);
    if (entry == logs_.end()) return;
    FakeLogs& logs = entry->second;
    const auto container = containers_.find(logs.container);
    const bool is_there = container != containers_.end();
    const bool goes_on =
        is_there &&
        (logs.follow ? container->second.status.phase == ContainerPhase::kRunning : logs.left > 0);
    const auto sink = logs.sink;
    if (fails || !goes_on) {
      logs_.erase(entry);
      return sink(shell::LogEnd{
          fails || !is_there ? Status(tiphys::fail(Code::kUnknown, "exit code 125")) : Status()});
    }
    const auto instance = parse_instance_name(container->second.spec.labels.at("name"));
    shell::LogLines batch;
    for (std::uint64_t lines = 1 + world_.random().below(3); lines > 0; --lines)
      batch.lines.push_back(concat(instance->workload.value, " ", std::to_string(++logs.written)));
    if (logs.left > 0) --logs.left;
    logs.is_told = true;
    sink(std::move(batch));
  }));
}

void FakeEngine::continue_logs(shell::LogStream stream) {
  const auto logs = logs_.find(stream);
  if (logs == logs_.end()) return;
  if (!std::exchange(logs->second.is_told, false))
    return world_.fail("an agent asked for more logs than it was told of");
  write_logs(stream);
}

void FakeEngine::end_logs(shell::LogStream stream) { logs_.erase(stream); }

}  // namespace tiphys::sim
