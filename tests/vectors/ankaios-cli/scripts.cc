#include "scripts.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/server/update.h"
#include "model/execution_state.h"
#include "model/state.h"
#include "text/manifest.h"

namespace tiphys::cli {
namespace {

bool asks_for_state(const Request& request) {
  return std::holds_alternative<CompleteStateRequest>(request.content);
}

void answer(Visitor& visitor, const Request& request, decltype(Response::content) content) {
  visitor.send(Response{request.id, std::move(content)});
}

Tree state_of(Phase phase, std::string info = {}) {
  return Tree(std::make_shared<const ExecutionState>(phase, std::move(info)));
}

Tree::Map one(std::string key, Tree value) {
  return Tree::Map().set(std::move(key), std::move(value));
}

// w on agent_A (id 1) and agent_B (id 2), v on agent_A (id 3), all Running(Ok), nothing wanted, and only agent_A connected.
Tree three_running() {
  const Tree running = state_of(Phase::kRunningOk);
  return Tree::Map()
      .set("agents", one("agent_A", Tree::Map()))
      .set("workloadStates",
           Tree::Map()
               .set("agent_A", Tree::Map().set("v", one("3", running)).set("w", one("1", running)))
               .set("agent_B", one("w", one("2", running))));
}

// Each kind of state once.
Tree all_tables() {
  const auto workload = [](const char* agent, const char* runtime) {
    return Tree::Map().set("agent", agent).set("runtime", runtime).set("runtimeConfig", "c");
  };
  const auto wanted = Tree::Map()
                          .set("w1", workload("a1", "podman"))
                          .set("w2", workload("other", "podman"))
                          .set("w3", workload("a2", "rt"));
  const auto on_a1 =
      Tree::Map()
          .set("w1", one("1", state_of(Phase::kStopping, "  blanks around \n second line \n")))
          .set("w10", one("10", state_of(Phase::kPendingWaitingToStart)))
          .set("w2", one("2", state_of(Phase::kRunningOk, "agent differs from desired state")))
          .set("w6", one("6", state_of(Phase::kStoppingDeleteFailed)))
          .set("w7", one("7", state_of(Phase::kFailedUnknown, "tab\there")))
          .set("w9", one("9", state_of(Phase::kRemoved, "removed entry")));
  const auto on_a2 = Tree::Map()
                         .set("w3", one("3", state_of(Phase::kSucceededOk)))
                         .set("w4", one("4", state_of(Phase::kFailedLost, "not in desired state")));
  const auto agents =
      Tree::Map()
          .set("a1", Tree::Map())
          .set("a10", one("status", one("cpuUsage", 100U)))
          .set("a2", one("status", Tree::Map().set("cpuUsage", 5U).set("freeMemory", 123U)))
          .set("a3", one("status", one("freeMemory", std::numeric_limits<std::uint64_t>::max())));
  return Tree::Map()
      .set("agents", agents)
      .set("desiredState", Tree::Map().set("apiVersion", "v1").set("workloads", wanted))
      .set("workloadStates",
           Tree::Map()
               .set("", one("w8", one("8", state_of(Phase::kNotScheduled))))
               .set("a1", on_a1)
               .set("a2", on_a2)
               .set("gone", one("w5", one("5", state_of(Phase::kAgentDisconnected, "x")))));
}

Script answering_states(std::function<void(Visitor&, const Request&)> on_state) {
  Script script;
  script.on_request = [on_state = std::move(on_state)](Visitor& visitor, const Request& request) {
    if (asks_for_state(request))
      on_state(visitor, request);
    else
      answer(visitor, request, UpdateStateSuccess{});
  };
  return script;
}

// What an update is answered with, after a state of three running workloads.
Script answering_updates(std::function<void(Visitor&, const Request&)> on_update) {
  Script script;
  script.on_request = [on_update = std::move(on_update)](Visitor& visitor, const Request& request) {
    if (asks_for_state(request))
      answer(visitor, request, CompleteStateResponse{three_running(), {}});
    else
      on_update(visitor, request);
  };
  return script;
}

Script succeeding(std::vector<std::string> added, std::vector<std::string> deleted = {}) {
  return answering_updates(
      [success = UpdateStateSuccess{std::move(added), std::move(deleted)}](
          Visitor& visitor, const Request& request) { answer(visitor, request, success); });
}

// Succeeds with w.1.agent_A, and then does something else when the state is asked for once more.
Script failing_later(std::function<void(Visitor&, const Request&)> on_second_state) {
  Script script;
  script.on_request = [on_second_state = std::move(on_second_state), states = 0](
                          Visitor& visitor, const Request& request) mutable {
    if (!asks_for_state(request))
      answer(visitor, request, UpdateStateSuccess{{"w.1.agent_A"}, {}});
    else if (++states == 1)
      answer(visitor, request, CompleteStateResponse{three_running(), {}});
    else
      on_second_state(visitor, request);
  };
  return script;
}

// States of an update, one after the other, once the state was asked for the second time.
Script making_progress() {
  const auto instance = [](const char* workload, const char* id) {
    return InstanceName{WorkloadName{workload}, WorkloadId{id}, AgentName{"agent_A"}};
  };
  const std::vector<WorkloadState> told{
      {instance("w", "1"), ExecutionState(Phase::kPendingStarting, "step  one\nline two")},
      {instance("w", "1"), ExecutionState(Phase::kStopping)},
      {instance("w", "1"), ExecutionState(Phase::kStoppingDeleteFailed, "cannot")},
      {instance("w", "1"), ExecutionState(Phase::kRemoved)},
      {instance("u", "77"), ExecutionState(Phase::kRunningOk, "not ours")},
      {instance("v", "3"), ExecutionState(Phase::kFailedExecFailed)}};
  Script script;
  script.on_request = [told, states = 0](Visitor& visitor, const Request& request) mutable {
    if (!asks_for_state(request))
      return answer(visitor, request, UpdateStateSuccess{{"v.3.agent_A"}, {"w.1.agent_A"}});
    answer(visitor, request, CompleteStateResponse{three_running(), {}});
    if (++states == 2)
      for (const auto& state : told) visitor.send(UpdateWorkloadState{{state}});
  };
  return script;
}

void end_well(Visitor& visitor, const Request&) { visitor.end({}); }

struct Row {
  const char* beginning;
  Script (*script)();
};

Script refusing(Code code, const char* message) {
  Script script;
  script.refusal = rpc::failed(code, message);
  return script;
}

// The longest beginning that fits counts.
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      {"fake_precondition_",
       [] {
         return refusing(Code::kFailedPrecondition,
                         "Unsupported protocol version '1.1.0-pre'. Currently supported '2'");
       }},
      {"fake_close_",
       [] {
         Script script;
         script.on_hello = [](Visitor& visitor) { visitor.end({}); };
         return script;
       }},
      {"fake_unavailable_",
       [] {
         Script script;
         script.on_hello = [](Visitor& visitor) {
           visitor.end(rpc::failed(Code::kUnavailable, "gone"));
         };
         return script;
       }},
      {"fake_unimplemented_", [] { return refusing(Code::kUnimplemented, "nobody for it"); }},
      {"fake_state_error_",
       [] {
         return answering_states([](Visitor& visitor, const Request& request) {
           answer(visitor, request, ErrorResponse{"no state\nfor you"});
         });
       }},
      {"fake_state_none_",
       [] {
         return answering_states([](Visitor& visitor, const Request& request) {
           answer(visitor, request, CompleteStateResponse{Tree::Map(), {}});
         });
       }},
      {"fake_close_on_state_", [] { return answering_states(end_well); }},
      {"fake_other_id_",
       [] {
         return answering_states([](Visitor& visitor, const Request&) {
           visitor.send(Response{"another", CompleteStateResponse{Tree::Map(), {}}});
         });
       }},
      {"fake_other_kind_",
       [] {
         return answering_states([](Visitor& visitor, const Request& request) {
           answer(visitor, request, UpdateStateSuccess{});
         });
       }},
      {"fake_upd_bad_names_", [] { return succeeding({"only.two"}); }},
      {"fake_upd_bad_deleted_", [] { return succeeding({"w.1.agent_A"}, {"a.b.c.d"}); }},
      {"fake_upd_error_",
       [] {
         return answering_updates([](Visitor& visitor, const Request& request) {
           answer(visitor, request, ErrorResponse{"bad\nthing 'x'"});
         });
       }},
      {"fake_upd_silent_", [] { return answering_updates([](Visitor&, const Request&) {}); }},
      {"fake_upd_close_", [] { return answering_updates(end_well); }},
      {"fake_upd_other_kind_",
       [] {
         return answering_updates([](Visitor& visitor, const Request& request) {
           answer(visitor, request, CompleteStateResponse{Tree::Map(), {}});
         });
       }},
      {"fake_upd_then_error_",
       [] {
         return failing_later([](Visitor& visitor, const Request& request) {
           answer(visitor, request, ErrorResponse{"no state\nfor you"});
         });
       }},
      {"fake_upd_then_close_", [] { return failing_later(end_well); }},
      {"fake_upd_unknown_", [] { return succeeding({"zz.9.agent_A"}); }},
      {"fake_upd_initial_final_", [] { return succeeding({"v.3.agent_A"}); }},
      {"fake_upd_agent_gone_", [] { return succeeding({"w.2.agent_B"}); }},
      {"fake_upd_progress_", making_progress},
      {"fake_tables_",
       [] {
         return answering_states([](Visitor& visitor, const Request& request) {
           answer(visitor, request, CompleteStateResponse{all_tables(), {}});
         });
       }},
      {"fake_no_headers_",
       [] {
         Script script;
         script.is_silent = true;
         return script;
       }},
  };
  return kRows;
}

