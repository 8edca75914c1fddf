#pragma once

// Many deadlines on one timer: a server or a channel has one of these. A deadline is removed when it no longer matters.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/set.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/instant.h"

namespace tiphys::rpc {

class Deadlines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Something to do at a time, for one who keeps it as a part of itself: there may be very many of them.
  // NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): nobody else deletes it
  class Task : public boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
   protected:
    Task() = default;
    virtual ~Task() = default;

   private:
    friend class Deadlines;
    virtual void on_time() = 0;
    virtual void on_dropped() {}  // the deadlines have gone

    Time time_{};
  };
  using Id = Task*;

  explicit Deadlines(const boost::asio::any_io_executor& executor);
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // The time after so much from now; never more than a Time can hold.
  static Time after(Duration from_now);
  // Calls the task once that time has come. The id is no longer valid then.
  Id add(Duration from_now, std::function<void()> task);
  // The task is called once unless it is removed before, and outlives that. It must not be added twice.
  void add(Duration from_now, Task& task);
  // Nothing happens when its time has come already.
  void remove(Task& task);
  void remove(Id id);

 private:
  struct Earlier {
    bool operator()(const Task& one, const Task& other) const { return one.time_ < other.time_; }
  };
  class Function;

  void arm();
  void run_due();

  boost::asio::steady_timer timer_;
  boost::intrusive::multiset<Task, boost::intrusive::compare<Earlier>> tasks_;
  std::optional<Time> armed_for_;
  std::shared_ptr<Deadlines*> self_ = std::make_shared<Deadlines*>(this);  // null once we are gone
};

}  // namespace tiphys::rpc
