#include "io/runtimes/commands/command_engine.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "io/runtimes/commands/command_queue.h"
#include "io/runtimes/commands/container_arguments.h"
#include "io/runtimes/commands/exit_watcher.h"
#include "shell/owner_labels.h"

namespace tiphys::commands {

namespace asio = boost::asio;

namespace {

using shell::Container;
using shell::ContainerId;
using shell::ContainerStatus;
using shell::Owner;
using workload::ContainerPhase;
using SteadyTime = asio::steady_timer::clock_type::time_point;

// A little less than the pause between the listings that verify: those shall not be answered from the cache.
constexpr Duration kCacheLifeWhileWatched = std::chrono::seconds(59);
constexpr Duration kCacheLifeOtherwise = std::chrono::seconds(1);
// After the end of a process the engine may take the container away or start it again.
constexpr Duration kLookAfterExit = std::chrono::milliseconds(500);
// What is about to change (a process that is gone already, a container whose clean-up is under way) is looked at again so
// soon, and then after pauses that double.
constexpr Duration kFirstLookAgain = std::chrono::milliseconds(50);
constexpr Duration kLongestLookAgain = std::chrono::seconds(1);
constexpr int kMaxContradictions = 5;

ContainerStatus running() { return {ContainerPhase::kRunning, "running", 0, false}; }
ContainerStatus gone() { return {ContainerPhase::kGone, {}, 0, false}; }
ContainerStatus exited(const ContainerExit& exit) {
  return {ContainerPhase::kExited, "exited", exit.exit_code, exit.out_of_memory};
}

EngineSettings with_program(EngineSettings settings, std::string name) {
  if (settings.program.empty()) settings.program = std::move(name);
  return settings;
}

}  // namespace

// Whom to tell of changes. Lives on the strand.
class CommandEngine::Listeners {
 public:
  Listeners(shell::Log& log, std::string engine) : log_(log), engine_(std::move(engine)) {}

  // Without an owner: to the containers of pods.
  shell::EngineWatch add(std::optional<Owner> owner, std::function<void(shell::EngineEvent)> sink) {
    listeners_.emplace(++last_, Listener{std::move(owner), std::move(sink)});
    return last_;
  }
  void remove(shell::EngineWatch watch) { listeners_.erase(watch); }

  void changed(const shell::Labels& labels, bool is_in_pod, const shell::ContainerChanged& change) {
    // A sink may add or remove listeners: look at each anew.
    for (const auto number : numbers())
      if (const auto found = listeners_.find(number);
          found != listeners_.end() && wants(found->second, labels, is_in_pod)) {
        const auto sink = found->second.sink;
        sink(change);
      }
  }

  void lost() {
    for (auto& [number, listener] : std::exchange(listeners_, {}))
      listener.sink(shell::ChangesLost{});
  }

  void warn(const std::string& reason) {
    log_.warn(
        concat(engine_, "'s containers cannot be watched, their states are asked for every second"),
        {{"reason", reason}});
  }

 private:
  struct Listener {
    std::optional<Owner> owner;
    std::function<void(shell::EngineEvent)> sink;
  };

  static bool wants(const Listener& listener, const shell::Labels& labels, bool is_in_pod) {
    return listener.owner ? shell::belongs_to(labels, *listener.owner) : is_in_pod;
  }

  [[nodiscard]] std::vector<shell::EngineWatch> numbers() const {
    std::vector<shell::EngineWatch> all;
    all.reserve(listeners_.size());
    for (const auto& [number, listener] : listeners_) all.push_back(number);
    return all;
  }

  shell::Log& log_;
  const std::string engine_;
  std::map<shell::EngineWatch, Listener> listeners_;
  shell::EngineWatch last_ = 0;
};

// Runs the program, keeps the cache and watches processes. Lives on the executor.
// [impl->swdd~podmancli-container-state-cache-all-containers~1]
class CommandEngine::Worker : public std::enable_shared_from_this<Worker> {
 public:
  using ListSink = std::function<void(Result<std::vector<Container>>)>;
  using PodsSink = std::function<void(Result<ContainersByPod>)>;

