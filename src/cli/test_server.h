#pragma once

// Servers for tests, on threads of their own and a port that the system chooses: one that does what a
// test tells it, and one with the real machine behind it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/host/tls_files.h"
#include "io/rpc/status.h"
#include "model/extension.h"
#include "model/messages.h"

namespace tiphys::cli {

// A commander's stream, as a script sees it.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void send(FromServer message) = 0;
  virtual void end(rpc::Outcome outcome) = 0;
};

// How a scripted server behaves; each function may be left out.
struct Script {
  // Instead of taking the call.
  std::optional<rpc::Outcome> refusal;
  // Without it the server speaks plain text.
  std::optional<host::TlsMaterial> tls;
  // Takes no call and refuses none.
  bool is_silent = false;
  // Once the call is taken.
  std::function<void(Visitor&)> on_hello;
  std::function<void(Visitor&, const Request&)> on_request;
  // Without it the server does not know dry runs, as stock.
  std::function<DryRunResponse(const DryRunRequest&)> on_dry_run;
  // Without it the server does not know how long states last, as stock.
  std::function<StateAgesResponse(const StateAgesRequest&)> on_state_ages;
};

class ScriptedServer {
 public:
  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] const std::string& url() const;
  // What commanders said so far, after their hellos.
  [[nodiscard]] std::vector<ToServer> heard() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Without agents; its state is gone with it.
class MachineServer {
 public:
  // The manifest must be good.
  explicit MachineServer(const std::string& startup_manifest);
  ~MachineServer();
  MachineServer(const MachineServer&) = delete;
  MachineServer& operator=(const MachineServer&) = delete;

  [[nodiscard]] const std::string& url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiphys::cli
