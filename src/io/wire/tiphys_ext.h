#pragma once

// Package tiphys_ext <-> model, one pair of functions per message.

#include "base/result.h"
#include "model/extension.h"
#include "tiphys_ext.pb.h"

namespace tiphys::wire {

void to_wire(const DryRunRequest& request, tiphys_ext::DryRunUpdateRequest& wire);
Result<DryRunRequest> from_wire(const tiphys_ext::DryRunUpdateRequest& wire);

void to_wire(const DryRunResponse& response, tiphys_ext::DryRunUpdateResponse& wire);
Result<DryRunResponse> from_wire(const tiphys_ext::DryRunUpdateResponse& wire);

void to_wire(const PlannedWorkload& workload, tiphys_ext::PlannedWorkload& wire);
Result<PlannedWorkload> from_wire(const tiphys_ext::PlannedWorkload& wire);

void to_wire(const StateAgesRequest& request, tiphys_ext::GetStateAgesRequest& wire);
Result<StateAgesRequest> from_wire(const tiphys_ext::GetStateAgesRequest& wire);

Result<StateAge> from_wire(const tiphys_ext::StateAge& wire);

void to_wire(const StateAgesResponse& response, tiphys_ext::GetStateAgesResponse& wire);
Result<StateAgesResponse> from_wire(const tiphys_ext::GetStateAgesResponse& wire);

}  // namespace tiphys::wire
