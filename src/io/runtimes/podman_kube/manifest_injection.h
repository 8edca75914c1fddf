#pragma once

// Shows the control interface of a workload to one of the containers in its manifest. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tiphys::kube {

// The manifest with a volume for the folder in the target's pod and a mount in its container; the target is
// `<pod>/<container>`. A Deployment makes pods named `<deployment>-pod`. A failure will not go away by itself.
Result<std::string> inject_control_interface(std::string_view manifest,
                                             const std::optional<std::string>& target,
                                             const std::string& folder);

}  // namespace tiphys::kube
