#include "model/messages.h"

#include <algorithm>

namespace tiphys {
namespace {

bool equal(const std::vector<WorkloadSpecPtr>& a, const std::vector<WorkloadSpecPtr>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const WorkloadSpecPtr& x, const WorkloadSpecPtr& y) { return x == y || *x == *y; });
}

}  // namespace

bool operator==(const ServerHello& a, const ServerHello& b) { return equal(a.added, b.added); }

bool operator==(const UpdateWorkload& a, const UpdateWorkload& b) {
  return equal(a.added, b.added) && a.deleted == b.deleted;
}

}  // namespace tiphys
