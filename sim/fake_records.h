#pragma once

// The store of the simulated server: real versions and conditions, and while faults are on other writers, failures and
// answers that get lost. It remembers all it ever held, so that a checker can tell what was stored before it was sent.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shell/store.h"
#include "sim/mutation.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::sim {

class FakeRecords final : public shell::Records {
 public:
  FakeRecords(World& world, Mutation mutation) : world_(world), mutation_(mutation) {}

  // The process that calls and is answered.
  void attach(Process* process) { process_ = process; }
  // What a store in memory does when its process ends.
  void forget();

  // Every value that the key ever had, in order; an empty one stands for a deletion.
  [[nodiscard]] const std::vector<std::optional<Tree>>& history(const std::string& key) const;

  void get(std::string key, std::function<void(Result<shell::Record>)> sink) override;
  void list(std::string prefix, std::function<void(Result<shell::Snapshot>)> sink) override;
  void commit(shell::Transaction transaction,
              std::function<void(Result<shell::Revision>)> sink) override;

 private:
  template <class T>
  void answer(std::function<void(T)> sink, T value);
  Result<shell::Revision> execute(const shell::Transaction& transaction);
  void write(const shell::StoreWrite& written);
  void write_as_somebody_else(const std::string& head);

  World& world_;
  const Mutation mutation_;
  Process* process_ = nullptr;
  shell::Revision revision_ = 0;
  std::map<std::string, shell::Record> records_;
  std::map<std::string, std::vector<std::optional<Tree>>> history_;
};

}  // namespace tiphys::sim
