#pragma once

// Notices the end of containers through their processes: a pidfd on the first process, then the exit code from the file
// that its keeper leaves a moment later. Runs on one executor's thread; nothing wakes up while nothing happens.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/instant.h"
#include "io/runtimes/commands/keeper.h"
#include "shell/engine.h"

namespace tiphys::commands {

// For how long the exit file is awaited once the process is gone; it takes conmon about 2 ms.
inline constexpr Duration kExitFilePatience = std::chrono::milliseconds(200);
// podman's clean-up takes the file away after some 50 ms, so it must not be looked for too rarely.
inline constexpr Duration kExitFilePause = std::chrono::milliseconds(1);

// Descriptors that are left to others, or half of all where there are few: without any, no engine could even be asked.
inline constexpr int kReservedDescriptors = 100;

struct ContainerExit {
  int exit_code = 0;
  bool out_of_memory = false;

  friend bool operator==(const ContainerExit&, const ContainerExit&) = default;
};

enum class Watching : std::uint8_t {
  kYes,
  kGone,        // there is no such process any more, or it is not the container's
  kImpossible,  // this machine does not let us, or the descriptors are needed for other things
};

class ExitWatcher {
 public:
  // Told once for each process that is watched: nothing when there is no exit file.
  using Ended = std::function<void(const shell::ContainerId&, std::optional<ContainerExit>)>;

  ExitWatcher(boost::asio::any_io_executor executor, ReadKeeper read_keeper, Ended ended);
  ~ExitWatcher();
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;

  // Watches that process and none of that container that came before it.
  Watching watch(const shell::ContainerId& container, pid_t process);
  void forget(const shell::ContainerId& container);

  // Where the processes of containers stand that the engine has not told of yet.
  std::optional<pid_t> find_process(const shell::ContainerId& container);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::commands
