#pragma once

// Both ends of log campaigns: who collects, and the agents' part until their machine has one of its own.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/messages.h"
#include "model/state.h"
#include "sim/world.h"

namespace tiphys::sim {

// Asks for logs of workloads, and cancels what has not ended after a while.
class LogCollector {
 public:
  using Send = std::function<void(const ToServer&)>;
  // Its request ids begin with the prefix.
  LogCollector(World& world, std::string prefix, Send send)
      : world_(world), prefix_(std::move(prefix)), send_(std::move(send)) {}

  // For some of what exists, now and then for what does not.
  void ask(const CompleteState& state);
  // False for a response that is not one of its own.
  bool received(const Response& response);
  // Its requests are forgotten, as the server has to forget them.
  void disconnected() { open_.clear(); }

  // Requests that were neither stopped nor cancelled.
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  World& world_;
  const std::string prefix_;
  const Send send_;
  std::uint64_t requests_ = 0;
  // Who has not stopped; a request that was not answered yet waits for nobody.
  std::map<std::string, std::set<InstanceName>> open_;
};

// Answers log requests with entries. It stops by itself unless it is to follow; then only a cancel ends it.
class LogProvider {
 public:
  using Send = std::function<void(const ToServer&)>;
  LogProvider(World& world, Send send) : world_(world), send_(std::move(send)) {}

  // False for a message that is not about logs.
  bool received(const FromServer& message);
  void disconnected() { open_.clear(); }

  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  using Stream = std::pair<std::string, InstanceName>;  // full id of the request, workload

  void begin(const LinkLogsRequest& request);
  void write(const Stream& stream, std::uint64_t serial, std::uint64_t entries);

  World& world_;
  const Send send_;
  std::uint64_t last_serial_ = 0;
  std::map<Stream, std::uint64_t>
      open_;  // serial: a timer of a stream that ended before finds another one
};

}  // namespace tiphys::sim
