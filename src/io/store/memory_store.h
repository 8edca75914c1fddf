#pragma once

// The store in memory: the default, which writes no flash and forgets everything with the process. It keeps the trees it
// is given and shares their structure; nothing is encoded or copied. It has no thread: a call takes effect at once, and
// its answer is posted to the strand.
//
// A watch is told of past commits from a bounded history, and of new ones however many there are.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shell/store.h"
#include "shell/strand.h"

namespace tiphys::store {

class MemoryStore final : public shell::Store {
 public:
  static constexpr std::size_t kDefaultHistory = 16'384;

  // The history holds the newest commits that make at most so many writes together.
  MemoryStore(shell::Strand& strand, shell::Clock& clock, shell::Timers& timers,
              std::size_t max_history = kDefaultHistory);

  void get(std::string key, std::function<void(Result<shell::Record>)> sink) override;
  void list(std::string prefix, std::function<void(Result<shell::Snapshot>)> sink) override;
  void commit(shell::Transaction transaction,
              std::function<void(Result<shell::Revision>)> sink) override;

  void grant_lease(Duration time_to_live,
                   std::function<void(Result<shell::LeaseId>)> sink) override;
  void keep_alive(shell::LeaseId lease, std::function<void(Status)> sink) override;
  void revoke(shell::LeaseId lease, std::function<void(Status)> sink) override;

  shell::WatchId watch(std::string prefix, shell::Revision after,
                       std::function<void(shell::WatchEvent)> sink) override;
  void unwatch(shell::WatchId watch) override;

 private:
  struct Entry {
    shell::Revision version = 0;
    Tree value;
    std::optional<shell::LeaseId> lease;
  };
  struct Lease {
    Duration time_to_live;
    Instant ends;
    std::set<std::string> keys;  // what is bound to it
  };
  struct Watch {
    std::string prefix;
    shell::Revision after;
    std::function<void(shell::WatchEvent)> sink;
  };

  template <class T>
  void answer(std::function<void(T)> sink, T value);
  [[nodiscard]] shell::Revision version_of(const std::string& key) const;
  Result<shell::Revision> execute(shell::Transaction transaction);
  shell::Revision record(std::vector<shell::StoreWrite> writes,
                         std::optional<shell::LeaseId> bind_to);
  void write(const shell::StoreWrite& write, std::optional<shell::LeaseId> bind_to);
  void remember(shell::Changes changes);
  Lease* find_lease(shell::LeaseId lease);
  void end_lease(shell::LeaseId lease);
  void arm(shell::LeaseId lease, Duration duration);
  void offer(shell::WatchId id, const Watch& watch, const shell::Changes& changes);
  void tell(shell::WatchId id, shell::WatchEvent event);

  shell::Strand& strand_;
  shell::Clock& clock_;
  shell::Timers& timers_;
  const std::size_t max_history_;

  shell::Revision revision_ = 0;
  std::map<std::string, Entry> entries_;

  std::deque<shell::Changes> history_;
  std::size_t history_writes_ = 0;  // of all commits in the history
  shell::Revision forgotten_ = 0;   // the newest commit that is no longer in the history

  std::map<shell::LeaseId, Lease> leases_;
  shell::LeaseId last_lease_ = 0;
  std::map<shell::WatchId, Watch> watches_;
  shell::WatchId last_watch_ = 0;
};

}  // namespace tiphys::store
