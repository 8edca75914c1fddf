#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tiphys {

void check_failed(const char* condition, const char* sentence, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, sentence, condition);
  std::abort();
}

}  // namespace tiphys
