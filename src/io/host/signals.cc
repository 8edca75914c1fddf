#include "io/host/signals.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace tiphys::host {
namespace {

std::string_view name_of(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "a signal";
  }
}

}  // namespace

void prepare_process() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  ::mallopt(M_ARENA_MAX, 1);
  // The lowest free number is taken, so the loop ends with the first one above standard error.
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

EndSignal::EndSignal(const boost::asio::any_io_executor& executor,
                     std::function<void(std::string_view name)> told)
    : signals_(executor, SIGTERM, SIGINT, SIGHUP) {
  signals_.async_wait([this, told = std::move(told)](boost::system::error_code error, int signal) {
    if (error) return;
    signals_.clear();
    told(name_of(signal));
  });
}

}  // namespace tiphys::host
