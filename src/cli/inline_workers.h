#pragma once

#include <functional>

#include "shell/workers.h"

namespace tiphys::cli {

// A command has nothing else to do while a name is looked up.
class InlineWorkers final : public shell::Workers {
 public:
  void run(std::function<void()> work, std::function<void()> done) override {
    work();
    done();
  }
};

}  // namespace tiphys::cli
