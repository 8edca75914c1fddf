#pragma once

// `ank describe`: fetches the state and shows what it holds of workloads or agents.

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/describe.h"
#include "cli/options.h"
#include "cli/talk.h"

namespace tiphys::cli {

class DescribeTask {
 public:
  DescribeTask(Talk& talk, Console& console) : talk_(talk), console_(console) {}

  // The exit code. All that are known are shown; the first that is not is the error.
  Talk::Awaitable<Result<int>> perform(DescribeWorkloads command);
  Talk::Awaitable<Result<int>> perform(DescribeAgents command);

 private:
  Result<int> show(const std::vector<Result<std::string>>& descriptions);

  Talk& talk_;
  Console& console_;
};

}  // namespace tiphys::cli
