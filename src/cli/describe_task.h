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
  Talk::Awaitable<Result<int>> perform(DescribeWorkloads command) {
    return describe(std::move(command.names), describe_workload);
  }
  Talk::Awaitable<Result<int>> perform(DescribeAgents command) {
    return describe(std::move(command.names), describe_agent);
  }

 private:
  using Describe = Result<std::string> (*)(const Tree&, const std::string&, std::size_t);
  Talk::Awaitable<Result<int>> describe(std::vector<std::string> names, Describe describe_one);

  Talk& talk_;
  Console& console_;
};

}  // namespace tiphys::cli
