#include "model/extension.h"

#include <array>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys {

std::string_view to_string(Fate fate) {
  constexpr std::array<std::string_view, 5> kNames{"created", "replaced", "updated", "deleted",
                                                   "unchanged"};
  return kNames[static_cast<std::size_t>(fate)];
}

std::string summary(const DryRunResponse& response) {
  return match(
      response, [](const ErrorResponse& error) { return concat("Error ", error.message); },
      [](const DryRun& run) {
        std::string text = "Plan";
        for (const auto& workload : run.workloads)
          text += concat(" ", workload.name, ":", to_string(workload.fate));
        for (const auto& hook : run.hooks) text += concat(" hook:", hook);
        return text;
      });
}

std::string summary(const StateAgesResponse& response) {
  std::string text = "StateAges";
  for (const auto& [instance, age] : response.ages)
    text += concat(" ", to_string(instance), ":", std::to_string(age.count()), "ms");
  return text;
}

}  // namespace tiphys
