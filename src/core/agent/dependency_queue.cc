#include "core/agent/dependency_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/match.h"

namespace tiphys::agent {
namespace {

WorkloadState waiting_to_start(const WorkloadSpec& spec) {
  return {spec.instance(), ExecutionState(Phase::kPendingWaitingToStart)};
}

WorkloadState waiting_to_stop(const DeletedWorkload& old) {
  return {old.instance, ExecutionState(Phase::kStoppingWaitingToStop)};
}

// Whose states the operation waits for.
std::set<std::string> awaited_by(const Operation& operation, bool cleared) {
  std::set<std::string> names;
  const auto add = [&names](const auto& conditions) {
    for (const auto& [name, condition] : conditions) names.insert(name);
  };
  match(
      operation, [&](const CreateWorkload& o) { add(o.spec->workload().dependencies); },
      [&](const ChangeWorkload& o) {
        if (cleared)
          add(o.spec->workload().dependencies);
        else
          add(o.old.dependencies);
      },
      [](const ClearWorkload&) {}, [&](const DeleteWorkload& o) { add(o.old.dependencies); });
  return names;
}

}  // namespace

WorkloadSpecPtr spec_of(const Operation& operation) {
  return match(
      operation, [](const CreateWorkload& o) { return o.spec; },
      [](const ChangeWorkload& o) { return o.spec; },
      [](const auto&) { return WorkloadSpecPtr(); });
}

const std::string& workload_of(const Operation& operation) {
  return match(
      operation,
      [](const CreateWorkload& o) -> const std::string& {
        return o.spec->instance().workload.value;
      },
      [](const ChangeWorkload& o) -> const std::string& {
        return o.spec->instance().workload.value;
      },
      [](const ClearWorkload& o) -> const std::string& { return o.old.workload.value; },
      [](const DeleteWorkload& o) -> const std::string& { return o.old.instance.workload.value; });
}

// Any instance of the name will do; a workload that nobody has heard of fulfils nothing.
// [impl->swdd~execution-states-of-workload-dependencies-fulfill-add-conditions~1]
bool may_create(const WorkloadSpec& spec, const WorkloadStates& states) {
  const auto& conditions = spec.workload().dependencies;
  return std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    const auto known = states.of_workload(WorkloadName{condition.first});
    return std::any_of(known.begin(), known.end(), [&](const WorkloadState& state) {
      return is_fulfilled(condition.second, state.state.phase);
    });
  });
}

// Every instance of the name counts; one that nobody has heard of is gone.
// [impl->swdd~execution-states-of-workload-dependencies-fulfill-delete-conditions~1]
bool may_delete(const DeletedWorkload& old, const WorkloadStates& states) {
  return std::all_of(old.dependencies.begin(), old.dependencies.end(), [&](const auto& condition) {
    const auto known = states.of_workload(WorkloadName{condition.first});
    return std::all_of(known.begin(), known.end(), [&](const WorkloadState& state) {
      return is_fulfilled(condition.second, state.state.phase);
    });
  });
}

void DependencyQueue::arrive(Operation operation, const WorkloadStates& states, Answer& answer) {
  TIPHYS_CHECK(!waits(workload_of(operation)), "one operation of a workload waits at most");
  decide(std::move(operation), states, true, answer);
}

// [impl->swdd~agent-keeps-workloads-with-unfulfilled-workload-dependencies-in-queue~1]
void DependencyQueue::reconsider(const std::string& workload, const WorkloadStates& states,
                                 Answer& answer) {
  const auto waiting = waiting_for_.find(workload);
  if (waiting == waiting_for_.end()) return;
  const std::set<std::string> names = waiting->second;
  for (const auto& name : names) {
    const bool cleared = entries_.at(name).cleared;
    Operation operation = *drop(name);
    if (!cleared)
      decide(std::move(operation), states, false, answer);
    else if (may_create(*std::get<ChangeWorkload>(operation).spec, states))
      answer.ready.push_back(std::move(operation));
    else
      wait(std::move(operation), true);
  }
}

