#pragma once

// Manifests as users write them, to one update of the server's state. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/messages.h"

namespace tiphys::cli {

struct ManifestText {
  std::string name;  // as messages call it: the path as it was given, or "stdin"
  std::string text;
};

struct ApplyOptions {
  std::optional<std::string> agent;  // for all workloads; may be empty
  bool deletes = false;              // takes away what the manifests describe
};

struct ApplyPlan {
  std::vector<std::string> warnings;  // also of what fails later on
  // None when there is nothing to update. The errors are of manifests, with file, line and column.
  Result<std::optional<UpdateStateRequest>> request;
};

ApplyPlan plan_apply(const std::vector<ManifestText>& manifests, const ApplyOptions& options);

// A complete state, or a part of one, as a user writes it: for `set state`.
Result<Tree> read_state_object(const ManifestText& text);

}  // namespace tiphys::cli