  Worker(const asio::any_io_executor& executor, shell::Strand& strand,
         std::weak_ptr<Listeners> listeners, std::unique_ptr<const Dialect> dialect,
         const EngineSettings& settings)
      : settings_(settings),
        dialect_(std::move(dialect)),
        strand_(strand),
        listeners_(std::move(listeners)),
        look_timer_(executor),
        exits_(
            executor, [this](pid_t process) { return dialect_->read_keeper(process); },
            [this](const ContainerId& id, std::optional<ContainerExit> exit) { ended(id, exit); }),
        queue_(executor, {dialect_->name(), settings.program, settings.environment, kMaxCreates,
                          kMaxOtherCommands, settings.limits}) {}

  // [impl->swdd~podman-create-workload-runs-workload~1]
  // [impl->swdd~podman-create-workload-returns-workload-id~1]
  void create(const Owner& owner, const shell::ContainerSpec& spec, bool start,
              std::function<void(Result<ContainerId>)> sink) {
    know(owner);
    // What the next listing needs is made ready while the program works.
    if (!is_fresh()) refresh();
    auto labels = shell::owner_labels(owner);
    labels.insert(spec.labels.begin(), spec.labels.end());
    Container made{{}, spec.name, std::move(labels), running()};
    queue_.run(Lane::kCreate, spec.name,
               {{start ? run_arguments(owner, spec) : create_arguments(owner, spec),
                 settings_.create_deadline}},
               [this, made = std::move(made), start,
                sink = std::move(sink)](const Result<std::string>& output) mutable {
                 touch();
                 auto id = output ? parse_id(dialect_->name(), *output) : fail(output.error());
                 if (id) made.id = *id;
                 if (!id || !start || !enter_running(std::move(made))) cache_.is_valid = false;
                 answer(std::move(sink), std::move(id));
               });
  }

  void start(const ContainerId& id, const std::vector<std::string>& general_options,
             std::function<void(Status)> sink) {
    queue_.run(Lane::kOther, id.value,
               {{start_arguments(general_options, id), settings_.command_deadline}},
               [this, id, sink = std::move(sink)](const Result<std::string>& output) mutable {
                 touch();
                 if (!output || !enter_running_again(id)) cache_.is_valid = false;
                 answer(std::move(sink), status_of_command(output));
               });
  }

  void signal(const ContainerId& id, int signal, std::function<void(Status)> sink) {
    queue_.run(Lane::kOther, id.value, {{kill_arguments(id, signal), settings_.command_deadline}},
               [this, sink = std::move(sink)](const Result<std::string>& output) mutable {
                 answer(std::move(sink), status_of_command(output));
               });
  }

  // [impl->swdd~podman-delete-workload-stops-and-removes-workload~1]
  void remove(const ContainerId& id, std::function<void(Status)> sink) {
    removing_.insert(id);
    queue_.run(
        Lane::kOther, id.value,
        {dialect_->stop(id, settings_.stop_deadline), dialect_->rm(id, settings_.command_deadline)},
        [this, id, sink = std::move(sink)](const Result<std::string>& output) mutable {
          touch();
          removing_.erase(id);
          if (output)
            drop(id);
          else
            cache_.is_valid = false;
          answer(std::move(sink), status_of_command(output));
        });
  }

  void run(std::string key, EngineCommand command, std::function<void(Result<std::string>)> sink) {
    const bool creates = command.purpose == Purpose::kCreate;
    const bool changes_containers = command.purpose != Purpose::kOther;
    const Duration deadline = creates              ? settings_.create_deadline
                              : changes_containers ? settings_.stop_deadline
                                                   : settings_.command_deadline;
    queue_.run(
        creates ? Lane::kCreate : Lane::kOther, std::move(key),
        {{std::move(command.arguments), deadline, {}, std::move(command.input)}},
        [this, changes_containers, sink = std::move(sink)](Result<std::string> output) mutable {
          if (changes_containers) forget_cache();
          answer(std::move(sink), std::move(output));
        });
  }

