#pragma once

// An agent's machine between its server, its runtimes, and the folders and control interfaces of its workloads.

#include <map>
#include <string>

#include "core/agent/agent_machine.h"
#include "shell/actor.h"
#include "shell/control_interfaces.h"
#include "shell/interface_folders.h"
#include "shell/link.h"
#include "shell/outfitter.h"
#include "shell/runtime.h"
#include "shell/workload_folders.h"

namespace tiphys::shell {

class AgentShell {
 public:
  // The runtimes are those that the settings enable, by name.
  AgentShell(const agent::Settings& settings, Strand& strand, Clock& clock, Timers& timers,
             Trace& trace, Log& log, AgentLink& link, ControlInterfaces& interfaces,
             std::map<std::string, Runtime*> runtimes, WorkloadFolders& folders);

  void connected() { actor_.tell(agent::Connected{}); }
  void disconnected(bool cleanly = false) { actor_.tell(agent::Disconnected{cleanly}); }
  // False when so much waits that the link should stop reading for a while; the message was not taken.
  [[nodiscard]] bool received(FromServer&& message) {
    return !actor_.is_full() && actor_.try_tell(agent::Received{std::move(message)});
  }
  void load_sampled(AgentStatus status) { actor_.tell_latest(0, agent::LoadSampled{status}); }

  [[nodiscard]] const WorkloadStates& states() const { return machine_.states(); }
  [[nodiscard]] std::size_t log_campaigns() const { return machine_.log_campaigns(); }

 private:
  void perform(agent::Effect effect);
  void list(const agent::ListWorkloads& effect);
  void create(workload::CreateContainer effect);
  void create_equipped(const workload::CreateContainer& effect, Equipment equipment);
  void create_failed(const workload::CreateContainer& effect, CreateError error);
  void clear(const workload::ClearFolder& effect);
  void remove(const workload::DeleteContainer& effect);
  void open_interface(const agent::OpenInterface& effect);
  void fetch_logs(agent::FetchLogs effect);
  void tell_loop(workload::Event event) { actor_.tell(agent::ForLoop{std::move(event)}); }
  [[nodiscard]] Runtime& runtime(const std::string& name) const;

  const AgentName name_;
  agent::AgentMachine machine_;
  Timers& timers_;
  Log& log_;
  AgentLink& link_;
  ControlInterfaces& interfaces_;
  InterfaceFolders interface_folders_;
  const std::map<std::string, Runtime*> runtimes_;
  Outfitter outfitter_;
  struct Fetch {
    Runtime* runtime;
    LogStream stream;
  };

  std::map<agent::FetchNumber, Fetch> fetches_;  // those whose end has not come
  std::map<workload::Token, Runtime*> watches_;  // which runtime to tell when a watch ends
  Actor<agent::Event, agent::Effect> actor_;
};

}  // namespace tiphys::shell
