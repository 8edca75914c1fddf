#include "io/store/transaction_check.h"

#include <set>
#include <string>
#include <string_view>

#include "base/strings.h"

namespace tiphys::store {

Status check_form(const shell::Transaction& transaction) {
  if (transaction.bind_to_lease && !transaction.fence)
    return fail(Code::kInvalidArgument, "a transaction binds its writes to no lease");
  std::set<std::string_view> keys;
  for (const auto& write : transaction.writes) {
    if (write.key.empty()) return fail(Code::kInvalidArgument, "a transaction writes an empty key");
    if (!keys.insert(write.key).second)
      return fail(Code::kInvalidArgument,
                  concat("a transaction writes the key '", write.key, "' twice"));
  }
  return {};
}

Status check_condition(const shell::Condition& condition, shell::Revision version) {
  if (version == condition.version) return {};
  return fail(Code::kAborted,
              concat("the key '", condition.key, "' has version ", std::to_string(version),
                     " instead of ", std::to_string(condition.version)));
}

}  // namespace tiphys::store
