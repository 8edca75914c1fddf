#pragma once

// Runs hooks as programs: the lists go to standard input, what comes from standard output takes their place.
//
//   exit 0, same bytes     unchanged
//   exit 0, other bytes    changed; no bytes at all are two empty lists
//   any other end          a veto, with the words from standard error
//
// A hook cannot hold up the server for long: after a while it is ended, with its whole group, and what it writes beyond a
// limit fails it. One that does not read its input does nothing wrong.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/instant.h"
#include "shell/hooks.h"
#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::hooks {

// Of one hook, for one update.
inline constexpr Duration kHookTime = std::chrono::seconds(10);
inline constexpr std::size_t kHookOutput = std::size_t{16} << 20U;

struct Limits {
  Duration time = kHookTime;
  std::size_t output = kHookOutput;
};

class ProgramRunner final : public shell::HookRunner {
 public:
  // `io` is where programs are started and watched. Goes on its thread or after it has stopped, and after the strand has
  // stopped; hooks that still run are killed then. They run in the given directory; empty: ours.
  ProgramRunner(boost::asio::any_io_executor io, shell::Strand& strand, shell::Log& log,
                Limits limits = {}, std::string directory = {});
  ~ProgramRunner() override;
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  // On the strand.
  void run(server::Hook hook, UpdateWorkload lists,
           std::function<void(server::HookAnswer)> done) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::hooks
