#include "io/rpc/deadlines.h"

#include <boost/system/error_code.hpp>
#include <utility>

namespace tiphys::rpc {

Deadlines::Deadlines(const boost::asio::any_io_executor& executor) : timer_(executor) {}

Deadlines::~Deadlines() { *self_ = nullptr; }

Deadlines::Time Deadlines::after(Duration from_now) {
  const Time now = std::chrono::steady_clock::now();
  return from_now > Time::max() - now ? Time::max() : now + from_now;
}

Deadlines::Id Deadlines::add(Duration from_now, std::function<void()> task) {
  // Most deadlines are as long as those before them, so most are the last.
  const Id id = entries_.emplace_hint(entries_.end(), after(from_now), std::move(task));
  arm();
  return id;
}

// The timer is left as it is: waking once for nothing is cheaper than setting it for every call that ends in time.
void Deadlines::remove(Id id) { entries_.erase(id); }

void Deadlines::arm() {
  if (entries_.empty()) return;
  const Time first = entries_.begin()->first;
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
  while (!entries_.empty() && entries_.begin()->first <= now) {
    const auto task = std::move(entries_.begin()->second);
    entries_.erase(entries_.begin());
    task();
    if (!*self) return;
  }
  arm();
}

}  // namespace tiphys::rpc