  void list_pods(PodsSink sink) {
    if (is_fresh()) return tell_pods(cache_, std::move(sink));
    waiting_for_pods_.push_back(std::move(sink));
    refresh();
  }

  void follow_pods(std::set<std::string> pods) {
    const bool has_new_ones = !std::includes(pods_.begin(), pods_.end(), pods.begin(), pods.end());
    pods_ = std::move(pods);
    if (has_new_ones) forget_cache();
    for (const auto& [id, listed] : cache_.containers)
      if (!is_ours(listed)) stop_watching(id);
  }

  // [impl->swdd~podmancli-uses-container-state-cache~1]
  // [impl->swdd~podmancli-container-state-cache-refresh~1]
  // [impl->swdd~podman-state-getter-uses-podmancli~1]
  void list(const Owner& owner, ListSink sink) {
    know(owner);
    if (is_fresh()) return tell_list(cache_, {owner, std::move(sink)});
    waiting_.push_back({owner, std::move(sink)});
    refresh();
  }

 private:
  // What is not valid any more is still what we last knew: the next listing is compared with it.
  struct Cache {
    std::map<ContainerId, ListedContainer> containers;
    SteadyTime taken{};
    bool is_valid = false;
  };
  struct Waiting {
    Owner owner;
    ListSink sink;
  };
  struct Served {
    std::vector<Waiting> lists;
    std::vector<PodsSink> pods;

    [[nodiscard]] bool is_empty() const { return lists.empty() && pods.empty(); }
  };

  // -- The cache

  // Containers of an owner that nobody has asked for yet are not watched.
  void know(const Owner& owner) {
    if (owners_.insert({owner.part, owner.agent.value}).second) cache_.is_valid = false;
  }

  [[nodiscard]] bool is_ours(const ListedContainer& listed) const {
    for (const auto& [part, agent] : owners_)
      if (shell::belongs_to(listed.container.labels, {part, {agent}})) return true;
    return pods_.contains(listed.pod);
  }

  [[nodiscard]] ListedContainer* find(const ContainerId& id) {
    const auto found = cache_.containers.find(id);
    return found == cache_.containers.end() ? nullptr : &found->second;
  }

  void stop_watching(const ContainerId& id) {
    exits_.forget(id);
    contradictions_.erase(id);
  }

  void drop(const ContainerId& id) {
    stop_watching(id);
    cache_.containers.erase(id);
  }

  [[nodiscard]] bool is_fresh() const {
    return cache_.is_valid &&
           asio::steady_timer::clock_type::now() - cache_.taken <
               (lost_reason_.empty() ? kCacheLifeWhileWatched : kCacheLifeOtherwise);
  }

  // A listing that began before this is not the truth any more.
  void touch() { ++version_; }

  void forget_cache() {
    touch();
    cache_.is_valid = false;
  }

  // [impl->swdd~podman-list-of-existing-workloads-uses-labels~1]
  // [impl->swdd~podman-get-workload-id-uses-label~1]
  void tell_list(const Cache& from, Waiting waiting) {
    std::vector<Container> found;
    for (const auto& [id, listed] : from.containers)
      if (shell::belongs_to(listed.container.labels, waiting.owner))
        found.push_back(listed.container);
    if (!lost_reason_.empty()) tell_lost();
    answer(std::move(waiting.sink), Result<std::vector<Container>>(std::move(found)));
  }

  void tell_pods(const Cache& from, PodsSink sink) {
    ContainersByPod pods;
    for (const auto& [id, listed] : from.containers)
      if (!listed.pod.empty()) pods[listed.pod].push_back(listed.container.status);
    if (!lost_reason_.empty()) tell_lost();
    answer(std::move(sink), Result<ContainersByPod>(std::move(pods)));
  }

