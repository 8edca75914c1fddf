#pragma once

// `ank logs`: what workloads have written, and with --follow what they still write.

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "cli/talk.h"
#include "model/names.h"

namespace tiphys::cli {

class LogsTask {
 public:
  LogsTask(Talk& talk, const Settings& settings, Console& console)
      : talk_(talk), settings_(settings), console_(console) {}

  // The exit code. A signal is a good end once the server has accepted the request.
  Talk::Awaitable<Result<int>> perform(Logs command);

 private:
  Talk& talk_;
  const Settings& settings_;
  Console& console_;
};

// All instances of the named workloads, in the order of the names, none twice.
Result<std::vector<InstanceName>> instances_of(const Tree& complete_state,
                                               const std::vector<std::string>& names);

}  // namespace tiphys::cli
