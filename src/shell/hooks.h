#pragma once

// The hooks port: runs the programs that may change an update.

#include <functional>
#include <vector>

#include "core/server/hooks.h"

namespace tiphys::shell {

class HookRunner {
 public:
  virtual ~HookRunner() = default;
  // Answers once, on the strand.
  virtual void run(server::Hook hook, UpdateWorkload lists,
                   std::function<void(server::HookAnswer)> done) = 0;
};

struct Hooks {
  std::vector<server::Hook> list = {};
  HookRunner* runner = nullptr;  // needed where the list holds any
};

}  // namespace tiphys::shell
