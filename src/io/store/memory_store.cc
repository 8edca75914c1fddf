#include "io/store/memory_store.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/strings.h"
#include "io/store/transaction_check.h"

namespace tiphys::store {

using shell::Changes;
using shell::LeaseId;
using shell::Record;
using shell::Revision;
using shell::StoreWrite;

namespace {

Status lease_ended(LeaseId lease) {
  return fail(Code::kNotFound, concat("the lease ", std::to_string(lease), " has ended"));
}

}  // namespace

MemoryStore::MemoryStore(shell::Strand& strand, shell::Clock& clock, shell::Timers& timers,
                         std::size_t max_history)
    : strand_(strand), clock_(clock), timers_(timers), max_history_(max_history) {}

template <class T>
void MemoryStore::answer(std::function<void(T)> sink, T value) {
  strand_.post(
      [sink = std::move(sink), value = std::move(value)]() mutable { sink(std::move(value)); });
}

void MemoryStore::get(std::string key, std::function<void(Result<Record>)> sink) {
  const auto entry = entries_.find(key);
  answer<Result<Record>>(
      std::move(sink),
      entry == entries_.end()
          ? Result<Record>(fail(Code::kNotFound, concat("there is no key '", key, "'")))
          : Result<Record>(Record{key, entry->second.version, entry->second.value}));
}

void MemoryStore::list(std::string prefix, std::function<void(Result<shell::Snapshot>)> sink) {
  shell::Snapshot snapshot{revision_, {}};
  for (auto entry = entries_.lower_bound(prefix);
       entry != entries_.end() && entry->first.starts_with(prefix); ++entry)
    snapshot.records.push_back({entry->first, entry->second.version, entry->second.value});
  answer<Result<shell::Snapshot>>(std::move(sink), std::move(snapshot));
}

void MemoryStore::commit(shell::Transaction transaction,
                         std::function<void(Result<Revision>)> sink) {
  answer<Result<Revision>>(std::move(sink), execute(std::move(transaction)));
}

Revision MemoryStore::version_of(const std::string& key) const {
  const auto entry = entries_.find(key);
  return entry == entries_.end() ? 0 : entry->second.version;
}

Result<Revision> MemoryStore::execute(shell::Transaction transaction) {
  TIPHYS_REQUIRE(check_form(transaction));
  if (transaction.fence && find_lease(*transaction.fence) == nullptr)
    return fail(Code::kFailedPrecondition, lease_ended(*transaction.fence).error().message);
  for (const auto& condition : transaction.conditions)
    TIPHYS_REQUIRE(check_condition(condition, version_of(condition.key)));
  return record(std::move(transaction.writes),
                transaction.bind_to_lease ? transaction.fence : std::nullopt);
}

Revision MemoryStore::record(std::vector<StoreWrite> writes, std::optional<LeaseId> bind_to) {
  std::erase_if(writes, [this](const StoreWrite& write) {
    return !write.value && !entries_.contains(write.key);
  });
  if (writes.empty()) return revision_;
  std::sort(writes.begin(), writes.end(),
            [](const StoreWrite& a, const StoreWrite& b) { return a.key < b.key; });
  ++revision_;
  for (const auto& changed : writes) write(changed, bind_to);
  Changes changes{revision_, std::move(writes)};
  for (const auto& [id, watch] : watches_) offer(id, watch, changes);
  remember(std::move(changes));
  return revision_;
}

void MemoryStore::write(const StoreWrite& write, std::optional<LeaseId> bind_to) {
  const auto entry = entries_.try_emplace(write.key).first;
  if (entry->second.lease)
    if (const auto lease = leases_.find(*entry->second.lease); lease != leases_.end())
      lease->second.keys.erase(write.key);
  if (!write.value) {
    entries_.erase(entry);
    return;
  }
  entry->second = Entry{revision_, *write.value, bind_to};
  if (bind_to) leases_.at(*bind_to).keys.insert(write.key);
}

void MemoryStore::remember(Changes changes) {
  history_writes_ += changes.writes.size();
  history_.push_back(std::move(changes));
  while (history_writes_ > max_history_) {
    history_writes_ -= history_.front().writes.size();
    forgotten_ = history_.front().revision;
    history_.pop_front();
  }
}

void MemoryStore::grant_lease(Duration time_to_live, std::function<void(Result<LeaseId>)> sink) {
  if (time_to_live <= Duration::zero())
    return answer<Result<LeaseId>>(std::move(sink),
                                   fail(Code::kInvalidArgument, "a lease needs some time to live"));
  const LeaseId lease = ++last_lease_;
  leases_.emplace(lease, Lease{time_to_live, clock_.now() + time_to_live, {}});
  arm(lease, time_to_live);
  answer<Result<LeaseId>>(std::move(sink), lease);
}

void MemoryStore::keep_alive(LeaseId lease, std::function<void(Status)> sink) {
  Lease* alive = find_lease(lease);
  if (alive != nullptr) alive->ends = clock_.now() + alive->time_to_live;
  answer<Status>(std::move(sink), alive != nullptr ? Status() : lease_ended(lease));
}

void MemoryStore::revoke(LeaseId lease, std::function<void(Status)> sink) {
  const bool alive = find_lease(lease) != nullptr;
  if (alive) end_lease(lease);
  answer<Status>(std::move(sink), alive ? Status() : lease_ended(lease));
}

// The timer may come late: a lease whose time is over ends at the latest when somebody asks for it.
MemoryStore::Lease* MemoryStore::find_lease(LeaseId lease) {
  const auto entry = leases_.find(lease);
  if (entry == leases_.end()) return nullptr;
  if (clock_.now() < entry->second.ends) return &entry->second;
  end_lease(lease);
  return nullptr;
}

void MemoryStore::end_lease(LeaseId lease) {
  const auto ended = leases_.extract(lease);
  std::vector<StoreWrite> writes;
  for (const auto& key : ended.mapped().keys) writes.push_back({key, std::nullopt});
  record(std::move(writes), std::nullopt);
}

// One timer a lease: when it fires and the lease was kept alive meanwhile, it is set for the rest.
void MemoryStore::arm(LeaseId lease, Duration duration) {
  timers_.after(duration, [this, lease] {
    if (const Lease* alive = find_lease(lease)) arm(lease, alive->ends - clock_.now());
  });
}

shell::WatchId MemoryStore::watch(std::string prefix, Revision after,
                                  std::function<void(shell::WatchEvent)> sink) {
  const shell::WatchId id = ++last_watch_;
  const Watch& watch =
      watches_.emplace(id, Watch{std::move(prefix), after, std::move(sink)}).first->second;
  if (after < forgotten_)
    tell(id, shell::Compacted{forgotten_});
  else
    for (const auto& changes : history_) offer(id, watch, changes);
  return id;
}

void MemoryStore::unwatch(shell::WatchId watch) { watches_.erase(watch); }

void MemoryStore::offer(shell::WatchId id, const Watch& watch, const Changes& changes) {
  if (changes.revision <= watch.after) return;
  Changes below{changes.revision, {}};
  for (const auto& write : changes.writes)
    if (write.key.starts_with(watch.prefix)) below.writes.push_back(write);
  if (!below.writes.empty()) tell(id, std::move(below));
}

void MemoryStore::tell(shell::WatchId id, shell::WatchEvent event) {
  strand_.post([this, id, event = std::move(event)]() mutable {
    const auto watch = watches_.find(id);
    if (watch == watches_.end()) return;
    const auto sink = watch->second.sink;  // the watch may end while it is told
    if (std::holds_alternative<shell::Compacted>(event)) watches_.erase(watch);
    sink(std::move(event));
  });
}

}  // namespace tiphys::store
