#pragma once

// A server that is measured: a process of its own, killed when this goes.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tiphys::bench {

// Runs the program to its end, and answers with the number that it prints.
Result<double> number_printed_by(const std::vector<std::string>& command);

class ServerProcess {
 public:
  // Starts the program and waits until it has printed its port.
  static Result<ServerProcess> start(const std::string& program);
  ~ServerProcess();
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // All threads, since the start.
  [[nodiscard]] double cpu_seconds() const;
  struct Memory {
    double
        all_bytes;  // proportional set size: its own pages, and its share of those that others have too
    double own_bytes;  // written by it: what a second process of the same program costs
  };
  [[nodiscard]] Result<Memory> memory() const;

 private:
  ServerProcess(pid_t pid, std::uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_;
  std::uint16_t port_;
};

}  // namespace tiphys::bench
