#pragma once

// One life of a process: its strand, timers and clock. When the process is killed, whatever was still to run in it is
// gone, also answers that arrive later.

#include <functional>
#include <memory>

#include "shell/strand.h"
#include "sim/world.h"

namespace tiphys::sim {

class Process final : public shell::Clock, public shell::Strand, public shell::Timers {
 public:
  explicit Process(World& world) : world_(world), alive_(std::make_shared<bool>(true)) {}
  ~Process() override { *alive_ = false; }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] Instant now() const override { return world_.now(); }
  void post(std::function<void()> task) override {
    world_.at(world_.now(), guarded(std::move(task)));
  }
  void after(Duration duration, std::function<void()> task) override {
    world_.after(duration, guarded(std::move(task)));
  }

  // Still true while the process lives, whoever asks.
  [[nodiscard]] std::shared_ptr<const bool> liveness() const { return alive_; }

  // The task, to be run from outside: it does nothing once the process is dead.
  [[nodiscard]] std::function<void()> guarded(std::function<void()> task) const {
    return [alive = alive_, task = std::move(task)] {
      if (*alive) task();
    };
  }

 private:
  World& world_;
  std::shared_ptr<bool> alive_;
};

}  // namespace tiphys::sim
