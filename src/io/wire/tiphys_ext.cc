#include "io/wire/tiphys_ext.h"

#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "io/wire/errors.h"

namespace tiphys::wire {
namespace {

// The numbers of the wire follow those of the model; the first one stands for nothing.
static_assert(static_cast<int>(Fate::kCreated) + 1 == tiphys_ext::FATE_CREATED);
static_assert(static_cast<int>(Fate::kUnchanged) + 1 == tiphys_ext::FATE_UNCHANGED);

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

}  // namespace tiphys::wire