  // [impl->swdd~podman-state-getter-reset-cache~1]
  bool enter_running(Container container) {
    if (!is_fresh()) return false;
    const auto process = exits_.find_process(container.id);
    if (!process || exits_.watch(container.id, *process) != Watching::kYes) return false;
    const auto id = container.id;
    cache_.containers.insert_or_assign(id, ListedContainer{std::move(container), *process, {}});
    return true;
  }

  bool enter_running_again(const ContainerId& id) {
    const auto* known = find(id);
    if (known == nullptr) return false;
    auto container = known->container;
    container.status = running();
    return enter_running(std::move(container));
  }

  // -- Listings

  void refresh() {
    if (refreshing_) return;  // whoever waits gets the next one
    refreshing_ = true;
    Served served{std::exchange(waiting_, {}), std::exchange(waiting_for_pods_, {})};
    dialect_->list(queue_, settings_.command_deadline,
                   [this, served = std::move(served), version = version_,
                    began = asio::steady_timer::clock_type::now()](
                       Result<std::vector<ListedContainer>> listing) mutable {
                     refreshing_ = false;
                     listed(std::move(listing), version == version_, began, std::move(served));
                     if (!waiting_.empty() || !waiting_for_pods_.empty()) refresh();
                   });
  }

  void listed(Result<std::vector<ListedContainer>> listing, bool is_current, SteadyTime began,
              Served served) {
    if (!listing) {
      cache_.is_valid = false;
      // Whoever asked asks again. A look of our own would be lost, and with it what it was for.
      if (served.is_empty() && !cache_.containers.empty()) look_after(kLongestLookAgain);
      for (auto& waiting : served.lists)
        answer(std::move(waiting.sink), Result<std::vector<Container>>(fail(listing.error())));
      for (auto& sink : served.pods)
        answer(std::move(sink), Result<ContainersByPod>(fail(listing.error())));
      return;
    }
    Cache fresh{{}, began, true};
    for (auto& each : *listing) {
      const auto id = each.container.id;
      fresh.containers.emplace(id, std::move(each));
    }
    if (is_current)
      take(fresh);
    else
      look_after(kLookAfterExit);
    // What was asked for before something was touched is still answered with what the engine said then.
    for (auto& waiting : served.lists) tell_list(fresh, std::move(waiting));
    for (auto& sink : served.pods) tell_pods(fresh, std::move(sink));
    if (is_current) cache_ = std::move(fresh);
  }

  // Compares what the engine says with what we knew, and watches what runs.
  void take(Cache& fresh) {
    lost_reason_.clear();
    look_again_ = false;
    for (auto& [id, listed] : fresh.containers) {
      auto& container = listed.container;
      if (!is_ours(listed)) continue;
      const auto* known = find(id);
      const bool has_ended =
          known != nullptr && known->container.status.phase == ContainerPhase::kExited;
      // The engine takes a moment to notice the end of a process.
      if (has_ended && listed.pid != 0 && known->pid == listed.pid)
        container.status = known->container.status;
      else
        watch(listed);
      // A listing does not say it.
      if (has_ended && container.status.phase == ContainerPhase::kExited)
        container.status.out_of_memory = known->container.status.out_of_memory;
      if (known == nullptr || known->container.status != container.status) tell(listed);
    }
    std::vector<ContainerId> vanished;
    for (const auto& [id, listed] : cache_.containers)
      if (!fresh.containers.contains(id) && is_ours(listed)) vanished.push_back(id);
    for (const auto& id : vanished) {
      auto* listed = find(id);
      listed->container.status = gone();
      tell(*listed);
      drop(id);
    }
    if (look_again_) {
      look_after(next_pause_);
      next_pause_ = std::min(2 * next_pause_, kLongestLookAgain);
    } else {
      next_pause_ = kFirstLookAgain;
    }
    if (!lost_reason_.empty() && !std::exchange(has_warned_, true)) warn();
    if (lost_reason_.empty()) has_warned_ = false;
  }

