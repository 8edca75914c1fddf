#pragma once

// `ank plan` and `ank apply --dry-run`: asks the server what an update would do.

#include "cli/console.h"
#include "cli/options.h"
#include "cli/talk.h"
#include "model/messages.h"

namespace tiphys::cli {

struct PlanUpdate {
  UpdateStateRequest request;
  PlanFormat format = PlanFormat::kText;
  bool detailed_exit_code = false;
};

class PlanTask {
 public:
  PlanTask(Talk& talk, Console& console) : talk_(talk), console_(console) {}

  // The exit code.
  Talk::Awaitable<Result<int>> perform(PlanUpdate task);

 private:
  Talk& talk_;
  Console& console_;
};

}  // namespace tiphys::cli
