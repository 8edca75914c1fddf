#include "sim/checkers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/strings.h"
#include "core/agent/dependency_queue.h"
#include "core/workload/container_status.h"

namespace tiphys::sim {
namespace {

using workload::ContainerPhase;

const std::string& label_of(const FakeEngine::FakeContainer& container) {
  return container.spec.labels.at("name");
}

// A job that is started again and again is between two runs most of the time, and news of it is always under way.
bool is_restless(const WorkloadSpec& spec) {
  return spec.workload().restart_policy == RestartPolicy::kAlways &&
         spec.workload().runtime_config.starts_with("image: job");
}

bool is_ours(const FakeEngine::FakeContainer& container) { return container.owner.part == kOwner; }

}  // namespace

void Checkers::check_safety() const {
  for (const auto& agent : agents_) {
    check_one_live_container_per_instance(*agent);
    check_home(*agent);
    check_foreign_containers(*agent);
    agent->check_order();
  }
}

void Checkers::check_one_live_container_per_instance(const AgentNode& agent) const {
  std::map<std::string, std::string> live;
  for (const auto& [id, container] : agent.engine().containers()) {
    if (!is_ours(container) || container.surplus ||
        container.status.phase != ContainerPhase::kRunning)
      continue;
    const auto [entry, first] = live.emplace(label_of(container), id.value);
    if (!first)
      world_.fail(concat("two live containers of ", label_of(container), ": ", entry->second,
                         " and ", id.value));
  }
}

// An instance names its agent: its containers run there and nowhere else.
void Checkers::check_home(const AgentNode& agent) const {
  for (const auto& [id, container] : agent.engine().containers()) {
    if (!is_ours(container)) continue;
    const auto instance = parse_instance_name(label_of(container));
    if (!instance || instance->agent.value != agent.name())
      world_.fail(concat(id.value, " on ", agent.name(), " is ", label_of(container),
                         ", which has no home there"));
  }
}

void Checkers::check_foreign_containers(const AgentNode& agent) const {
  std::size_t foreign = 0;
  for (const auto& [id, container] : agent.engine().containers())
    foreign += is_ours(container) ? 0 : 1;
  if (foreign != 1) world_.fail(concat("a container of somebody else vanished on ", agent.name()));
}

void Checkers::check_liveness() const {
  if (server_.shell() == nullptr) return world_.fail("the server is not back");
  for (const auto& agent : agents_) {
    if (agent->shell() == nullptr) return world_.fail(agent->name() + " is not back");
    check_nothing_else_runs(*agent);
    server_.shell()->state().effective_workloads.for_each(
        [&](const std::string&, const Tree& value) {
          const auto spec = value.object<WorkloadSpec>();
          if (spec->instance().agent.value == agent->name()) check_wanted_workload(*agent, *spec);
        });
  }
  check_states_known();
  check_logs_ended();
  check_views();
}

// One container in a state that the restart policy leaves alone, or a reason why there is none.
void Checkers::check_wanted_workload(const AgentNode& agent, const WorkloadSpec& spec) const {
  const std::string name = to_string(spec.instance());
  const ExecutionState* reported = server_.shell()->state().workload_states.find(spec.instance());
  const std::string said = reported == nullptr ? "nothing" : to_string(*reported);
  std::vector<workload::ContainerStatus> found;
  bool was_made_with_files = false;  // they may have been added while its agent was down
  for (const auto& [id, container] : agent.engine().containers()) {
    if (!is_ours(container) || label_of(container) != name) continue;
    found.push_back(container.status);
    was_made_with_files = std::ranges::any_of(container.spec.mounts,
                                              [](const auto& mount) { return mount.read_only; });
  }

  if (found.size() > 1) return world_.fail(concat(name, " has several containers at the end"));
  const bool waits_to_stop =
      reported != nullptr && reported->phase == Phase::kStoppingWaitingToStop;
  if (found.empty()) {
    const bool lost = reported != nullptr && reported->phase == Phase::kFailedLost &&
                      agent.engine().ever_lost(name);
    const bool gave_up =
        reported != nullptr && reported->phase == Phase::kPendingStartingFailed &&
        (agent.engine().failed_creates(name) > workload::kMaxRetries ||
         reported->additional_info.find("for the wrong runtime") != std::string::npos ||
         (reported->additional_info.starts_with("Failed to create workload file") &&
          agent.folders().ever_failed(spec.instance())) ||
         spec.workload().runtime != kRuntime ||
         !spec.workload().runtime_config.starts_with("image: "));
    // It waits for another workload to come, or for those that need its predecessor to go.
    const bool waits =
        waits_to_start(spec) ||
        (reported != nullptr && (reported->phase == Phase::kPendingInitial || waits_to_stop) &&
         agent.is_held(spec.instance()));
    if (!lost && !gave_up && !waits)
      world_.fail(concat(name, " is wanted and does not run; the server heard ", said));
    return;
  }
  // What is left of a creation that failed is taken over as it is, if it runs.
  if (was_made_with_files && agent.engine().failed_creates(name) == 0 &&
      !agent.folders().ever_failed(spec.instance()) && !agent.folders().has_files(spec.instance()))
    world_.fail(concat(name, " has a container and no files"));
  if (is_restless(spec) || (waits_to_stop && agent.is_held(spec.instance()))) return;
  // An ended container that is to be started again waits like one that is to be made.
  if (found.front().phase == ContainerPhase::kExited && waits_to_start(spec)) return;
  if (reported == nullptr || !(*reported == workload::execution_state_of(found.front())))
    world_.fail(concat(name, " is ", to_string(workload::execution_state_of(found.front())),
                       "; the server heard ", said));
  const bool ended_badly =
      found.front().phase == ContainerPhase::kExited && found.front().exit_code != 0;
  if (ended_badly && spec.workload().restart_policy != RestartPolicy::kNever)
    world_.fail(concat(name, " failed and was not started again"));
}

// The removal of the old container of an instance that is to come again is the last that was heard of it.
bool Checkers::waits_to_start(const WorkloadSpec& spec) const {
  const auto& states = server_.shell()->state().workload_states;
  const ExecutionState* reported = states.find(spec.instance());
  return (reported == nullptr || reported->phase == Phase::kPendingWaitingToStart) &&
         !agent::may_create(spec, states);
}

void Checkers::check_nothing_else_runs(const AgentNode& agent) const {
  const auto& wanted = server_.shell()->state().effective_workloads;
  for (const auto& [id, container] : agent.engine().containers()) {
    if (!is_ours(container)) continue;
    const auto instance = parse_instance_name(label_of(container));
    const Tree* entry = instance ? wanted.find(instance->workload.value) : nullptr;
    const bool is_wanted =
        entry != nullptr && entry->object<WorkloadSpec>()->instance() == *instance;
    if (!is_wanted && !(instance && agent.is_held(*instance)))
      world_.fail(concat(id.value, " runs ", label_of(container), ", which nobody wants"));
  }
}

// The server knows a state of each wanted workload and of no other, and every agent knows what the server knows of the
// others.
void Checkers::check_states_known() const {
  const CompleteState& state = server_.shell()->state();
  std::size_t wanted = 0;
  state.effective_workloads.for_each([&](const std::string&, const Tree& value) {
    ++wanted;
    const auto spec = value.object<WorkloadSpec>();
    const InstanceName& instance = spec->instance();
    if (state.workload_states.find(instance) == nullptr && !waits_to_start(*spec))
      world_.fail(concat("the server knows no state of ", to_string(instance)));
  });
  const auto known = state.workload_states.of_all_but(AgentName{"nobody"});
  if (known.size() != wanted)
    for (const auto& entry : known) {
      const Tree* value = state.effective_workloads.find(entry.instance.workload.value);
      const bool is_held = std::any_of(agents_.begin(), agents_.end(), [&](const auto& agent) {
        return agent->is_held(entry.instance);
      });
      if (is_held) continue;
      if (value == nullptr || value->object<WorkloadSpec>()->instance() != entry.instance)
        world_.fail(concat("the server still knows ", to_string(entry.instance), " as ",
                           to_string(entry.state)));
    }
  for (const auto& agent : agents_)
    for (const auto& entry : state.workload_states.of_all_but(AgentName{agent->name()})) {
      const bool server_only =
          entry.state.phase == Phase::kPendingInitial || entry.state.phase == Phase::kNotScheduled;
      // What ends and begins again all the time may have just done so, with the news still under way.
      const Tree* wanted_entry = state.effective_workloads.find(entry.instance.workload.value);
      if (wanted_entry != nullptr && is_restless(*wanted_entry->object<WorkloadSpec>())) continue;
      const ExecutionState* told = agent->shell()->states().find(entry.instance);
      if (!server_only && (told == nullptr || !(*told == entry.state)))
        world_.fail(concat(agent->name(), " was not told that ", to_string(entry.instance), " is ",
                           to_string(entry.state)));
    }
}

// Every accepted log request has ended, with stops or with a cancel, for all who had a part in it.
void Checkers::check_logs_ended() const {
  const auto check = [&](const std::string& whose, std::size_t open) {
    if (open > 0)
      world_.fail(
          concat("at the end ", whose, " has ", std::to_string(open), " open log requests"));
  };
  if (server_.shell()->log_campaigns().has_providers())
    world_.fail("at the end the server waits for logs");
  check("the operator", user_.collector().open());
  for (const auto& agent : agents_) {
    check("a workload of " + agent->name(), agent->collector().open());
    check(agent->name(), agent->shell()->log_campaigns());
  }
}

// Every watcher is back, and its view was found to be right not long ago.
void Checkers::check_views() const {
  for (const auto& watcher : watchers_)
    if (world_.now() - watcher->last_compared() > kLongestReadPause + minutes(1))
      world_.fail(concat(watcher->name(), " does not watch any more"));
}

}  // namespace tiphys::sim