  void watch(const ListedContainer& listed) {
    const auto& id = listed.container.id;
    if (listed.pid == 0) {
      contradictions_.erase(id);
      if (listed.container.status.phase == ContainerPhase::kStopping) look_again_ = true;
      if (listed.container.status.phase == ContainerPhase::kRunning)
        lost_reason_ =
            concat(dialect_->name(), " names no process of the running container ", id.value);
      return;
    }
    switch (exits_.watch(id, listed.pid)) {
      case Watching::kYes:
        contradictions_.erase(id);
        return;
      case Watching::kGone:
        look_again_ = true;
        if (++contradictions_[id] <= kMaxContradictions) return;
        lost_reason_ = concat("process ", std::to_string(listed.pid), ", which ", dialect_->name(),
                              " names for ", id.value, ", is not there or not below its keeper");
        return;
      case Watching::kImpossible:
        lost_reason_ = concat("process ", std::to_string(listed.pid), " of ", id.value,
                              " cannot be watched on this system");
    }
  }

  // The earliest of several looks counts, so that steady changes do not put it off.
  void look_after(Duration pause) {
    const auto wanted = std::chrono::steady_clock::now() + pause;
    if (is_look_planned_ && look_timer_.expiry() <= wanted) return;
    is_look_planned_ = true;
    look_timer_.expires_at(wanted);
    look_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (!self || error) return;
      self->is_look_planned_ = false;
      // A listing that has begun may be older than what we want to see.
      if (self->refreshing_) return self->look_after(kFirstLookAgain);
      self->refresh();
    });
  }

  // -- Changes

  void ended(const ContainerId& id, std::optional<ContainerExit> exit) {
    if (!removing_.contains(id)) look_after(kLookAfterExit);
    auto* known = find(id);
    if (!exit || known == nullptr) return refresh();
    touch();
    known->container.status = exited(*exit);
    tell(*known);
  }

  void tell(const ListedContainer& listed) {
    const auto& container = listed.container;
    strand_.post([weak = listeners_, labels = container.labels,
                  is_in_pod = pods_.contains(listed.pod),
                  change = shell::ContainerChanged{container.id, container.status}] {
      if (const auto listeners = weak.lock()) listeners->changed(labels, is_in_pod, change);
    });
  }

  void tell_lost() {
    strand_.post([weak = listeners_] {
      if (const auto listeners = weak.lock()) listeners->lost();
    });
  }

  void warn() {
    strand_.post([weak = listeners_, reason = lost_reason_] {
      if (const auto listeners = weak.lock()) listeners->warn(reason);
    });
  }

  template <class T>
  void answer(std::function<void(T)> sink, T result) {
    strand_.post([sink = std::move(sink), result = std::move(result)]() mutable {
      sink(std::move(result));
    });
  }

  static Status status_of_command(const Result<std::string>& output) {
    if (!output) return fail(output.error());
    return {};
  }

  const EngineSettings settings_;
  const std::unique_ptr<const Dialect> dialect_;
  shell::Strand& strand_;
  const std::weak_ptr<Listeners> listeners_;

  std::set<std::pair<std::string, std::string>> owners_;  // part, agent
  std::set<std::string> pods_;                            // whose containers are ours as well
  Cache cache_;
  std::uint64_t version_ = 0;  // grows with every touch
  bool refreshing_ = false;
  std::vector<Waiting> waiting_;  // for a listing that has not begun
  std::vector<PodsSink> waiting_for_pods_;
  std::string lost_reason_;  // why changes cannot be told; empty when they are
  bool has_warned_ = false;  // once, not every second
  std::map<ContainerId, int> contradictions_;
  bool look_again_ = false;  // what was listed will not stay so
  Duration next_pause_ = kFirstLookAgain;
  std::set<ContainerId> removing_;

  bool is_look_planned_ = false;
  asio::steady_timer look_timer_;
  ExitWatcher exits_;
  CommandQueue queue_;
};

