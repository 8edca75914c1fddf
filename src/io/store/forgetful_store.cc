#include "io/store/forgetful_store.h"

#include <utility>

#include "base/strings.h"
#include "io/store/transaction_check.h"

namespace tiphys::store {

using shell::Revision;

void ForgetfulStore::get(std::string key, std::function<void(Result<shell::Record>)> sink) {
  strand_.post([key = std::move(key), sink = std::move(sink)] {
    sink(fail(Code::kNotFound, concat("there is no key '", key, "'")));
  });
}

void ForgetfulStore::list(std::string, std::function<void(Result<shell::Snapshot>)> sink) {
  strand_.post(
      [revision = revision_, sink = std::move(sink)] { sink(shell::Snapshot{revision, {}}); });
}

void ForgetfulStore::commit(shell::Transaction transaction,
                            std::function<void(Result<Revision>)> sink) {
  strand_.post([result = execute(transaction), sink = std::move(sink)] { sink(result); });
}

Result<Revision> ForgetfulStore::execute(const shell::Transaction& transaction) {
  TIPHYS_REQUIRE(check_form(transaction));
  if (transaction.fence) return fail(Code::kFailedPrecondition, "this store grants no leases");
  for (const auto& condition : transaction.conditions)
    TIPHYS_REQUIRE(check_condition(condition, versions_[condition.key]));
  if (!transaction.writes.empty()) ++revision_;
  for (const auto& write : transaction.writes)
    if (const auto version = versions_.find(write.key); version != versions_.end())
      version->second = write.value ? revision_ : 0;
  return revision_;
}

}  // namespace tiphys::store
