#pragma once

// A whole server in this process, from the link to the machine, and the peers of a recorded scenario that talk to it over
// connections in memory. Everything runs on the caller's thread and time stands still, so that "nothing more arrives"
// is a fact: nobody has anything left to do.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/hooks/hook_runner.h"
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
  // Starts with this manifest, if any. Hooks are real programs, which run in that folder.
  explicit ServerUnderTest(const std::optional<std::string>& manifest,
                           std::vector<server::Hook> hooks = {}, const std::string& folder = {});
  ~ServerUnderTest();
  ServerUnderTest(const ServerUnderTest&) = delete;
  ServerUnderTest& operator=(const ServerUnderTest&) = delete;

  // Why it could not start; empty when it runs.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  // A new peer on a connection of its own; `hello` is its first message, if it says one.
  void open(const std::string& name, std::string_view method,
            const std::optional<std::string>& hello);
  void send(const std::string& name, std::string bytes);
  void half_close(const std::string& name);
  void cancel(const std::string& name);
  void cut(const std::string& name);
  // From now on no bytes pass in either direction.
  void stall(const std::string& name);

  // Lets everybody do what there is to do.
  void settle();
  Window take(const std::string& name);

 private:
  struct StandingClock final : shell::Clock {
    [[nodiscard]] Instant now() const override { return {}; }
  };
  // Knows whether a hook runs: the one thing here that takes time.
  struct CountingRunner final : shell::HookRunner {
    explicit CountingRunner(shell::HookRunner& wrapped) : inner(wrapped) {}
    void run(server::Hook hook, UpdateWorkload lists,
             std::function<void(server::HookAnswer)> done) override {
      ++running;
      inner.run(std::move(hook), std::move(lists),
                [this, done = std::move(done)](server::HookAnswer answer) {
                  --running;
                  done(std::move(answer));
                });
    }
    shell::HookRunner& inner;
    int running = 0;
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
  hooks::ProgramRunner programs_;
  CountingRunner hook_runner_{programs_};
  std::optional<shell::ServerShell> shell_;
  store::MemoryStore store_{strand_, clock_, timers_};
  link::LinkServer link_;
  rpc::Server rpc_server_{io_.get_executor(), log_};
  std::map<std::string, std::shared_ptr<Peer>> peers_;
  std::string refusal_;
};

}  // namespace tiphys::vectors
