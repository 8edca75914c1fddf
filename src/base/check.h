#pragma once

// TIPHYS_CHECK states what must hold whatever the input was, in release builds too. A failed check
// is a bug of ours: it prints the sentence and the place, and ends the process. Bad input is never
// a check.

namespace tiphys {

[[noreturn]] void check_failed(const char* condition, const char* sentence, const char* file,
                               int line);

}  // namespace tiphys

#define TIPHYS_CHECK(condition, sentence) \
  ((condition) ? static_cast<void>(0)     \
               : ::tiphys::check_failed(#condition, sentence, __FILE__, __LINE__))
