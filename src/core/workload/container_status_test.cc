#include "core/workload/container_status.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace tiphys::workload {
namespace {

TEST(ContainerStatus, MeansAnExecutionState) {
  using Row = std::tuple<ContainerStatus, std::string>;
  for (const auto& [status, expected] : std::vector<Row>{
           {{ContainerPhase::kStarting, "created"}, "Pending(Starting): 'created'"},
           {{ContainerPhase::kRunning, "running"}, "Running(Ok)"},
           {{ContainerPhase::kExited, "exited", 0}, "Succeeded(Ok)"},
           {{ContainerPhase::kExited, "exited", 137}, "Failed(ExecFailed): 'Exit code: '137''"},
           {{ContainerPhase::kDead, "dead", 0}, "Failed(ExecFailed): 'Exit code: '0''"},
           {{ContainerPhase::kDead, "dead", 7}, "Failed(ExecFailed): 'Exit code: '7''"},
           {{ContainerPhase::kStopping, "stopping"}, "Stopping(Stopping): 'stopping'"},
           {{ContainerPhase::kUnknown, "paused"}, "Failed(Unknown): 'paused'"},
           {{ContainerPhase::kGone, ""}, "Failed(Lost)"},
       })
    EXPECT_EQ(to_string(execution_state_of(status)), expected);
}

}  // namespace
}  // namespace tiphys::workload
