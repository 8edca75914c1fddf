#pragma once

// Where machines run: one thing at a time, in order, on one thread. Everything in shell/ that is not said to be safe
// from other threads is called on the strand only.

#include <functional>
#include <memory>

#include "base/instant.h"

namespace tiphys::shell {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
};

class Strand {
 public:
  virtual ~Strand() = default;
  // Runs the task later, after all that was posted before. Safe from any thread.
  virtual void post(std::function<void()> task) = 0;
};

class Timers {
 public:
  virtual ~Timers() = default;
  // Runs the task on the strand once the time has passed. There is no way to cancel: tasks recognise that they are stale.
  virtual void after(Duration duration, std::function<void()> task) = 0;
};

// The real thing: a thread of its own with a queue, timers and the monotonic clock.
class CoreThread final : public Clock, public Strand, public Timers {
 public:
  CoreThread();
  // Tasks that have not run are dropped; the one that runs is waited for.
  ~CoreThread() override;
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  [[nodiscard]] Instant now() const override;
  void post(std::function<void()> task) override;
  void after(Duration duration, std::function<void()> task) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiphys::shell
