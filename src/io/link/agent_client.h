#pragma once

// An agent's end of its link: keeps one call to the server open, introduces the agent on each, and carries messages
// between the server and the machine.
//
//   waiting --1 s--> calling --headers--> connected --end--> waiting
//                       \--refused, unreachable--^
//
// A server that speaks another version is the only thing that ends it.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/rpc/channel.h"
#include "model/messages.h"
#include "shell/link.h"
#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::link {

// What the machine hears, on the strand.
struct AgentEvents {
  std::function<void()> connected;
  std::function<void(bool cleanly)> disconnected;  // cleanly: the server ended the call with OK
  // False when the mailbox is full; then the message was not taken.
  std::function<bool(FromServer&&)> received;
  // Nothing follows.
  std::function<void(std::string)> fatal;
};

struct AgentClientOptions {
  AgentHello hello;
  Duration pause = std::chrono::seconds(1);        // between two attempts, a fifth more or less
  Duration acceptance = std::chrono::seconds(20);  // until the server answers the hello
};

// [impl->swdd~communication-to-from-agent-middleware~1]
// [impl->swdd~agent-default-communication-grpc~1]
class AgentClient final : public shell::AgentLink {
 public:
  // The connector makes connections for `io`. Goes after the strand and io have stopped, and before the log.
  AgentClient(boost::asio::any_io_executor io, shell::Strand& strand, shell::Log& log,
              std::unique_ptr<rpc::Connector> connector, std::vector<std::string> urls,
              AgentClientOptions options, AgentEvents events);
  // Ends the call without a goodbye: a stock server would keep an agent that says one.
  ~AgentClient() override;
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  // On io, once.
  void start();

  // On the strand. A message that was meant for a connection which has ended is dropped: the machine was, or will be,
  // told so.
  void send(const ToServer& message) override;
  // Taken: the call has room for it, or it was dropped.
  void send(const ToServer& message, std::function<void()> taken) override;

  struct Impl;

 private:
  const std::shared_ptr<void> life_ = std::make_shared<int>();  // who still may be told anything
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::link
