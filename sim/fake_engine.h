#pragma once

// A container engine in virtual time: the one fake that stands for podman and its like. It outlives the agent on its
// node, so that a call made by a killed agent still takes effect.
//
// While faults are on it is slow, fails before or after the effect, leaves half-made containers, doubles answers and
// containers, loses containers, lets them crash, stops telling about changes, and gives no logs or never ends them.
//
// An image says how its containers behave: `service` runs until it is stopped, `job` ends well after a while, `flaky`
// ends badly now and then while faults are on. Whatever it is, a container writes lines with its workload's name and
// numbers from 1 on; those who follow it read until it ends.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shell/engine.h"
#include "sim/mutation.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::sim {

class FakeEngine final : public shell::Engine {
 public:
  struct FakeContainer {
    shell::Owner owner;
    shell::ContainerSpec spec;
    shell::ContainerStatus status;
    bool surplus = false;   // made by a fault of the engine, not by a call
    bool late = false;      // started by the call of an agent that was dead by then
    std::uint64_t run = 0;  // counts starts; the end of an earlier run is stale
  };

  FakeEngine(World& world, std::string node, Mutation mutation);

  // The process that calls and is answered; none while the agent is down. Changes are told to one process only.
  void attach(Process* process);

  [[nodiscard]] const std::map<shell::ContainerId, FakeContainer>& containers() const {
    return containers_;
  }
  // Was there ever a container of that name in that phase (and with that exit code, when ended)?
  [[nodiscard]] bool ever_was(const std::string& name, const shell::ContainerStatus& status) const;
  [[nodiscard]] bool ever_lost(const std::string& name) const { return lost_.contains(name); }
  // Did the engine ever make a second container of that name by itself? Nobody can tell such two apart.
  [[nodiscard]] bool ever_doubled(const std::string& name) const { return doubled_.contains(name); }
  [[nodiscard]] int failed_creates(const std::string& name) const;
  // Puts a container of somebody else on the node.
  void add_foreign(const std::string& name);

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

 private:
  struct Watcher {
    shell::Owner owner;
    std::function<void(shell::EngineEvent)> sink;
    Instant last;  // changes are told in the order in which they happened
  };

  struct FakeLogs {
    shell::ContainerId container;
    bool follow;
    std::function<void(shell::LogEvent)> sink;
    std::uint64_t left;  // batches, unless it is followed
    std::uint64_t written = 0;
    bool is_told = false;  // lines that nobody has asked past
  };

  // Runs the effect after a while, and tells the caller what it gave a while later, if the caller still lives.
  template <class T>
  void call(std::string_view what, const std::function<T()>& effect, std::function<void(T)> sink);

  Result<shell::ContainerId> make(const shell::Owner& owner, shell::ContainerSpec spec, bool start);
  shell::ContainerId put(const shell::Owner& owner, shell::ContainerSpec spec, bool surplus);
  void run(const shell::ContainerId& id);
  void end(const shell::ContainerId& id, int exit_code);
  void lose(const shell::ContainerId& id);
  void set_status(const shell::ContainerId& id, shell::ContainerStatus status);
  void tell(const shell::Owner& owner, const shell::EngineEvent& event);
  void write_logs(shell::LogStream stream);
  bool mutate(Mutation mutation);

  World& world_;
  const std::string node_;
  const Mutation mutation_;
  Process* process_ = nullptr;
  bool caller_alive_ = true;  // while an effect runs: does the agent that asked for it still live?
  std::map<shell::ContainerId, FakeContainer> containers_;
  std::set<std::pair<std::string, std::string>> history_;  // name, phase
  std::set<std::string> lost_;
  std::set<std::string> doubled_;
  std::map<std::string, int> failed_creates_;
  std::map<shell::EngineWatch, Watcher> watchers_;
  std::map<shell::LogStream, FakeLogs> logs_;
  shell::LogStream last_logs_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_watch_ = 0;
};

}  // namespace tiphys::sim
