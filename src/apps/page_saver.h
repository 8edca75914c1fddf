#pragma once

// Takes the program's code out of its memory again after work that an idle program does not do: the start, a peer that
// comes or goes with its TLS handshake. What an idle program runs through comes back by itself, and is little.

#include <chrono>
#include <functional>
#include <utility>

#include "base/instant.h"
#include "io/host/code_pages.h"
#include "shell/strand.h"

namespace tiphys::apps {

// On the strand.
class PageSaver {
 public:
  explicit PageSaver(shell::Timers& timers,
                     std::function<void()> release = host::release_code_pages)
      : timers_(timers), release_(std::move(release)) {}

  // Such work was begun or is done. The code goes a period after the first time and a period after the last, at most once
  // a period however often this is said.
  void worked() {
    is_due_ = true;
    if (!is_armed_) arm();
  }

  static constexpr Duration kPeriod = std::chrono::seconds(1);

 private:
  void arm() {
    is_armed_ = true;
    is_due_ = false;
    timers_.after(kPeriod, [this] {
      is_armed_ = false;
      release_();
      if (is_due_) arm();
    });
  }

  shell::Timers& timers_;
  const std::function<void()> release_;
  bool is_armed_ = false;
  bool is_due_ = false;  // something was done since it was armed
};

}  // namespace tiphys::apps