void DependencyQueue::decide(Operation operation, const WorkloadStates& states, bool is_new,
                             Answer& answer) {
  match(
      operation,
      // [impl->swdd~agent-enqueues-unfulfilled-create~1]
      [&](CreateWorkload& o) {
        if (may_create(*o.spec, states)) {
          answer.ready.emplace_back(std::move(o));
          return;
        }
        if (is_new) answer.waiting.push_back(waiting_to_start(*o.spec));
        wait(std::move(operation), false);
      },
      [&](ChangeWorkload& o) {
        // [impl->swdd~agent-enqueues-update-with-unfulfilled-delete~1]
        if (!may_delete(o.old, states)) {
          if (is_new) answer.waiting.push_back(waiting_to_stop(o.old));
          wait(std::move(operation), false);
          return;
        }
        const bool creates = may_create(*o.spec, states);
        if (creates && o.old.dependencies.empty()) {
          answer.ready.emplace_back(std::move(o));
          return;
        }
        // [impl->swdd~agent-handles-update-with-fulfilled-delete~1]
        // [impl->swdd~agent-shall-not-enqueue-update-delete-only-workload-operation~1]
        answer.waiting.push_back(waiting_to_start(*o.spec));
        answer.ready.emplace_back(ClearWorkload{o.old.instance});
        if (creates)
          answer.ready.emplace_back(std::move(o));
        else
          wait(std::move(operation), true);
      },
      [](ClearWorkload&) { TIPHYS_CHECK(false, "clearing is ready when it is thought of"); },
      // [impl->swdd~agent-enqueues-unfulfilled-delete~1]
      [&](DeleteWorkload& o) {
        if (may_delete(o.old, states)) {
          answer.ready.emplace_back(std::move(o));
          return;
        }
        if (is_new) answer.waiting.push_back(waiting_to_stop(o.old));
        wait(std::move(operation), false);
      });
}

void DependencyQueue::wait(Operation operation, bool cleared) {
  const std::string name = workload_of(operation);
  for (const auto& awaited : awaited_by(operation, cleared)) waiting_for_[awaited].insert(name);
  entries_.insert_or_assign(name, Entry{std::move(operation), cleared});
}

std::optional<Operation> DependencyQueue::drop(const std::string& workload) {
  const auto entry = entries_.find(workload);
  if (entry == entries_.end()) return std::nullopt;
  for (const auto& awaited : awaited_by(entry->second.operation, entry->second.cleared)) {
    const auto waiting = waiting_for_.find(awaited);
    waiting->second.erase(workload);
    if (waiting->second.empty()) waiting_for_.erase(waiting);
  }
  Operation operation = std::move(entry->second.operation);
  entries_.erase(entry);
  return operation;
}

WorkloadSpecPtr DependencyQueue::waiting_spec(const std::string& workload) const {
  const auto entry = entries_.find(workload);
  return entry == entries_.end() ? nullptr : spec_of(entry->second.operation);
}

const InstanceName& DependencyQueue::waiting_instance(const std::string& workload) const {
  return match(
      entries_.at(workload).operation,
      [](const DeleteWorkload& o) -> const InstanceName& { return o.old.instance; },
      [](const ClearWorkload& o) -> const InstanceName& { return o.old; },
      [](const auto& o) -> const InstanceName& { return o.spec->instance(); });
}

bool DependencyQueue::keeps(const std::string& runtime, const InstanceName& instance,
                            const workload::ContainerId& container) const {
  const auto entry = entries_.find(instance.workload.value);
  if (entry == entries_.end()) return false;
  const auto* create = std::get_if<CreateWorkload>(&entry->second.operation);
  return create != nullptr && create->reuse == container &&
         create->spec->workload().runtime == runtime;
}

std::vector<std::string> DependencyQueue::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace tiphys::agent
