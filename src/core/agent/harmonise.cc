#include "core/agent/harmonise.h"

namespace tiphys::agent {

Wanted wanted_for(const FoundWorkload& found, const WorkloadSpec* wanted) {
  if (wanted == nullptr || wanted->workload().runtime != found.runtime) return Wanted::kNothing;
  return wanted->instance() == found.instance ? Wanted::kSameInstance : Wanted::kOtherInstance;
}

Found found_as(const FoundWorkload& found) {
  if (found.state.phase == Phase::kRunningOk) return Found::kRunning;
  return found.state.phase == Phase::kSucceededOk && found.can_start_again ? Found::kEndedWell
                                                                           : Found::kOther;
}

}  // namespace tiphys::agent
