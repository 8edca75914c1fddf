#pragma once

// What `plan` and `apply --dry-run` say of an update. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/options.h"
#include "model/extension.h"
#include "model/tree.h"

namespace tiphys::cli {

// A server plans workloads; what becomes of config items follows from the items that it has.
struct PlannedConfig {
  std::string name;
  Fate fate = Fate::kUnchanged;

  friend bool operator==(const PlannedConfig&, const PlannedConfig&) = default;
};

// Of the config items that the update's masks name. `complete_state` is the state before.
std::vector<PlannedConfig> planned_configs(const Tree& complete_state,
                                           const UpdateStateRequest& request);

struct UpdateReport {
  DryRun run;
  std::vector<PlannedConfig> configs;

  [[nodiscard]] bool changes_anything() const;
};

// With its last line break; no line of the text is wider than `width`.
std::string to_text(const UpdateReport& report, PlanFormat format, std::size_t width);

}  // namespace tiphys::cli
