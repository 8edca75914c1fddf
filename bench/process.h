#pragma once

// Programs that are measured: processes of their own, killed when their owner goes.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tiphys::bench {

// Runs the program to its end, and answers with the number that it prints.
Result<double> number_printed_by(const std::vector<std::string>& command);
// Runs the program to its end, and answers with what it printed; an error when it fails.
Result<std::string> output_of(const std::vector<std::string>& command);
// The same, and answers with the seconds that it took.
Result<double> seconds_of(const std::vector<std::string>& command);

class MeasuredProcess {
 public:
  // Standard error goes to the file, or nowhere.
  static Result<MeasuredProcess> start(const std::vector<std::string>& command,
                                       const std::string& log = "/dev/null");
  explicit MeasuredProcess(pid_t pid) : pid_(pid) {}
  ~MeasuredProcess();
  MeasuredProcess(MeasuredProcess&& other) noexcept;
  MeasuredProcess& operator=(MeasuredProcess&&) = delete;

  // All threads, since the start.
  [[nodiscard]] double cpu_seconds() const;
  // And what its children have used that have ended; to a hundredth of a second.
  [[nodiscard]] double cpu_seconds_with_children() const;
  struct Memory {
    double
        all_bytes;  // proportional set size: its own pages, and its share of those that others have too
    double own_bytes;  // written by it: what a second process of the same program costs
  };
  [[nodiscard]] Result<Memory> memory() const;
  struct Threads {
    double count = 0;
    double wake_ups = 0;  // since the start: how often a thread had waited and went on
  };
  [[nodiscard]] Result<Threads> threads() const;

 private:
  pid_t pid_;
};

// A process that serves on a port which it prints.
class ServerProcess {
 public:
  // Starts the program and waits until it has printed its port.
  static Result<ServerProcess> start(const std::string& program);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] double cpu_seconds() const { return process_.cpu_seconds(); }
  [[nodiscard]] Result<MeasuredProcess::Memory> memory() const { return process_.memory(); }

 private:
  ServerProcess(MeasuredProcess process, std::uint16_t port)
      : process_(std::move(process)), port_(port) {}

  MeasuredProcess process_;
  std::uint16_t port_;
};

}  // namespace tiphys::bench
