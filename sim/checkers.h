#pragma once

// What must hold whatever happens (safety), and what must hold once the faults are over (liveness).

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/watcher.h"

namespace tiphys::sim {

class Checkers {
 public:
  Checkers(World& world, const ServerNode& server,
           const std::vector<std::unique_ptr<AgentNode>>& agents, const Operator& user,
           const std::vector<std::unique_ptr<Watcher>>& watchers)
      : world_(world), server_(server), agents_(agents), user_(user), watchers_(watchers) {}

  // After every step.
  void check_safety() const;
  // When the faults have been over for a while.
  void check_liveness() const;

 private:
  void check_one_live_container_per_instance(const AgentNode& agent) const;
  void check_home(const AgentNode& agent) const;
  void check_foreign_containers(const AgentNode& agent) const;
  void check_wanted_workload(const AgentNode& agent, const WorkloadSpec& spec) const;
  [[nodiscard]] bool waits_to_start(const WorkloadSpec& spec) const;
  void check_nothing_else_runs(const AgentNode& agent) const;
  void check_states_known() const;
  void check_logs_ended() const;
  void check_views() const;

  World& world_;
  const ServerNode& server_;
  const std::vector<std::unique_ptr<AgentNode>>& agents_;
  const Operator& user_;
  const std::vector<std::unique_ptr<Watcher>>& watchers_;
};

}  // namespace tiphys::sim
