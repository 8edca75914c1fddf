#pragma once

// Many deadlines on one timer: a server or a channel has one of these. A deadline is removed when it no longer matters.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/instant.h"

namespace tiphys::rpc {

class Deadlines {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Entries = std::multimap<Time, std::function<void()>>;
  using Id = Entries::iterator;

  explicit Deadlines(const boost::asio::any_io_executor& executor);
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // The time after so much from now; never more than a Time can hold.
  static Time after(Duration from_now);
  // Calls the task once that time has come. The id is no longer valid then.
  Id add(Duration from_now, std::function<void()> task);
  void remove(Id id);

 private:
  void arm();
  void run_due();

  boost::asio::steady_timer timer_;
  Entries entries_;
  std::optional<Time> armed_for_;
  std::shared_ptr<Deadlines*> self_ = std::make_shared<Deadlines*>(this);  // null once we are gone
};

}  // namespace tiphys::rpc
