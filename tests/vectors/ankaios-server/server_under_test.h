#pragma once

// A whole server in this process, from the link to the machine, and the peers of a recorded scenario that talk to it over
// connections in memory. Everything runs on the caller's thread and time stands still, so that "nothing more arrives"
// is a fact: nobody has anything left to do.

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/link/link_server.h"
#include "io/link/test_link.h"
#include "io/rpc/channel.h"
#include "io/rpc/memory/memory_network.h"
#include "io/rpc/server.h"
#include "io/store/memory_store.h"
#include "json_messages.h"
#include "shell/server_shell.h"

namespace tiphys::vectors {

// What a peer got since it was last asked.
struct Window {
  std::vector<Json> messages;
  std::optional<Json> closed;  // {"code", "message"}, when the call has ended
};

class ServerUnderTest {
 public:
  // Starts with this manifest, if any.
  explicit ServerUnderTest(const std::optional<std::string>& manifest);
  ~ServerUnderTest();
  ServerUnderTest(const ServerUnderTest&) = delete;
  ServerUnderTest& operator=(const ServerUnderTest&) = delete;

  // Why it could not start; empty when it runs.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  // A new peer on a connection of its own; `hello` is its first message, if it says one.
  void open(const std::string& peer, std::string_view method,
            const std::optional<std::string>& hello);
  void send(const std::string& peer, std::string bytes);
  void half_close(const std::string& peer);
  void cancel(const std::string& peer);
  void cut(const std::string& peer);
  // From now on no bytes pass in either direction.
  void stall(const std::string& peer);

  // Lets everybody do what there is to do.
  void settle();
  Window take(const std::string& peer);

 private:
  struct StandingClock final : shell::Clock {
    [[nodiscard]] Instant now() const override { return {}; }
  };
  struct NoTimers final : shell::Timers {
    void after(Duration, std::function<void()>) override {}
  };
  struct NoTrace final : shell::Trace {
    [[nodiscard]] bool enabled() const override { return false; }
    void event(std::string_view, const std::string&) override {}
    void effect(std::string_view, const std::string&) override {}
  };
  struct Peer {
    std::unique_ptr<rpc::memory::Network> network;
    std::unique_ptr<rpc::Channel> channel;
    std::shared_ptr<rpc::ClientCall> call;
    Window window;
    bool is_stalled = false;
  };

  boost::asio::io_context io_{1};
  link::QueuedStrand strand_;
  StandingClock clock_;
  NoTimers timers_;
  NoTrace trace_;
  link::RecordingLog log_;
  std::optional<shell::ServerShell> shell_;
  store::MemoryStore store_{strand_, clock_, timers_};
  link::LinkServer link_;
  rpc::Server rpc_server_{io_.get_executor(), log_};
  std::map<std::string, std::shared_ptr<Peer>> peers_;
  std::string refusal_;
};

}  // namespace tiphys::vectors
