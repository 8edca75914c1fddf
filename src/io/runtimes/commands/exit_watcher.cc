#include "io/runtimes/commands/exit_watcher.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <limits>
#include <map>
#include <utility>

#include "io/host/descriptor.h"

namespace tiphys::commands {

namespace asio = boost::asio;

namespace {

using ErrorCode = boost::system::error_code;

int most_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const auto all =
      static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
  return std::max(all - kReservedDescriptors, all / 2);
}

}  // namespace

struct ExitWatcher::Impl : std::enable_shared_from_this<Impl> {
  struct Watch {
    Watch(const asio::any_io_executor& executor, int pidfd, pid_t watched, Keeper of)
        : end(executor, pidfd), pause(executor), process(watched), keeper(std::move(of)) {}

    // A file that was there while the process still ran is of an earlier run and says nothing.
    [[nodiscard]] std::optional<ContainerExit> exit() const {
      const auto code = had_exit_code ? std::nullopt : read_exit_code(keeper);
      if (!code) return std::nullopt;
      return ContainerExit{*code, !had_out_of_memory && ran_out_of_memory(keeper)};
    }

    asio::posix::stream_descriptor end;
    asio::steady_timer pause;
    asio::steady_timer::time_point patience_ends{};
    const pid_t process;
    const Keeper keeper;
    const bool has_exit_code = read_exit_code(keeper).has_value();
    const bool has_out_of_memory = ran_out_of_memory(keeper);
    const bool runs = !host::is_ready(end.native_handle(), POLLIN);  // after the look at the files
    const bool had_exit_code = has_exit_code && runs;
    const bool had_out_of_memory = has_out_of_memory && runs;
  };
  using WatchPtr = std::shared_ptr<Watch>;

  Impl(asio::any_io_executor runs_on, ReadKeeper reader, Ended sink)
      : executor(std::move(runs_on)),
        read_keeper(std::move(reader)),
        ended(std::move(sink)),
        processes(read_keeper) {}

  [[nodiscard]] bool is_current(const WatchPtr& watch) const {
    const auto found = watches.find(watch->keeper.container);
    return found != watches.end() && found->second == watch;
  }

  void listen(const WatchPtr& watch) {
    watch->end.async_wait(asio::posix::stream_descriptor::wait_read,
                          [weak = weak_from_this(), watch](const ErrorCode& error) {
                            const auto self = weak.lock();
                            if (!self || error || !self->is_current(watch)) return;
                            if (!host::is_ready(watch->end.native_handle(), POLLIN))
                              return self->listen(watch);
                            watch->patience_ends =
                                asio::steady_timer::clock_type::now() + kExitFilePatience;
                            self->look_for_exit_file(watch);
                          });
  }

  void look_for_exit_file(const WatchPtr& watch) {
    const auto exit = watch->exit();
    if (exit || watch->keeper.exit_file.empty() ||
        asio::steady_timer::clock_type::now() >= watch->patience_ends) {
      const auto container = watch->keeper.container;
      watches.erase(container);
      return ended(container, exit);
    }
    watch->pause.expires_after(kExitFilePause);
    watch->pause.async_wait([weak = weak_from_this(), watch](const ErrorCode& error) {
      const auto self = weak.lock();
      if (self && !error && self->is_current(watch)) self->look_for_exit_file(watch);
    });
  }

  const asio::any_io_executor executor;
  const ReadKeeper read_keeper;
  const Ended ended;
  std::map<shell::ContainerId, WatchPtr> watches;
  ContainerProcesses processes;
};

ExitWatcher::ExitWatcher(asio::any_io_executor executor, ReadKeeper read_keeper, Ended ended)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(read_keeper), std::move(ended))) {
}

ExitWatcher::~ExitWatcher() {
  while (!impl_->watches.empty()) forget(impl_->watches.begin()->first);
}

Watching ExitWatcher::watch(const shell::ContainerId& container, pid_t process) {
  if (const auto found = impl_->watches.find(container); found != impl_->watches.end()) {
    if (found->second->process == process) return Watching::kYes;
    forget(container);
  }
  const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (pidfd < 0) return errno == ESRCH ? Watching::kGone : Watching::kImpossible;
  if (pidfd >= most_descriptors()) {  // the lowest free number: all below are in use
    ::close(pidfd);
    return Watching::kImpossible;
  }
  // Only now is it certain that the number is not given to another process while we look at it.
  auto keeper = keeper_above(process, impl_->read_keeper);
  if (!keeper || keeper->container != container) {
    ::close(pidfd);
    return Watching::kGone;
  }
  impl_->processes.learn(*keeper);
  auto watch = std::make_shared<Impl::Watch>(impl_->executor, pidfd, process, *std::move(keeper));
  impl_->watches.emplace(container, watch);
  impl_->listen(watch);
  return Watching::kYes;
}

void ExitWatcher::forget(const shell::ContainerId& container) {
  const auto node = impl_->watches.extract(container);
  if (node.empty()) return;
  ErrorCode ignored;
  static_cast<void>(node.mapped()->end.close(ignored));
  node.mapped()->pause.cancel();
}

std::optional<pid_t> ExitWatcher::find_process(const shell::ContainerId& container) {
  return impl_->processes.find(container);
}

}  // namespace tiphys::commands
