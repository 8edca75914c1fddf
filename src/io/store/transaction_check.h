#pragma once

// What every store in this process refuses, in the same words.

#include "base/result.h"
#include "shell/store.h"

namespace tiphys::store {

// The form: no empty key, no key twice, no binding without a lease.
Status check_form(const shell::Transaction& transaction);
// A condition against the version that its key has.
Status check_condition(const shell::Condition& condition, shell::Revision version);

}  // namespace tiphys::store
