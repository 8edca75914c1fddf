#include "io/host/code_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

// From the linker: where the file's read-only part begins and where its code ends. The names are the linker's.
extern "C" const char
    __executable_start;       // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char etext;  // NOLINT(readability-identifier-naming)

namespace tiphys::host {

void release_code_pages() {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(&etext) / page * page;
  if (end <= begin) return;
  // Nothing was ever written there, so nothing is lost; whoever refuses it leaves us as we were.
  // The address is for the kernel alone, so no access through it could have been optimised.
  (void)madvise(reinterpret_cast<void*>(begin),  // NOLINT(performance-no-int-to-ptr)
                end - begin, MADV_DONTNEED);
}

}  // namespace tiphys::host
