#pragma once

// Runs one machine on a strand: takes an event from its mailbox, steps, performs the effects in order. Several actors
// share a strand and take turns, an event each.
//
// The mailbox has three doors. tell() is for answers and reports, which are never dropped: whoever asked for them
// bounded their number. try_tell() is for requests and refuses them when too many wait. tell_latest() is for
// state-like events, of which only the newest counts: it takes the place of one that waits in the same slot.

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::shell {

struct ActorSettings {
  std::string name;
  std::size_t max_requests = 1024;
};

// [impl->swdd~agent-uses-async-channels~1]
template <class Event, class Effect>
class Actor {
 public:
  using Step = std::function<std::vector<Effect>(const Event&, Instant)>;
  using Perform = std::function<void(Effect)>;

  Actor(ActorSettings settings, Strand& strand, Clock& clock, Trace& trace, Step step,
        Perform perform)
      : settings_(std::move(settings)),
        strand_(strand),
        clock_(clock),
        trace_(trace),
        step_(std::move(step)),
        perform_(std::move(perform)) {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  void tell(Event event) { add(Letter{std::move(event), Kind::kAnswer, 0}); }

  [[nodiscard]] bool is_full() const { return requests_ >= settings_.max_requests; }

  [[nodiscard]] bool try_tell(Event event) {
    if (is_full()) return false;
    ++requests_;
    add(Letter{std::move(event), Kind::kRequest, 0});
    return true;
  }

  void tell_latest(std::size_t slot, Event event) {
    for (auto& letter : mailbox_)
      if (letter.kind == Kind::kLatest && letter.slot == slot) {
        letter.event = std::move(event);
        return;
      }
    add(Letter{std::move(event), Kind::kLatest, slot});
  }

  [[nodiscard]] std::size_t waiting() const { return mailbox_.size(); }

 private:
  enum class Kind : unsigned char { kAnswer, kRequest, kLatest };
  struct Letter {
    Event event;
    Kind kind;
    std::size_t slot;
  };

  void add(Letter letter) {
    mailbox_.push_back(std::move(letter));
    if (mailbox_.size() == 1) strand_.post([this] { take_one(); });
  }

  void take_one() {
    {
      const Letter letter = std::move(mailbox_.front());
      mailbox_.front().kind = Kind::kAnswer;  // it is no longer to be replaced
      if (letter.kind == Kind::kRequest) --requests_;
      if (trace_.enabled()) trace_.event(settings_.name, to_string(letter.event));
      for (auto& effect : step_(letter.event, clock_.now())) {
        if (trace_.enabled()) trace_.effect(settings_.name, to_string(effect));
        perform_(std::move(effect));
      }
    }
    mailbox_.pop_front();
    if (!mailbox_.empty()) strand_.post([this] { take_one(); });
  }

  const ActorSettings settings_;
  Strand& strand_;
  Clock& clock_;
  Trace& trace_;
  const Step step_;
  const Perform perform_;
  std::deque<Letter> mailbox_;  // the front one is being handled while take_one() runs
  std::size_t requests_ = 0;
};

}  // namespace tiphys::shell