std::string rendered(std::string text) {
  constexpr std::string_view kTemplate = "{{alias1}}";
  if (const auto at = text.find(kTemplate); at != std::string::npos)
    text.replace(at, kTemplate.size(), "value 1");
  return text;
}

CompleteState state_of_manifest(const std::string& text) {
  auto manifest = parse_manifest(text, "startup.yaml");
  TIPHYS_CHECK(manifest.has_value(), "a recorded manifest is good");
  CompleteState state;
  state.desired = std::move(manifest->state);
  state.desired.workloads.for_each([&](const std::string& name, const Tree& tree) {
    Workload workload = *tree.object<Workload>();
    workload.runtime_config = rendered(workload.runtime_config);
    for (auto& file : workload.files) file.content = rendered(file.content);
    workload.configs.clear();
    const auto spec = WorkloadSpec::make(name, std::make_shared<const Workload>(workload));
    TIPHYS_CHECK(spec.has_value(), "a recorded workload is good");
    state.effective_workloads = state.effective_workloads.set(name, Tree(*spec));
    state.workload_states.add_initial({(*spec)->instance()});
  });
  return state;
}

}  // namespace

Script reading(const std::string& manifest) {
  return answering_states(
      [state = state_of_manifest(manifest)](Visitor& visitor, const Request& request) {
        const auto& masks = std::get<CompleteStateRequest>(request.content).field_masks;
        // As the server does: what cannot be read selects nothing.
        auto selected = server::select_state(state, masks).value_or(Tree(Tree::Map()));
        answer(visitor, request, CompleteStateResponse{std::move(selected), {}, Empties::kKeep});
      });
}

std::optional<Script> script_of(const std::string& case_name) {
  const Row* best = nullptr;
  for (const auto& row : rows()) {
    const std::string beginning = row.beginning;
    if (case_name.starts_with(beginning) &&
        (best == nullptr || beginning.size() > std::string(best->beginning).size()))
      best = &row;
  }
  return best == nullptr ? std::nullopt : std::optional(best->script());
}

}  // namespace tiphys::cli
