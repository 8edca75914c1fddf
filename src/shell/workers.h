#pragma once

// The workers port: work that takes the processor for a while, off the strand, on a bounded pool. One answer comes
// back on the strand.

#include <cstddef>
#include <functional>
#include <memory>

#include "shell/strand.h"

namespace tiphys::shell {

class Workers {
 public:
  virtual ~Workers() = default;
  // Runs `work` somewhere else, then `done` on the strand. Work that waits keeps its order.
  virtual void run(std::function<void()> work, std::function<void()> done) = 0;
};

// Threads, at least one, that begin with the first work and sleep when there is nothing to do.
class WorkerThreads final : public Workers {
 public:
  WorkerThreads(Strand& strand, std::size_t threads);
  // Work that has begun is waited for; what waits is dropped, and nothing is told any more, not even what was done.
  ~WorkerThreads() override;
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Safe from any thread.
  void run(std::function<void()> work, std::function<void()> done) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiphys::shell
