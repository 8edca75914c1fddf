#pragma once

// The whole state: what is wanted (desired), what is sent to agents (effective), what the agents
// say of their workloads, and the agents themselves. Each part is a snapshot; copying one copies
// pointers.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/api_version.h"
#include "model/reading.h"
#include "model/tree.h"
#include "model/workload.h"
#include "model/workload_states.h"

namespace tiphys {

struct State {
  std::string api_version{kCurrentApiVersion};
  Tree::Map workloads;  // name -> Workload
  Tree::Map configs;    // key -> config item: a string, or a list or map of config items

  [[nodiscard]] WorkloadPtr workload(std::string_view name) const;
  [[nodiscard]] Tree to_tree(Empties empties = Empties::kOmit) const;

  friend bool operator==(const State&, const State&) = default;
};

// Reads a state from a tree that may have been made from `base`: what they share was read before
// and is not looked at.
Read<State> read_state(const Tree& tree, const Path& path, const State& base = {});

// The names of config items and of their maps, and of what workloads call them, in what differs
// from `base`.
Status check_config_names(const State& state, const State& base = {});

struct AgentStatus {
  std::uint32_t cpu_usage = 0;    // percent
  std::uint64_t free_memory = 0;  // bytes

  friend bool operator==(const AgentStatus&, const AgentStatus&) = default;
};

struct AgentAttributes final : Tree::Object {
  std::optional<AgentStatus> status;
  Tags tags;

  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override;
  [[nodiscard]] Tree::Map fields(Empties empties) const override;

  friend bool operator==(const AgentAttributes& a, const AgentAttributes& b) {
    return a.status == b.status && a.tags == b.tags;
  }
};

struct CompleteState {
  State desired;
  WorkloadStates workload_states;
  Tree::Map agents;               // name -> AgentAttributes; connected agents only
  Tree::Map effective_workloads;  // name -> WorkloadSpec

  [[nodiscard]] Tree to_tree() const;
};

}  // namespace tiphys
