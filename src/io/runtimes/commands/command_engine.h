#pragma once

// An engine that is driven through its command line: podman, nerdctl. What differs between them is their Dialect.
//
//   strand ── call ──▶ queue per container ──▶ program (a few at once) ──▶ answer on the strand
//                       one listing for all who ask ──▶ cache ◀── exits of processes, our own actions
//
// States are answered from one cache of all containers. It counts as true for a minute while the processes of all our
// containers are watched, else for a second; whatever is created, started or removed here enters it at once or empties it.
// Changes are told as they are noticed: the end of a process within milliseconds, anything else by the next listing. When
// processes cannot be watched the changes are lost, and whoever listens goes on by listing.
//
// Pods are made by others, who run the program through us; their containers are in the same cache and watched alike.
//
// A program that hangs, dies, is missing or prints nonsense is an error that says so, after its deadline at the latest.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "io/host/process.h"
#include "io/runtimes/commands/command_queue.h"
#include "io/runtimes/commands/engine_output.h"
#include "io/runtimes/commands/keeper.h"
#include "io/runtimes/commands/log_follower.h"
#include "shell/engine.h"
#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::commands {

// A create may pull an image; a stop waits for as long as the container may take to end.
inline constexpr Duration kCreateDeadline = std::chrono::minutes(5);
inline constexpr Duration kStopDeadline = std::chrono::minutes(5);
inline constexpr Duration kCommandDeadline = std::chrono::seconds(60);
// Each program takes some 40 MB and a core; those that may wait for a pull do not hold up the others.
inline constexpr std::size_t kMaxCreates = 4;
inline constexpr std::size_t kMaxOtherCommands = 4;

struct EngineSettings {
  std::string program = {};  // in PATH; the one that the dialect names when it is empty
  std::map<std::string, std::string> environment = {};  // besides ours
  Duration create_deadline = kCreateDeadline;
  Duration stop_deadline = kStopDeadline;
  Duration command_deadline = kCommandDeadline;
  std::vector<host::ResourceLimit> limits = {};  // where they differ from ours
};

// What an engine has of its own. Used on the executor.
class Dialect {
 public:
  using ListingSink = std::function<void(Result<std::vector<ListedContainer>>)>;

  virtual ~Dialect() = default;

  // Of the program, as messages say it too.
  [[nodiscard]] virtual std::string name() const = 0;
  // In this order. What is not there, or not any more, is no failure of either.
  [[nodiscard]] virtual Command stop(const shell::ContainerId& container,
                                     Duration deadline) const = 0;
  [[nodiscard]] virtual Command rm(const shell::ContainerId& container,
                                   Duration deadline) const = 0;
  // All containers, whoever made them; told once, and never after the queue has gone.
  virtual void list(CommandQueue& queue, Duration deadline, ListingSink sink) const = 0;
  [[nodiscard]] virtual std::optional<Keeper> read_keeper(pid_t process) const = 0;
};

// What a command of somebody else is for says how long it may take, and whether containers come and go with it.
enum class Purpose : std::uint8_t { kCreate, kRemove, kOther };

struct EngineCommand {
  Purpose purpose = Purpose::kOther;
  Arguments arguments;
  std::string input = {};
};

// The states of all containers that are in pods, by the id of the pod.
using ContainersByPod = std::map<std::string, std::vector<shell::ContainerStatus>>;

class CommandEngine : public shell::Engine {
 public:
  // Works on the executor of an io_context with one thread. The log is used on the strand.
  CommandEngine(boost::asio::any_io_executor executor, shell::Strand& strand, shell::Log& log,
                std::unique_ptr<const Dialect> dialect, EngineSettings settings);
  // Once the strand has stopped, and on the executor or once that has stopped too. Nobody is told any more. A program that
  // creates or removes a container is left to finish; the containers stay.
  ~CommandEngine() override;
  CommandEngine(const CommandEngine&) = delete;
  CommandEngine& operator=(const CommandEngine&) = delete;

  void create(const shell::Owner& owner, shell::ContainerSpec spec, bool start,
              std::function<void(Result<shell::ContainerId>)> sink) override;
  void start(shell::ContainerId container, std::vector<std::string> general_options,
             std::function<void(Status)> sink) override;
  void signal(shell::ContainerId container, int signal, std::function<void(Status)> sink) override;
  void remove(shell::ContainerId container, std::function<void(Status)> sink) override;
  void list(const shell::Owner& owner,
            std::function<void(Result<std::vector<shell::Container>>)> sink) override;
  shell::EngineWatch watch(const shell::Owner& owner,
                           std::function<void(shell::EngineEvent)> sink) override;
  void unwatch(shell::EngineWatch watch) override;
  void stats(shell::ContainerId container,
             std::function<void(Result<shell::ContainerStats>)> sink) override;
  shell::LogStream logs(shell::ContainerId container, shell::LogOptions options,
                        std::function<void(shell::LogEvent)> sink) override;
  void continue_logs(shell::LogStream stream) override;
  void end_logs(shell::LogStream stream) override;

  // -- For whoever runs pods with this engine

  // Runs the program in the same queue: commands of one key one after the other, in the order in which they came.
  void run(std::string key, EngineCommand command, std::function<void(Result<std::string>)> sink);
  void list_pods(std::function<void(Result<ContainersByPod>)> sink);
  // Tells every change of a container in one of the pods that were followed last, until unwatch().
  shell::EngineWatch watch_pods(std::function<void(shell::EngineEvent)> sink);
  void follow_pods(std::set<std::string> pods);

 private:
  class Listeners;
  class Worker;

  boost::asio::any_io_executor executor_;
  shell::Strand& strand_;
  const EngineSettings settings_;
  std::shared_ptr<Listeners> listeners_;  // on the strand
  std::shared_ptr<Worker> worker_;        // on the executor
  LogFollower logs_;                      // beside the queue: whoever follows holds up nobody
};

}  // namespace tiphys::commands
