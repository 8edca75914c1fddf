#pragma once

// What a container engine's command line says of a container's output, as lines on the strand:
//
//   strand ── follow ──▶ program ── pipes ──▶ lines ── batches ──▶ strand ── continue_with ──▶ …
//
// Lines are gathered for a tenth of a second or up to 64 KiB, whichever comes first. While a batch has not been asked past,
// one more is gathered and then nothing is read any more: a slow reader makes the program wait, and each follower costs
// bounded memory. Programs run beside whatever else the engine is asked, so that followers hold up nobody; there is a limit
// to their number.
//
// Both outputs of the program count, so that its complaints reach whoever wanted the logs.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "io/host/process.h"
#include "shell/log_stream.h"
#include "shell/strand.h"

namespace tiphys::commands {

inline constexpr std::size_t kMaxFollowers = 256;
inline constexpr Duration kLongestBatchWait = std::chrono::milliseconds(100);
// Of text, where each line counts for what it costs besides.
inline constexpr std::size_t kBatchBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kLineOverhead = 64;

// podman and nerdctl are asked alike. General options of a workload have no part in it.
std::vector<std::string> logs_arguments(const shell::LogOptions& options,
                                        const std::string& container);

class LogFollower {
 public:
  struct Settings {
    std::string program;
    std::map<std::string, std::string> environment = {};  // besides ours
    std::vector<host::ResourceLimit> limits = {};
    std::size_t max_followers = kMaxFollowers;
  };

  // Works on the executor of an io_context with one thread.
  LogFollower(boost::asio::any_io_executor executor, shell::Strand& strand, Settings settings);
  // Once the strand has stopped, and on the executor or once that has stopped too. The programs are killed and nobody is
  // told any more.
  ~LogFollower();
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

  // On the strand:

  // Tells one batch, the next ones each after continue_with(), and the end behind the last. A program that cannot be
  // started or fails, or one too many, is an end with an error.
  shell::LogStream follow(std::vector<std::string> arguments,
                          std::function<void(shell::LogEvent)> sink);
  void continue_with(shell::LogStream stream);
  // Kills the program; nothing more is told.
  void end(shell::LogStream stream);

 private:
  class Sinks;
  class Reader;

  const boost::asio::any_io_executor executor_;
  shell::Strand& strand_;
  const std::size_t max_followers_;
  shell::LogStream last_ = 0;
  std::shared_ptr<Sinks> sinks_;    // on the strand
  std::shared_ptr<Reader> reader_;  // on the executor
};

}  // namespace tiphys::commands
