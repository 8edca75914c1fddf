// Preloaded into a program, it shows another wall clock: as many seconds later or earlier as the file says that OTHER_CLOCK
// names, read at every look. The clocks that only measure are left alone.

#include <dlfcn.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

time_t shift() {
  const auto* path = std::getenv("OTHER_CLOCK");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return 0;
  long seconds = 0;
  if (std::fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  std::fclose(file);
  return seconds;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Under the names of the C library, for the linker only: its own declarations stay as they are.
extern "C" {
int shifted_clock_gettime(clockid_t clock, timespec* now) noexcept asm("clock_gettime");
int shifted_gettimeofday(timeval* now, void* zone) noexcept asm("gettimeofday");
time_t shifted_time(time_t* result) noexcept asm("time");
}

int shifted_clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const kOriginal = real<int(clockid_t, timespec*)>("clock_gettime");
  const int result = kOriginal(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += shift();
  return result;
}

int shifted_gettimeofday(timeval* now, void* zone) noexcept {
  static auto* const kOriginal = real<int(timeval*, void*)>("gettimeofday");
  const int result = kOriginal(now, zone);
  if (result == 0) now->tv_sec += shift();
  return result;
}

time_t shifted_time(time_t* result) noexcept {
  timespec now{};
  shifted_clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}
