#include "sim/fake_hooks.h"

#include <utility>

namespace tiphys::sim {

void FakeHooks::run(server::Hook, UpdateWorkload lists,
                    std::function<void(server::HookAnswer)> done) {
  // The same lists by another way: what a hook writes is taken over even if it is what it got.
  server::HookAnswer answer = server::HookUnchanged{};
  if (world_.random().chance(1, 2)) answer = server::HookChanged{std::move(lists)};
  if (world_.fault("hook vetoed", 1, 10))
    answer = server::HookVeto{"no"};
  else if (world_.fault("hook failed", 1, 20))
    answer = server::HookFailed{"it crashed"};
  process_.after(world_.draw(milliseconds(0), seconds(2)),
                 [done = std::move(done), answer = std::move(answer)] { done(answer); });
}

}  // namespace tiphys::sim
