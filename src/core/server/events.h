#pragma once

// Who wants to know of which changes, and what each of them is told.
//
// A subscription is a commander's connection, or a workload behind its agent, and the id of its request; the same id
// again takes the place of the former masks. A commander's subscriptions end with its connection. A workload's end with
// it, and with the loss of its agent, but not when the agent merely comes back on another stream.
//
// Subscribers with the same masks are told the same: it is put together once for all of them.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/alterations.h"
#include "model/messages.h"
#include "model/names.h"
#include "model/state.h"

namespace tiphys::server {

// Names one stream of a peer; never used twice, so that a late word of a replaced stream is recognised.
using ConnectionNumber = std::uint64_t;

// Of one peer, so that none can fill the memory.
inline constexpr std::size_t kMaxSubscriptions = 1'000;
inline constexpr std::size_t kMaxMaskBytes = std::size_t{1} << 20U;

struct Subscriber {
  // A workload has the first two, a commander the third.
  struct Peer {
    AgentName agent;
    WorkloadName workload;
    ConnectionNumber connection = 0;
    friend auto operator<=>(const Peer&, const Peer&) = default;
  };
  Peer peer;
  std::string
      request_id;  // as the peer's stream carries it, with the name of the workload in front
  friend auto operator<=>(const Subscriber&, const Subscriber&) = default;
};

Subscriber subscriber(ConnectionNumber commander, const std::string& request_id);
// Nothing when the id does not say which workload asks: "workload@id".
std::optional<Subscriber> subscriber(const AgentName& agent, const std::string& request_id);

struct News {
  std::vector<Subscriber> to;
  CompleteStateResponse content;
};

class Subscriptions {
 public:
  [[nodiscard]] bool empty() const { return subscriptions_.empty(); }
  [[nodiscard]] std::size_t size() const { return subscriptions_.size(); }

  // Fails when the peer would have too much of it.
  [[nodiscard]] Status check_room(const Subscriber& subscriber,
                                  const std::vector<std::string>& masks) const;
  void subscribe(const Subscriber& subscriber, std::vector<std::string> masks);
  void cancel(const Subscriber& subscriber);

  void drop_connection(ConnectionNumber commander);
  void drop_agent(const AgentName& agent);
  void drop_workload(const AgentName& agent, const WorkloadName& workload);

  // What is to be told when the state has become another one; nothing is computed when nobody asks.
  [[nodiscard]] std::vector<News> news(const CompleteState& before,
                                       const CompleteState& after) const;

 private:
  // All who gave the same masks.
  struct Group {
    Masks masks;
    std::set<Subscriber> members;
  };
  using Groups = std::map<std::vector<std::string>, Group>;
  struct Usage {
    std::size_t subscriptions = 0;
    std::size_t bytes = 0;
  };
  using Entry = std::map<Subscriber, Groups::iterator>::iterator;

  Entry end(Entry entry);
  template <class IsMeant>
  void drop_from(const Subscriber::Peer& first, const IsMeant& is_meant);

  Groups groups_;  // by their masks in ascending order
  std::map<Subscriber, Groups::iterator> subscriptions_;
  std::map<Subscriber::Peer, Usage> usage_;
};

}  // namespace tiphys::server
