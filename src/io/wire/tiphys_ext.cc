#include "io/wire/tiphys_ext.h"

#include <chrono>
#include <utility>

#include "base/instant.h"
#include "base/match.h"
#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "io/wire/errors.h"

namespace tiphys::wire {
namespace {

// The numbers of the wire follow those of the model; the first one stands for nothing.
static_assert(static_cast<int>(Fate::kCreated) + 1 == tiphys_ext::FATE_CREATED);
static_assert(static_cast<int>(Fate::kUnchanged) + 1 == tiphys_ext::FATE_UNCHANGED);

// No clock of ours can tell more.
constexpr auto kLongestAge = std::chrono::duration_cast<std::chrono::milliseconds>(Duration::max());

}  // namespace

void to_wire(const PlannedWorkload& workload, tiphys_ext::PlannedWorkload& wire) {
  wire.set_name(with_valid_utf8(workload.name));
  wire.set_fate(static_cast<tiphys_ext::Fate>(static_cast<int>(workload.fate) + 1));
  if (workload.before) to_wire(*workload.before, *wire.mutable_before());
  if (workload.after) to_wire(*workload.after, *wire.mutable_after());
  for (const auto& reason : workload.reasons) wire.add_reasons(with_valid_utf8(reason));
}

Result<PlannedWorkload> from_wire(const tiphys_ext::PlannedWorkload& wire) {
  if (wire.fate() < tiphys_ext::FATE_CREATED || wire.fate() > tiphys_ext::FATE_UNCHANGED)
    return unknown_value("fate", wire.fate());
  PlannedWorkload workload;
  workload.name = wire.name();
  workload.fate = static_cast<Fate>(wire.fate() - 1);
  if (wire.has_before()) workload.before = from_wire(wire.before());
  if (wire.has_after()) workload.after = from_wire(wire.after());
  workload.reasons = {wire.reasons().begin(), wire.reasons().end()};
  return workload;
}

void to_wire(const DryRunRequest& request, tiphys_ext::DryRunUpdateRequest& wire) {
  to_wire(request.update, *wire.mutable_update());
}

Result<DryRunRequest> from_wire(const tiphys_ext::DryRunUpdateRequest& wire) {
  if (!wire.has_update()) return missing("update");
  TIPHYS_TRY(UpdateStateRequest update, from_wire(wire.update()));
  return DryRunRequest{std::move(update)};
}

void to_wire(const DryRunResponse& response, tiphys_ext::DryRunUpdateResponse& wire) {
  match(
      response,
      [&](const DryRun& run) {
        auto& plan = *wire.mutable_plan();
        for (const auto& workload : run.workloads) to_wire(workload, *plan.add_workloads());
        for (const auto& warning : run.warnings) plan.add_warnings(with_valid_utf8(warning));
        for (const auto& hook : run.hooks) plan.add_hooks(with_valid_utf8(hook));
      },
      [&](const ErrorResponse& error) { to_wire(error, *wire.mutable_error()); });
}

Result<DryRunResponse> from_wire(const tiphys_ext::DryRunUpdateResponse& wire) {
  if (wire.has_error()) return DryRunResponse(from_wire(wire.error()));
  if (!wire.has_plan()) return missing("outcome");
  DryRun run;
  for (const auto& planned : wire.plan().workloads()) {
    TIPHYS_TRY(PlannedWorkload workload, from_wire(planned));
    run.workloads.push_back(std::move(workload));
  }
  run.warnings = {wire.plan().warnings().begin(), wire.plan().warnings().end()};
  run.hooks = {wire.plan().hooks().begin(), wire.plan().hooks().end()};
  return DryRunResponse(std::move(run));
}

void to_wire(const StateAgesRequest& request, tiphys_ext::GetStateAgesRequest& wire) {
  for (const auto& name : request.workloads) wire.add_workloads(with_valid_utf8(name));
}

Result<StateAgesRequest> from_wire(const tiphys_ext::GetStateAgesRequest& wire) {
  return StateAgesRequest{{wire.workloads().begin(), wire.workloads().end()}};
}

Result<StateAge> from_wire(const tiphys_ext::StateAge& wire) {
  if (!wire.has_instance()) return missing("instance");
  if (wire.milliseconds() > static_cast<std::uint64_t>(kLongestAge.count()))
    return unusable(concat("milliseconds: ", std::to_string(wire.milliseconds()),
                           " is longer than any state lasts"));
  return StateAge{from_wire(wire.instance()), std::chrono::milliseconds(wire.milliseconds())};
}

void to_wire(const StateAgesResponse& response, tiphys_ext::GetStateAgesResponse& wire) {
  for (const auto& [instance, age] : response.ages) {
    auto& entry = *wire.add_ages();
    to_wire(instance, *entry.mutable_instance());
    entry.set_milliseconds(static_cast<std::uint64_t>(age.count()));
  }
}

Result<StateAgesResponse> from_wire(const tiphys_ext::GetStateAgesResponse& wire) {
  StateAgesResponse response;
  for (const auto& entry : wire.ages()) {
    auto age = from_wire(entry);
    if (!age) return at("ages", response.ages.size(), std::move(age.error()));
    response.ages.push_back(*std::move(age));
  }
  return response;
}

}  // namespace tiphys::wire
