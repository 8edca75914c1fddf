#pragma once

// What waits to be sent to one client: bounded, because a client that does not read must not cost more than that.

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "base/instant.h"
#include "io/http/transport.h"

namespace tiphys::http {

class Outbox {
 public:
  struct Item {
    std::string text;
    bool is_text = true;
  };

  Outbox(const asio::any_io_executor& executor, std::size_t max_bytes, std::size_t max_items)
      : wake_(executor), max_bytes_(max_bytes), max_items_(max_items) {}

  // --- the side that fills it ---

  // Dropped after the end. One item too many is the end, and interrupts a write that is stuck.
  void push(Item item) {
    if (is_over_ || is_closing_ || is_overflowed_) return;
    if (items_.size() >= max_items_ || bytes_ + item.text.size() > max_bytes_) {
      is_overflowed_ = true;
      if (interrupt) interrupt();
    } else {
      bytes_ += item.text.size();
      items_.push_back(std::move(item));
    }
    wake_.cancel();
  }
  // Nothing more will be filled in.
  void close() {
    is_closing_ = true;
    wake_.cancel();
  }

  // --- the side that empties it ---

  [[nodiscard]] bool is_overflowed() const { return is_overflowed_; }
  [[nodiscard]] bool is_closing() const { return is_closing_; }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  // Stays counted until sent(), so that what is being written counts too.
  [[nodiscard]] Item take() {
    Item item = std::move(items_.front());
    items_.pop_front();
    bytes_being_sent_ += item.text.size();
    return item;
  }
  void sent() { bytes_ -= std::exchange(bytes_being_sent_, 0); }
  // Nobody will empty it any more.
  void end() {
    is_over_ = true;
    items_.clear();
    interrupt = nullptr;
    wake_.cancel();
  }
  [[nodiscard]] bool is_over() const { return is_over_; }
  void wake() { wake_.cancel(); }
  // Until something changed or the time is over.
  asio::awaitable<void> wait(Duration duration) {
    wake_.expires_after(duration);
    auto waiting = wake_.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await std::move(waiting);
  }

  std::function<void()> interrupt;

 private:
  asio::steady_timer wake_;
  std::size_t max_bytes_;
  std::size_t max_items_;
  std::deque<Item> items_;
  std::size_t bytes_ = 0;
  std::size_t bytes_being_sent_ = 0;
  bool is_closing_ = false;
  bool is_overflowed_ = false;
  bool is_over_ = false;
};

}  // namespace tiphys::http
