#include "core/agent/harmonise.h"

#include <gtest/gtest.h>

#include <tuple>

namespace tiphys::agent {
namespace {

InstanceName instance(const std::string& id) {
  return {WorkloadName{"web"}, WorkloadId{id}, AgentName{"A"}};
}

WorkloadSpecPtr spec(const std::string& id, const std::string& runtime) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->runtime = runtime;
  return WorkloadSpec::received(instance(id), std::move(workload)).value();
}

FoundWorkload found(Phase phase, bool can_start_again = true) {
  return {"podman", instance("1"), ExecutionState(phase), workload::ContainerId{"c1"},
          can_start_again};
}

TEST(Harmonise, HasOneActionForEveryPair) {
  using Row = std::tuple<Wanted, Found, Action>;
  for (const auto& [wanted, what, action] : std::vector<Row>{
           {Wanted::kNothing, Found::kRunning, Action::kDiscard},
           {Wanted::kNothing, Found::kEndedWell, Action::kDiscard},
           {Wanted::kNothing, Found::kOther, Action::kDiscard},
           {Wanted::kSameInstance, Found::kRunning, Action::kResume},
           {Wanted::kSameInstance, Found::kEndedWell, Action::kReuse},
           {Wanted::kSameInstance, Found::kOther, Action::kReplace},
           {Wanted::kOtherInstance, Found::kRunning, Action::kReplace},
           {Wanted::kOtherInstance, Found::kEndedWell, Action::kReplace},
           {Wanted::kOtherInstance, Found::kOther, Action::kReplace},
       })
    EXPECT_EQ(harmonise(wanted, what), action)
        << static_cast<int>(wanted) << " " << static_cast<int>(what);
}

TEST(Harmonise, ComparesRuntimeAndInstanceWithWhatIsWanted) {
  const FoundWorkload container = found(Phase::kRunningOk);
  EXPECT_EQ(wanted_for(container, nullptr), Wanted::kNothing);
  EXPECT_EQ(wanted_for(container, spec("1", "podman").get()), Wanted::kSameInstance);
  EXPECT_EQ(wanted_for(container, spec("2", "podman").get()), Wanted::kOtherInstance);
  EXPECT_EQ(wanted_for(container, spec("1", "containerd").get()), Wanted::kNothing);
}

TEST(Harmonise, TellsContainersApartByTheirState) {
  for (const auto& row : kPhases) {
    const Found expected = row.phase == Phase::kRunningOk     ? Found::kRunning
                           : row.phase == Phase::kSucceededOk ? Found::kEndedWell
                                                              : Found::kOther;
    EXPECT_EQ(found_as(found(row.phase)), expected) << row.state << " " << row.sub_state;
  }
  EXPECT_EQ(found_as(found(Phase::kSucceededOk, false)), Found::kOther)
      << "a runtime that cannot start a container again";
}

}  // namespace
}  // namespace tiphys::agent
