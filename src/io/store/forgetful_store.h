#pragma once

// The store of a server that keeps nothing beyond its process. The server's machine holds the wanted state anyway; the
// memory store would hold it a second time, 190 bytes a workload, for nobody to read. So a commit is answered as any
// store would answer it, and what it writes is forgotten: get and list find what a fresh process finds, nothing.
//
// Conditions hold as elsewhere: the versions of the keys that they name are all it remembers.

#include <functional>
#include <map>
#include <string>

#include "shell/store.h"
#include "shell/strand.h"

namespace tiphys::store {

class ForgetfulStore final : public shell::Records {
 public:
  explicit ForgetfulStore(shell::Strand& strand) : strand_(strand) {}

  void get(std::string key, std::function<void(Result<shell::Record>)> sink) override;
  void list(std::string prefix, std::function<void(Result<shell::Snapshot>)> sink) override;
  void commit(shell::Transaction transaction,
              std::function<void(Result<shell::Revision>)> sink) override;

 private:
  Result<shell::Revision> execute(const shell::Transaction& transaction);

  shell::Strand& strand_;
  shell::Revision revision_ = 0;
  std::map<std::string, shell::Revision> versions_;  // of the keys that conditions name
};

}  // namespace tiphys::store
