#include "model/workload_states.h"

#include <map>
#include <memory>
#include <string>

#include "base/check.h"

namespace tiphys {
namespace {

// What an entry of the map is.
struct HeldState final : ExecutionState {
  HeldState(const ExecutionState& state, Instant the_since)
      : ExecutionState(state), since(the_since) {}

  const Instant since;
};

Instant since_of(const ExecutionState& entry) { return static_cast<const HeldState&>(entry).since; }

Tree held(const ExecutionState& state, Instant since) {
  return Tree(std::make_shared<const HeldState>(state, since));
}

template <class Visit>
void for_each_id(const AgentName& agent, const std::string& workload, const Tree& ids,
                 Visit&& visit) {
  ids.entries().for_each([&](const std::string& id, const Tree& state) {
    visit(WorkloadState{InstanceName{WorkloadName{workload}, WorkloadId{id}, agent},
                        *state.object<ExecutionState>()});
  });
}

template <class Visit>
void for_each_state(const std::string& agent, const Tree& workloads, Visit&& visit) {
  workloads.entries().for_each([&](const std::string& workload, const Tree& ids) {
    for_each_id(AgentName{agent}, workload, ids, visit);
  });
}

}  // namespace

// [impl->swdd~api-state-map-for-workload-execution-states~1]
const ExecutionState* WorkloadStates::find(const InstanceName& instance) const {
  const Tree* workloads = by_agent_.find(instance.agent.value);
  if (workloads == nullptr) return nullptr;
  const auto ids = workloads->child(instance.workload.value);
  if (!ids) return nullptr;
  const auto state = ids->child(instance.id.value);
  // The map keeps the state alive beyond this copy of the pointer to it.
  return state ? state->object<ExecutionState>().get() : nullptr;
}

std::vector<WorkloadState> WorkloadStates::of_agent(const AgentName& agent) const {
  std::vector<WorkloadState> states;
  if (const Tree* workloads = by_agent_.find(agent.value))
    for_each_state(agent.value, *workloads,
                   [&](WorkloadState state) { states.push_back(std::move(state)); });
  return states;
}

std::vector<WorkloadState> WorkloadStates::of_all_but(const AgentName& agent) const {
  std::vector<WorkloadState> states;
  by_agent_.for_each([&](const std::string& name, const Tree& workloads) {
    if (name == agent.value) return;
    for_each_state(name, workloads,
                   [&](WorkloadState state) { states.push_back(std::move(state)); });
  });
  return states;
}

bool WorkloadStates::has_others_than(const AgentName& agent) const {
  return by_agent_.size() > (by_agent_.find(agent.value) == nullptr ? 0 : 1);
}

std::vector<WorkloadState> WorkloadStates::of_workload(const WorkloadName& workload) const {
  std::vector<WorkloadState> states;
  by_agent_.for_each([&](const std::string& agent, const Tree& workloads) {
    if (const auto ids = workloads.child(workload.value))
      for_each_id(AgentName{agent}, workload.value, *ids,
                  [&](WorkloadState state) { states.push_back(std::move(state)); });
  });
  return states;
}

std::vector<StateSince> WorkloadStates::since(const std::set<std::string>& workloads) const {
  std::vector<StateSince> all;
  by_agent_.for_each([&](const std::string& agent, const Tree& of_agent) {
    of_agent.entries().for_each([&](const std::string& workload, const Tree& ids) {
      if (!workloads.empty() && !workloads.contains(workload)) return;
      ids.entries().for_each([&](const std::string& id, const Tree& state) {
        all.push_back({InstanceName{WorkloadName{workload}, WorkloadId{id}, AgentName{agent}},
                       since_of(*state.object<ExecutionState>())});
      });
    });
  });
  return all;
}

void WorkloadStates::add_initial(const std::vector<InstanceName>& instances, Instant now) {
  const Tree pending = held(ExecutionState(Phase::kPendingInitial), now);
  const Tree not_scheduled = held(ExecutionState(Phase::kNotScheduled), now);
  std::map<std::string, std::map<std::string, Tree>> added;  // ids by agent and workload
  for (const auto& [workload, id, agent] : instances) {
    const Tree* workloads = by_agent_.find(agent.value);
    Tree& ids = added[agent.value][workload.value];
    if (ids.is_null() && workloads != nullptr)
      ids = workloads->child(workload.value).value_or(Tree());
    if (const Tree::Map known = ids.entries(); known.find(id.value) == nullptr)
      ids = known.set(id.value, agent.empty() ? not_scheduled : pending);
  }
  for (const auto& [agent, workloads] : added) {
    const Tree* known = by_agent_.find(agent);
    const Tree::Map before = known == nullptr ? Tree::Map() : known->entries();
    by_agent_ = by_agent_.set(agent, before.set_all({workloads.begin(), workloads.end()}));
  }
}

void WorkloadStates::update(const WorkloadState& state, Instant now) {
  if (state.state.phase == Phase::kRemoved)
    remove(state.instance);
  else
    put(state.instance, state.state, now);
}

void WorkloadStates::remove(const InstanceName& instance) {
  if (find(instance) == nullptr) return;
  const Tree::Map workloads = by_agent_.find(instance.agent.value)->entries();
  const Tree::Map ids = workloads.find(instance.workload.value)->entries().erase(instance.id.value);
  const Tree::Map rest = ids.empty() ? workloads.erase(instance.workload.value)
                                     : workloads.set(instance.workload.value, ids);
  by_agent_ = rest.empty() ? by_agent_.erase(instance.agent.value)
                           : by_agent_.set(instance.agent.value, rest);
}

void WorkloadStates::mark_disconnected(const AgentName& agent, Instant now) {
  for (const auto& state : of_agent(agent))
    put(state.instance, ExecutionState(Phase::kAgentDisconnected), now);
}

void WorkloadStates::put(const InstanceName& instance, const ExecutionState& state, Instant now) {
  TIPHYS_CHECK(state.phase != Phase::kRemoved, "a removed workload has no entry");
  const Tree* agent = by_agent_.find(instance.agent.value);
  const Tree::Map workloads = agent == nullptr ? Tree::Map() : agent->entries();
  const Tree* workload = workloads.find(instance.workload.value);
  const Tree::Map ids = workload == nullptr ? Tree::Map() : workload->entries();
  const ExecutionState* before = find(instance);
  const Instant since = before != nullptr && before->phase == state.phase ? since_of(*before) : now;
  by_agent_ = by_agent_.set(
      instance.agent.value,
      workloads.set(instance.workload.value, ids.set(instance.id.value, held(state, since))));
}

}  // namespace tiphys
