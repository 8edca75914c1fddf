#pragma once

// The watches of a runtime: who wants to be told which workload's state. For runtimes that list the states of all they run
// in one go.
//
// States come from the runtime's changes while those last, and from a listing: at once when a watch begins, every second
// while there are no changes to listen to or the listing fails, every minute to verify them. A runtime that always loses
// its changes costs no more than that second. A listing that fails is tried once more at once.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/result.h"
#include "core/workload/control_loop.h"
#include "model/execution_state.h"
#include "shell/strand.h"

namespace tiphys::shell {

inline constexpr Duration kStatePollPeriod = std::chrono::seconds(1);
inline constexpr Duration kStateVerifyPeriod = std::chrono::seconds(60);

// [impl->swdd~agent-provides-generic-state-checker-implementation~1]
class StateWatches {
 public:
  using States = std::map<workload::ContainerId, ExecutionState>;
  struct Source {
    std::function<void(std::function<void(Result<States>)>)> list;
    std::function<void()> listen;  // from now on changes are told, until they are lost
    ExecutionState absent;         // of what a listing has not
    ExecutionState listing_failed;
  };

  StateWatches(Source source, Timers& timers);

  void watch(workload::Token token, workload::ContainerId container,
             std::function<void(ExecutionState)> sink);
  void unwatch(workload::Token token) { watches_.erase(token); }

  // One is in this state now.
  void changed(const workload::ContainerId& container, const ExecutionState& state);
  // Some may be in another state than before: they are listed.
  void refresh();
  // Changes are not told any more.
  void changes_lost();

 private:
  struct Watched {
    workload::ContainerId container;
    std::function<void(ExecutionState)> sink;
    std::uint64_t first_listing;  // that began after the watch; older ones know nothing of it
    std::optional<ExecutionState> last;
  };

  void listen();
  void ask(std::uint64_t listing, bool second_try);
  void listed(const Result<States>& states);
  void refresh_after(Duration pause);
  static void tell(Watched& watched, const ExecutionState& state);

  const Source source_;
  Timers& timers_;

  std::map<workload::Token, Watched> watches_;
  bool listening_ = false;
  std::optional<std::uint64_t> listing_;  // the one under way; an answer to another is stale
  std::uint64_t last_listing_ = 0;
  bool list_again_ = false;  // something began or changed after the listing did
  // The listing is older than what we know of these.
  std::set<workload::ContainerId> changed_during_listing_;
  std::uint64_t timer_generation_ = 0;  // an older timer is stale
};

}  // namespace tiphys::shell
