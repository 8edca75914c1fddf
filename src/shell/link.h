#pragma once

// The link port: how the server reaches its peers and an agent its server. What peers say comes back as events.

#include <functional>
#include <utility>

#include "core/server/server_machine.h"
#include "model/extension.h"
#include "model/messages.h"

namespace tiphys::shell {

// [impl->swdd~communication-to-from-server-middleware~1]
class ServerLink {
 public:
  virtual ~ServerLink() = default;
  // A message for a connection that has ended is dropped: its end is told as an event.
  virtual void send(server::ConnectionNumber connection, const FromServer& message) = 0;
  // The same for many: encoded once, and no copy for each.
  virtual void send_all(server::SendAll message) = 0;
  virtual void publish(server::Publish news) = 0;
  virtual void close(server::ConnectionNumber connection) = 0;
  virtual void answer(server::ConnectionNumber call, const DryRunResponse& response) = 0;
  virtual void answer(server::ConnectionNumber call, const StateAgesResponse& response) = 0;
};

class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void send(const ToServer& message) = 0;
  // For messages of which there is always another: `taken` is told on the strand, once, when this one is on its way or
  // dropped. A link that never keeps messages waiting has nothing more to do.
  virtual void send(const ToServer& message, std::function<void()> taken) {
    send(message);
    std::exchange(taken, nullptr)();
  }
};

}  // namespace tiphys::shell
