#pragma once

// What an update would do, and why, without doing it.

#include "core/server/update.h"
#include "model/extension.h"

namespace tiphys::server {

// The error is the text that the requester of the update would get. Hooks are not asked.
Result<DryRun> dry_run(const CompleteState& current, const ConfigUsers& users,
                       const UpdateStateRequest& request);

}  // namespace tiphys::server
