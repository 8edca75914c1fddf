#pragma once

// Who collects logs. What is to be collected is the agents' part, and the engines'.

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

// Asks for logs of workloads, and cancels what has not ended after a while. Lines come for what was asked for, from the
// workload that they name, and none is missing between two of them.
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
  struct Open {
    std::map<InstanceName, std::uint64_t> accepted;  // the number of the last line
    std::set<InstanceName>
        waited_for;  // that have not stopped; nobody until the request is answered
  };

  void check(const std::string& id, Open& request, const LogEntry& entry);

  World& world_;
  const std::string prefix_;
  const Send send_;
  std::uint64_t requests_ = 0;
  std::map<std::string, Open> open_;
};

}  // namespace tiphys::sim
