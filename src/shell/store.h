#pragma once

// The store port: versioned records, changed by conditional commits of several keys at once. Three backends fulfil it
// (memory, SQLite, etcd) and one conformance test checks them. Every answer comes on the strand, exactly once.

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

// Counts the commits of a store; a record's version is the revision of the commit that wrote it, 0 means "not there".
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

// Puts the value, or deletes the key when there is none.
struct StoreWrite {
  std::string key;
  std::optional<Tree> value;
};

using LeaseId = std::uint64_t;

// All writes happen, or none. A lease, if named, must be alive (it fences off a leader whose time is over), and what
// is written with `bind_to_lease` vanishes with it.
struct Transaction {
  std::vector<Condition> conditions;
  std::vector<StoreWrite> writes;
  std::optional<LeaseId> fence;
  bool bind_to_lease = false;
};

struct Changes {
  Revision revision = 0;
  std::vector<StoreWrite> writes;
};
// The history from the wanted revision on is gone: list again, then watch from there.
struct Compacted {
  Revision oldest = 0;
};
using WatchEvent = std::variant<Changes, Compacted>;
using WatchId = std::uint64_t;

// The records alone, for those who need no leases and no watches.
class Records {
 public:
  virtual ~Records() = default;

  virtual void get(std::string key, std::function<void(Result<Record>)> sink) = 0;  // kNotFound
  virtual void list(std::string prefix, std::function<void(Result<Snapshot>)> sink) = 0;
  // The revision of the commit; kAborted when a condition does not hold, kFailedPrecondition when the fence is gone.
  virtual void commit(Transaction transaction, std::function<void(Result<Revision>)> sink) = 0;
};

class Store : public Records {
 public:
  // A lease ends when it was not kept alive for its time to live, or by revoke.
  virtual void grant_lease(Duration time_to_live, std::function<void(Result<LeaseId>)> sink) = 0;
  virtual void keep_alive(LeaseId lease, std::function<void(Status)> sink) = 0;  // kNotFound
  virtual void revoke(LeaseId lease, std::function<void(Status)> sink) = 0;      // kNotFound

  // Tells every commit below the prefix after `after`, in order, until unwatch().
  virtual WatchId watch(std::string prefix, Revision after,
                        std::function<void(WatchEvent)> sink) = 0;
  virtual void unwatch(WatchId watch) = 0;
};

}  // namespace tiphys::shell
