#pragma once

// The store port: versioned records, changed by conditional commits of several keys at once. Three backends fulfil it
// (memory, SQLite, etcd) and one conformance test checks them. Every answer comes on the strand, exactly once, and
// never before the call has returned.
//
// A key is any text but the empty one; keys are ordered and compared byte by byte, and '/' means nothing to a store.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "model/tree.h"

namespace tiphys::shell {

// Grows with every commit that changes something; a record's version is the revision of the commit that wrote it, 0
// means "not there".
using Revision = std::uint64_t;

struct Record {
  std::string key;
  Revision version = 0;
  Tree value;

  friend bool operator==(const Record&, const Record&) = default;
};

struct Snapshot {
  Revision revision = 0;        // the records are as they were right after this commit
  std::vector<Record> records;  // in ascending order of the keys
};

// The key must have this version; 0 demands that it is not there.
struct Condition {
  std::string key;
  Revision version = 0;
};

// Puts the value, or deletes the key when there is none. Deleting what is not there changes nothing.
struct StoreWrite {
  std::string key;
  std::optional<Tree> value;

  friend bool operator==(const StoreWrite&, const StoreWrite&) = default;
};

using LeaseId = std::uint64_t;

// All writes happen, or none; no key is written twice. A lease, if named, must be alive (it fences off a leader whose
// time is over), and what is written with `bind_to_lease` vanishes with it, unless it is written again without.
struct Transaction {
  std::vector<Condition> conditions;
  std::vector<StoreWrite> writes;
  std::optional<LeaseId> fence;
  bool bind_to_lease = false;
};

// What one commit, or the end of a lease, changed below the watched prefix.
struct Changes {
  Revision revision = 0;
  std::vector<StoreWrite> writes;  // in ascending order of the keys

  friend bool operator==(const Changes&, const Changes&) = default;
};
// The history from the wanted revision on is gone, and the watch has ended: list again, then watch from there.
struct Compacted {
  Revision oldest = 0;  // the smallest revision after which a watch can still begin

  friend bool operator==(const Compacted&, const Compacted&) = default;
};
using WatchEvent = std::variant<Changes, Compacted>;
using WatchId = std::uint64_t;

// The records alone, for those who need no leases and no watches.
class Records {
 public:
  virtual ~Records() = default;

  virtual void get(std::string key, std::function<void(Result<Record>)> sink) = 0;  // kNotFound
  virtual void list(std::string prefix, std::function<void(Result<Snapshot>)> sink) = 0;
  // The revision of the commit, or the one that holds when nothing was to be changed; kFailedPrecondition when the fence
  // is gone, else kAborted when a condition does not hold; kInvalidArgument for an empty key, a key that is written
  // twice, and a binding without a lease.
  virtual void commit(Transaction transaction, std::function<void(Result<Revision>)> sink) = 0;
};

class Store : public Records {
 public:
  // A lease ends when it was not kept alive for its time to live, which is more than nothing (else kInvalidArgument), or
  // by revoke. What is bound to it vanishes in one commit.
  virtual void grant_lease(Duration time_to_live, std::function<void(Result<LeaseId>)> sink) = 0;
  virtual void keep_alive(LeaseId lease, std::function<void(Status)> sink) = 0;  // kNotFound
  virtual void revoke(LeaseId lease, std::function<void(Status)> sink) = 0;      // kNotFound

  // Tells every commit below the prefix after `after`, in order, until unwatch(); nothing is told after that.
  virtual WatchId watch(std::string prefix, Revision after,
                        std::function<void(WatchEvent)> sink) = 0;
  virtual void unwatch(WatchId watch) = 0;
};

}  // namespace tiphys::shell
