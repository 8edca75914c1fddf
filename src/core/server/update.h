#pragma once

// From an update request and the state that holds to the state that would hold, or to why not. Nothing is changed here:
// a plan is computed, stored, and only then becomes the state.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/server/config_users.h"
#include "model/messages.h"
#include "model/state.h"
#include "text/handlebars/handlebars.h"

namespace tiphys::server {

// What one accepted update changes. The lists hold every instance that comes or goes, in order of the names; a changed
// workload stands in both.
struct UpdatePlan {
  State desired;
  Tree::Map effective_workloads;  // name -> WorkloadSpec
  Tree::Map rendered_workloads;   // the same before hooks changed it; set when they have run
  std::vector<WorkloadSpecPtr> added;
  std::vector<WorkloadSpecPtr> deleted;
  std::map<std::string, Tags> agent_tags;  // of connected agents whose tags change
  std::vector<std::string> warnings;
  std::vector<handlebars::LogLine> template_log;
};

// The error is the text that the requester gets. `users` knows the config items that the workloads of the current
// state use.
Result<UpdatePlan> plan_update(const CompleteState& current, const ConfigUsers& users,
                               const UpdateStateRequest& request);

// The same for a state that is taken over as it is: from a startup manifest, or from the store. The error lacks the
// words "Update rejected".
Result<UpdatePlan> plan_state(const CompleteState& current, const ConfigUsers& users, State wanted);

// The last check of a plan, once its lists are final: nothing that is added may wait for itself.
Status check_dependencies(const UpdatePlan& plan);

// How a requester is told why its update was refused.
std::string update_rejected(std::string_view reason);

// What a CompleteStateRequest selects; everything without masks.
Result<Tree> select_state(const CompleteState& state, const std::vector<std::string>& masks);

}  // namespace tiphys::server
