#pragma once

// Streams between clients (agents, a commander) and the server. Messages pass as bytes, in order; while faults are on
// they are late or come twice, streams break with what is under way, and clients are cut off for a while. Both ends
// learn of a broken stream, each in its own time, so that a client may be back before the server has missed it.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/server/server_machine.h"
#include "sim/mutation.h"
#include "sim/world.h"

namespace tiphys::sim {

using server::ConnectionNumber;

// One end of a stream. Each function is told in the order of the stream; ended() is the last.
struct StreamEnd {
  std::function<void(const std::string& bytes)> received;
  std::function<void()> ended;
};

class Network {
 public:
  Network(World& world, Mutation mutation) : world_(world), mutation_(mutation) {}

  // `accept` gives the server's end, or nothing while the server is down.
  using Accept = std::function<bool(ConnectionNumber, StreamEnd&)>;
  void listen(Accept accept) { accept_ = std::move(accept); }

  // A new stream of that client, or 0 when the server cannot be reached.
  ConnectionNumber connect(const std::string& client, StreamEnd client_end);
  void send_to_server(ConnectionNumber connection, const std::string& bytes);
  void send_to_client(ConnectionNumber connection, std::string bytes);
  // Ends the stream after what was sent before: the server is done with it.
  void close(ConnectionNumber connection);

  // The process at one end was killed: its end hears nothing any more, the other end learns of it.
  void client_died(const std::string& client);
  void server_died();

  // Now and then something happens to a stream.
  void disturb();

 private:
  enum class Side : std::uint8_t { kServer, kClient };
  struct Stream {
    std::string client;
    StreamEnd server_end;
    StreamEnd client_end;
    bool open = true;  // messages pass
    Instant last_to_server;
    Instant last_to_client;
    std::string held_back;  // by the mutation that reorders
  };

  void deliver(ConnectionNumber connection, Side to, const std::string& bytes);
  Instant arrival(Stream& stream, Side to);
  void break_stream(ConnectionNumber connection);
  void tell_end(ConnectionNumber connection, Side side, Duration after);

  World& world_;
  const Mutation mutation_;
  Accept accept_;
  ConnectionNumber last_ = 0;
  std::map<ConnectionNumber, Stream> streams_;
  std::map<std::string, Instant> cut_off_until_;
};

}  // namespace tiphys::sim
