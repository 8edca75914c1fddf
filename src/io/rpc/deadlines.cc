#include "io/rpc/deadlines.h"

#include <boost/system/error_code.hpp>
#include <utility>

namespace tiphys::rpc {

Deadlines::Deadlines(const boost::asio::any_io_executor& executor) : timer_(executor) {}

// Owns itself.
class Deadlines::Function final : public Task {
 public:
  explicit Function(std::function<void()> function) : function_(std::move(function)) {}

 private:
  void on_time() override {
    const auto function = std::move(function_);
    delete this;
    function();
  }
  void on_dropped() override { delete this; }

  std::function<void()> function_;
};

Deadlines::~Deadlines() {
  *self_ = nullptr;
  tasks_.clear_and_dispose([](Task* task) { task->on_dropped(); });
}

Deadlines::Time Deadlines::after(Duration from_now) {
  const Time now = std::chrono::steady_clock::now();
  return from_now > Time::max() - now ? Time::max() : now + from_now;
}

Deadlines::Id Deadlines::add(Duration from_now, std::function<void()> task) {
  auto* const added = new Function(std::move(task));
  add(from_now, *added);
  return added;
}

void Deadlines::add(Duration from_now, Task& task) {
  task.time_ = after(from_now);
  tasks_.insert(tasks_.end(),
                task);  // most deadlines are as long as those before them, so most are the last
  arm();
}

// The timer is left as it is: waking once for nothing is cheaper than setting it for every call that ends in time.
void Deadlines::remove(Task& task) {
  if (task.is_linked()) tasks_.erase(tasks_.iterator_to(task));
}

void Deadlines::remove(Id id) {
  remove(*id);
  id->on_dropped();
}

void Deadlines::arm() {
  if (tasks_.empty()) return;
  const Time first = tasks_.begin()->time_;
  if (armed_for_ && *armed_for_ <= first) return;
  armed_for_ = first;
  timer_.expires_at(first);
  timer_.async_wait([self = self_](const boost::system::error_code& error) {
    if (*self && !error) (*self)->run_due();
  });
}

void Deadlines::run_due() {
  armed_for_.reset();
  const auto self = self_;
  const Time now = std::chrono::steady_clock::now();
  while (!tasks_.empty() && tasks_.begin()->time_ <= now) {
    Task& task = *tasks_.begin();
    tasks_.erase(tasks_.begin());
    task.on_time();
    if (!*self) return;
  }
  arm();
}

}  // namespace tiphys::rpc
