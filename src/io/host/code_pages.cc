#include "io/host/code_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

// From the linker: where the file's read-only part begins and where its code ends.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace tiphys::host {

void release_code_pages() {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(&etext) / page * page;
  if (end <= begin) return;
  // Nothing was ever written there, so nothing is lost; whoever refuses it leaves us as we were.
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tiphys::host