CommandEngine::CommandEngine(asio::any_io_executor executor, shell::Strand& strand, shell::Log& log,
                             std::unique_ptr<const Dialect> dialect, EngineSettings settings)
    : executor_(std::move(executor)),
      strand_(strand),
      settings_(with_program(std::move(settings), dialect->name())),
      listeners_(std::make_shared<Listeners>(log, dialect->name())),
      worker_(
          std::make_shared<Worker>(executor_, strand, listeners_, std::move(dialect), settings_)),
      logs_(executor_, strand, {settings_.program, settings_.environment, settings_.limits}) {}

CommandEngine::~CommandEngine() = default;

void CommandEngine::create(const Owner& owner, shell::ContainerSpec spec, bool start,
                           std::function<void(Result<ContainerId>)> sink) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), owner, spec = std::move(spec), start,
                         sink = std::move(sink)]() mutable {
    if (const auto worker = weak.lock()) worker->create(owner, spec, start, std::move(sink));
  });
}

void CommandEngine::start(ContainerId container, std::vector<std::string> general_options,
                          std::function<void(Status)> sink) {
  asio::post(executor_,
             [weak = std::weak_ptr(worker_), container = std::move(container),
              general_options = std::move(general_options), sink = std::move(sink)]() mutable {
               if (const auto worker = weak.lock())
                 worker->start(container, general_options, std::move(sink));
             });
}

void CommandEngine::signal(ContainerId container, int signal, std::function<void(Status)> sink) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), container = std::move(container), signal,
                         sink = std::move(sink)]() mutable {
    if (const auto worker = weak.lock()) worker->signal(container, signal, std::move(sink));
  });
}

void CommandEngine::remove(ContainerId container, std::function<void(Status)> sink) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), container = std::move(container),
                         sink = std::move(sink)]() mutable {
    if (const auto worker = weak.lock()) worker->remove(container, std::move(sink));
  });
}

void CommandEngine::list(const Owner& owner,
                         std::function<void(Result<std::vector<Container>>)> sink) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), owner, sink = std::move(sink)]() mutable {
    if (const auto worker = weak.lock()) worker->list(owner, std::move(sink));
  });
}

shell::EngineWatch CommandEngine::watch(const Owner& owner,
                                        std::function<void(shell::EngineEvent)> sink) {
  return listeners_->add(owner, std::move(sink));
}

void CommandEngine::unwatch(shell::EngineWatch watch) { listeners_->remove(watch); }

void CommandEngine::stats(ContainerId, std::function<void(Result<shell::ContainerStats>)> sink) {
  strand_.post([sink = std::move(sink)] {
    sink(fail(Code::kUnimplemented, "statistics of containers are not supported by this version"));
  });
}

shell::LogStream CommandEngine::logs(ContainerId container, shell::LogOptions options,
                                     std::function<void(shell::LogEvent)> sink) {
  return logs_.follow(logs_arguments(options, container.value), std::move(sink));
}

void CommandEngine::continue_logs(shell::LogStream stream) { logs_.continue_with(stream); }

void CommandEngine::end_logs(shell::LogStream stream) { logs_.end(stream); }

void CommandEngine::run(std::string key, EngineCommand command,
                        std::function<void(Result<std::string>)> sink) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), key = std::move(key),
                         command = std::move(command), sink = std::move(sink)]() mutable {
    if (const auto worker = weak.lock())
      worker->run(std::move(key), std::move(command), std::move(sink));
  });
}

void CommandEngine::list_pods(std::function<void(Result<ContainersByPod>)> sink) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), sink = std::move(sink)]() mutable {
    if (const auto worker = weak.lock()) worker->list_pods(std::move(sink));
  });
}

shell::EngineWatch CommandEngine::watch_pods(std::function<void(shell::EngineEvent)> sink) {
  return listeners_->add(std::nullopt, std::move(sink));
}

void CommandEngine::follow_pods(std::set<std::string> pods) {
  asio::post(executor_, [weak = std::weak_ptr(worker_), pods = std::move(pods)]() mutable {
    if (const auto worker = weak.lock()) worker->follow_pods(std::move(pods));
  });
}

}  // namespace tiphys::commands
