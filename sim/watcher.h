#pragma once

// A commander that subscribes for events and keeps a view of the state: its first answer, and every event taken over.
// Now and then it reads the state anew, on the same stream: when the answer comes, its view has to be the same.

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "model/messages.h"
#include "model/tree.h"
#include "sim/network.h"
#include "sim/world.h"

namespace tiphys::sim {

class Watcher {
 public:
  Watcher(World& world, Network& network, std::string name, std::vector<std::string> masks);

  void connect();

  [[nodiscard]] const std::string& name() const { return name_; }
  // When its view was last found to be right.
  [[nodiscard]] Instant last_compared() const { return last_compared_; }

 private:
  enum class Phase : std::uint8_t { kAway, kSubscribing, kWatching, kCancelling };

  void subscribe();
  void read();
  void received(const std::string& bytes);
  void answered(const Response& response);
  void take_over(const CompleteStateResponse& event);
  void compare(const Tree& read);

  World& world_;
  Network& network_;
  const std::string name_;
  const std::vector<std::string> masks_;
  ConnectionNumber connection_ = 0;
  Phase phase_ = Phase::kAway;
  Tree view_{Tree::Map()};
  Instant last_compared_{};
};

// Once the faults are over it compares at least this often.
inline constexpr Duration kLongestReadPause = minutes(6);

// The masks of the watchers of a run: everything, parts, one workload, single fields of all.
std::vector<std::vector<std::string>> masks_of_watchers();

}  // namespace tiphys::sim
