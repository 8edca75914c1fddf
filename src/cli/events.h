#pragma once

// `ank get events`: the state once and then every change of it, until a signal comes.

#include <chrono>
#include <string>

#include "cli/console.h"
#include "cli/options.h"
#include "cli/settings.h"
#include "cli/talk.h"

namespace tiphys::cli {

class EventsTask {
 public:
  EventsTask(Talk& talk, const Settings& settings, Console& console)
      : talk_(talk), settings_(settings), console_(console) {}

  // The exit code. A signal is a good end once the server has taken the subscription.
  Talk::Awaitable<Result<int>> perform(GetEvents command);

 private:
  Talk& talk_;
  const Settings& settings_;
  Console& console_;
};

// "---" and a YAML document, or a line of JSON.
std::string event_text(const CompleteStateResponse& event,
                       std::chrono::system_clock::time_point time, OutputFormat format);

}  // namespace tiphys::cli
