#pragma once

// From an update request and the state that holds to the state that would hold, or to why not. Nothing is changed here:
// a plan is computed, stored, and only then becomes the state.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/messages.h"
#include "model/state.h"

namespace tiphys::server {

// What one accepted update changes. The lists hold every instance that comes or goes, in order of the names; a changed
// workload stands in both.
struct UpdatePlan {
  State desired;
  Tree::Map effective_workloads;  // name -> WorkloadSpec
  std::vector<WorkloadSpecPtr> added;
  std::vector<WorkloadSpecPtr> deleted;
  std::map<std::string, Tags> agent_tags;  // of connected agents whose tags change
  std::vector<std::string> warnings;
};

// The error is the text that the requester gets.
Result<UpdatePlan> plan_update(const CompleteState& current, const UpdateStateRequest& request);

// The same for a state that is taken over as it is: from a startup manifest, or from the store. The error lacks the
// words "Update rejected".
Result<UpdatePlan> plan_state(const CompleteState& current, State wanted);

// What a CompleteStateRequest selects; everything without masks.
Result<Tree> select_state(const CompleteState& state, const std::vector<std::string>& masks);

}  // namespace tiphys::server
