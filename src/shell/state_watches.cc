#include "shell/state_watches.h"

#include <utility>
#include <vector>

namespace tiphys::shell {

using workload::ContainerId;
using workload::Token;

StateWatches::StateWatches(Source source, Timers& timers)
    : source_(std::move(source)), timers_(timers) {}

void StateWatches::watch(Token token, ContainerId container,
                         std::function<void(ExecutionState)> sink) {
  watches_.insert_or_assign(
      token, Watched{std::move(container), std::move(sink), last_listing_ + 1, std::nullopt});
  refresh();
}

void StateWatches::changed(const ContainerId& container, const ExecutionState& state) {
  if (listing_) changed_during_listing_.insert(container);
  // A sink may begin or end watches: look at each token anew.
  std::vector<Token> tokens;
  for (const auto& [token, watched] : watches_)
    if (watched.container == container) tokens.push_back(token);
  for (const auto token : tokens)
    if (const auto watched = watches_.find(token); watched != watches_.end())
      tell(watched->second, state);
}

void StateWatches::changes_lost() {
  listening_ = false;
  if (!listing_) refresh_after(kStatePollPeriod);
}

void StateWatches::listen() {
  if (listening_) return;
  listening_ = true;
  source_.listen();
}

void StateWatches::refresh() {
  if (listing_) {
    list_again_ = true;
    return;
  }
  if (watches_.empty()) return;
  // Listening begins before the listing, so that nothing falls between them.
  listen();
  listing_ = ++last_listing_;
  list_again_ = false;
  changed_during_listing_.clear();
  ask(*listing_, false);
}

void StateWatches::ask(std::uint64_t listing, bool second_try) {
  source_.list([this, listing, second_try](const Result<States>& states) {
    if (listing_ != listing) return;
    if (states || second_try)
      listed(states);
    else
      ask(listing, true);
  });
}

void StateWatches::listed(const Result<States>& states) {
  std::vector<Token> tokens;
  tokens.reserve(watches_.size());
  for (const auto& [token, watched] : watches_) tokens.push_back(token);
  // A sink may begin or end watches: the listing is under way until all are told, and each token is looked at anew.
  for (const auto token : tokens) {
    const auto entry = watches_.find(token);
    if (entry == watches_.end() || entry->second.first_listing > *listing_ ||
        changed_during_listing_.contains(entry->second.container))
      continue;
    if (!states) {
      tell(entry->second, source_.listing_failed);
      continue;
    }
    const auto state = states->find(entry->second.container);
    tell(entry->second, state != states->end() ? state->second : source_.absent);
  }
  listing_.reset();
  if (list_again_)
    refresh();
  else
    refresh_after(listening_ && states ? kStateVerifyPeriod : kStatePollPeriod);
}

void StateWatches::refresh_after(Duration pause) {
  timers_.after(pause, [this, generation = ++timer_generation_] {
    if (generation == timer_generation_) refresh();
  });
}

// [impl->swdd~generic-state-checker-sends-workload-state~2]
void StateWatches::tell(Watched& watched, const ExecutionState& state) {
  if (watched.last == state) return;
  watched.last = state;
  const auto sink = watched.sink;  // the watch may end while it is told
  sink(state);
}

}  // namespace tiphys::shell
