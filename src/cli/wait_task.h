#pragma once

// `ank wait`: follows the states of workloads until they are where they shall be, cannot get there any more, or the time is
// over. Nothing is asked again and again: the server tells of each change.

#include "cli/console.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "cli/talk.h"

namespace tiphys::cli {

class WaitTask {
 public:
  WaitTask(Talk& talk, const Settings& settings, Console& console)
      : talk_(talk), settings_(settings), console_(console) {}

  // The exit code.
  Talk::Awaitable<Result<int>> perform(WaitFor command);

 private:
  void say(const std::string& text) {
    if (!settings_.quiet) console_.print(text);
  }

  Talk& talk_;
  const Settings& settings_;
  Console& console_;
};

}  // namespace tiphys::cli
