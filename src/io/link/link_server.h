#pragma once

// The server's end of all links: takes the calls of agents and commanders, checks how they introduce themselves, and
// carries messages between them and the machine.
//
//   call --first message--> checked --accepted--> open --end of either side--> closed
//                              \--refused: the call ends with the reason
//
// The connection's number names the call, not the peer: whatever happens late to a replaced call cannot be mistaken. Any
// end of an agent's stream counts as the agent's leave: half a close, a goodbye, a cancelled call, a lost connection.
// A peer that does not read is cut off when too much waits for it; it may come back and is told everything anew.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "core/server/server_machine.h"
#include "io/rpc/server.h"
#include "shell/link.h"
#include "shell/log.h"
#include "shell/strand.h"

namespace tiphys::link {

// What the machine hears, on the strand.
struct ServerEvents {
  std::function<void(server::Opened)> opened;
  std::function<void(server::ConnectionNumber)> closed;
  // False when the mailbox is full; then the message was not taken.
  std::function<bool(server::ConnectionNumber, ToServer&&)> received;
  // The same for questions of our own tools, answered by answer(). Without them they are told that there is no such service.
  std::function<bool(server::ConnectionNumber, DryRunRequest&&)> dry_run_asked = nullptr;
  std::function<bool(server::ConnectionNumber, StateAgesRequest&&)> state_ages_asked = nullptr;
};

class LinkServer final : public shell::ServerLink {
 public:
  // `io` is where calls live. Goes after the strand and io have stopped, and before the log.
  LinkServer(boost::asio::any_io_executor io, shell::Strand& strand, shell::Log& log,
             ServerEvents events);
  ~LinkServer() override;
  LinkServer(const LinkServer&) = delete;
  LinkServer& operator=(const LinkServer&) = delete;

  // The methods that it serves, for a listener of any kind. On the io executor.
  [[nodiscard]] rpc::ListenOptions listen_options();

  // On the strand.
  void send(server::ConnectionNumber connection, const FromServer& message) override;
  void send_all(server::SendAll message) override;
  void publish(server::Publish news) override;
  void close(server::ConnectionNumber connection) override;
  void answer(server::ConnectionNumber call, const DryRunResponse& response) override;
  void answer(server::ConnectionNumber call, const StateAgesResponse& response) override;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::link
