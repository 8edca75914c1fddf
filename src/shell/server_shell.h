#pragma once

// The server's machine between its store and its link.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/server/server_machine.h"
#include "shell/actor.h"
#include "shell/hooks.h"
#include "shell/link.h"
#include "shell/store.h"

namespace tiphys::shell {

class ServerShell {
 public:
  // `on_fatal` is told why the server cannot go on; nothing happens after that.
  ServerShell(Strand& strand, Clock& clock, Timers& timers, Trace& trace, Log& log, Records& store,
              ServerLink& link, std::function<void(std::string)> on_fatal, Hooks hooks = {});

  void start(std::optional<State> manifest) { actor_.tell(server::Start{std::move(manifest)}); }
  void opened(server::Opened event) { actor_.tell(std::move(event)); }
  void closed(server::ConnectionNumber connection) { actor_.tell(server::Closed{connection}); }
  // False when so much waits that the link should stop reading this stream for a while; the message was not taken.
  [[nodiscard]] bool received(server::ConnectionNumber connection, ToServer&& message) {
    return !actor_.is_full() && actor_.try_tell(server::Received{connection, std::move(message)});
  }

  // The same for questions of our own tools.
  [[nodiscard]] bool dry_run_asked(server::ConnectionNumber call, DryRunRequest&& request) {
    return !actor_.is_full() && actor_.try_tell(server::DryRunAsked{call, std::move(request)});
  }
  [[nodiscard]] bool state_ages_asked(server::ConnectionNumber call, StateAgesRequest&& request) {
    return !actor_.is_full() && actor_.try_tell(server::StateAgesAsked{call, std::move(request)});
  }

  [[nodiscard]] const CompleteState& state() const { return machine_.state(); }
  [[nodiscard]] const server::LogCampaigns& log_campaigns() const {
    return machine_.log_campaigns();
  }

 private:
  void perform(server::Effect effect);
  void load(const server::Load& effect);
  void commit(server::Commit effect);

  HookRunner* const hook_runner_;
  server::ServerMachine machine_;
  Timers& timers_;
  Log& log_;
  Records& store_;
  ServerLink& link_;
  const std::function<void(std::string)> on_fatal_;
  bool ended_ = false;  // by something fatal
  Actor<server::Event, server::Effect> actor_;
};

// Where the wanted state lives in a store. The head carries the version of the whole.
inline constexpr const char* kDesiredPrefix = "desired/";
inline constexpr const char* kDesiredHead = "desired/head";

}  // namespace tiphys::shell
