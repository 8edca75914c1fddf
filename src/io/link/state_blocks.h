#pragma once

// The workload states for agents that come, in blocks that are encoded once for all of them. After a restart of the
// server a thousand agents come within a second, and each is told nearly the same.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "io/rpc/http_stream.h"
#include "model/messages.h"

namespace tiphys::link {

class StateBlocks {
 public:
  // A block ends with the agent that brings it to so many workloads.
  static constexpr std::size_t kWorkloads = 256;

  explicit StateBlocks(const boost::asio::any_io_executor& executor,
                       Duration keep = std::chrono::seconds(5))
      : timer_(executor), keep_(keep) {}

  // The messages that say it, in order. The block with the recipient's own states is encoded for it alone.
  [[nodiscard]] std::vector<rpc::Payload> messages(const StatesOfOthers& others);
  // How many blocks are kept. They go when nobody has asked for `keep`.
  [[nodiscard]] std::size_t kept() const { return blocks_.size(); }

 private:
  using Agents = std::vector<std::pair<std::string, Tree>>;  // name -> its part of the states
  struct Block {
    Agents agents;
    std::shared_ptr<const std::string> body;
  };

  void add(const StatesOfOthers& others, Agents agents, std::vector<rpc::Payload>& messages);
  void forget_later();

  std::map<std::string, Block> blocks_;  // by the first agent
  boost::asio::steady_timer timer_;
  const Duration keep_;
};

}  // namespace tiphys::link
