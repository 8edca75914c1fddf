#pragma once

// Where machines run: one thing at a time, in order, on one thread. Everything in shell/ that is not said to be safe
// from other threads is called on the strand only. What tasks use lives until the strand has stopped: there is no way to
// take back a task.

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
  // Stops, and drops the tasks that have not run.
  ~CoreThread() override;
  CoreThread(const CoreThread&) = delete;
  CoreThread& operator=(const CoreThread&) = delete;

  [[nodiscard]] Instant now() const override;
  void post(std::function<void()> task) override;
  void after(Duration duration, std::function<void()> task) override;

  // Waits for the task that runs; after that none runs any more, and what they use may go. From another thread only.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiphys::shell
