#pragma once

// A hook that takes its time and lets everything pass, unless a fault lets it refuse.

#include <functional>

#include "shell/hooks.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::sim {

class FakeHooks final : public shell::HookRunner {
 public:
  FakeHooks(World& world, Process& process) : world_(world), process_(process) {}

  void run(server::Hook hook, UpdateWorkload lists,
           std::function<void(server::HookAnswer)> done) override;

 private:
  World& world_;
  Process& process_;
};

}  // namespace tiphys::sim
