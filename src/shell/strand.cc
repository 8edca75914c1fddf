#include "shell/strand.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace tiphys::shell {

// An event loop of Asio would do, but it wakes its thread while it still holds the lock that the thread takes next: in an idle
// process every second task then cost two wake-ups.
struct CoreThread::Impl {
  using Task = std::function<void()>;
  using Time = std::chrono::steady_clock::time_point;

  void run() {
    std::unique_lock lock(mutex);
    while (!is_stopped) {
      take_due();
      if (tasks.empty()) {
        wait(lock);
        continue;
      }
      Task task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it holds may post, too
      lock.lock();
    }
  }

  void take_due() {
    if (timers.empty()) return;
    const Time now = std::chrono::steady_clock::now();
    while (!timers.empty() && timers.begin()->first <= now) {
      tasks.push_back(std::move(timers.begin()->second));
      timers.erase(timers.begin());
    }
  }

  void wait(std::unique_lock<std::mutex>& lock) {
    if (timers.empty())
      changed.wait(lock);
    else
      changed.wait_until(lock, Time(timers.begin()->first));
  }

  template <class Change>
  void change(Change what) {
    {
      const std::lock_guard lock(mutex);
      what();
    }
    changed.notify_one();
  }

  // Not while they are looked at: what a task holds may post when it goes.
  void drop_all() {
    const auto dropped = std::exchange(tasks, {});
    const auto dropped_timers = std::exchange(timers, {});
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool is_stopped = false;
  std::deque<Task> tasks;
  std::multimap<Time, Task> timers;  // those of one time in the order in which they were set
  std::thread thread{[this] { run(); }};
};

CoreThread::CoreThread() : impl_(std::make_unique<Impl>()) {}

CoreThread::~CoreThread() {
  stop();
  impl_->drop_all();
}

void CoreThread::stop() {
  impl_->change([this] { impl_->is_stopped = true; });
  if (impl_->thread.joinable()) impl_->thread.join();
}

Instant CoreThread::now() const { return {std::chrono::steady_clock::now().time_since_epoch()}; }

void CoreThread::post(std::function<void()> task) {
  impl_->change([&] { impl_->tasks.push_back(std::move(task)); });
}

void CoreThread::after(Duration duration, std::function<void()> task) {
  const Impl::Time now = std::chrono::steady_clock::now();
  const Impl::Time at = duration > Impl::Time::max() - now ? Impl::Time::max() : now + duration;
  impl_->change([&] { impl_->timers.emplace(at, std::move(task)); });
}

}  // namespace tiphys::shell
