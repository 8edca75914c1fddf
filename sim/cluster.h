#pragma once

// A whole cluster in one process: a server with its store, agents with their engines, an operator who changes what is
// wanted, and a network between them. The machines and shells are the real ones.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shell/agent_shell.h"
#include "shell/engine_runtime.h"
#include "shell/link.h"
#include "shell/log.h"
#include "shell/server_shell.h"
#include "sim/fake_engine.h"
#include "sim/fake_folders.h"
#include "sim/fake_hooks.h"
#include "sim/fake_interfaces.h"
#include "sim/fake_records.h"
#include "sim/logs.h"
#include "sim/network.h"
#include "sim/order.h"
#include "sim/process.h"
#include "sim/world.h"

namespace tiphys::sim {

inline constexpr const char* kRuntime = "fake";
inline constexpr const char* kOwner = "ankaios";

// An error line fails the run; what is handled may be logged.
class SimLog final : public shell::Log {
 public:
  explicit SimLog(World& world) : world_(world) {}
  void write(shell::Level level, std::string_view text, Fields fields) override;

 private:
  World& world_;
};

class ServerNode final : public shell::ServerLink {
 public:
  ServerNode(World& world, Network& network, Mutation mutation, bool durable,
             std::optional<State> manifest, std::vector<server::Hook> hooks);

  void start();
  void kill();
  [[nodiscard]] const shell::ServerShell* shell() const { return life_ ? &life_->shell : nullptr; }
  [[nodiscard]] const FakeRecords& records() const { return records_; }

  void send(ConnectionNumber connection, const FromServer& message) override;
  void send_all(server::SendAll message) override;
  // Nobody asks for plans here.
  void answer(server::ConnectionNumber, const DryRunResponse&) override {}
  void answer(server::ConnectionNumber, const StateAgesResponse&) override {}
  void publish(server::Publish news) override;
  void close(ConnectionNumber connection) override;

 private:
  struct Life {
    Life(ServerNode& node);
    Process process;
    FakeHooks hooks;
    shell::ServerShell shell;
    std::set<ConnectionNumber> greeted;  // their first message has come
  };

  bool accept(ConnectionNumber connection, StreamEnd& end);
  void received(ConnectionNumber connection, const std::string& bytes);
  void check_stored(const FromServer& message);
  void check_stored(const WorkloadSpec& spec);

  World& world_;
  Network& network_;
  const Mutation mutation_;
  SimLog log_;
  FakeRecords records_;
  const bool durable_;
  const std::optional<State> manifest_;
  const std::vector<server::Hook> hooks_;
  std::unique_ptr<Life> life_;
  std::uint64_t lives_ = 0;
};

class AgentNode final : public shell::AgentLink {
 public:
  AgentNode(World& world, Network& network, Mutation mutation, std::string name);

  void start();
  void kill();
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const FakeEngine& engine() const { return engine_; }
  [[nodiscard]] const FakeFolders& folders() const { return folders_; }
  [[nodiscard]] const shell::AgentShell* shell() const { return life_ ? &life_->shell : nullptr; }
  // What happened to the order of its workloads; looked at after every step.
  void check_order();
  [[nodiscard]] bool is_held(const InstanceName& instance) const;
  [[nodiscard]] const LogCollector& collector() const { return collector_; }

  // A workload asks for logs of others.
  void ask_for_logs(const CompleteState& state);

  void send(const ToServer& message) override;
  void send(const ToServer& message, std::function<void()> taken) override;

 private:
  struct Life {
    Life(AgentNode& node);
    Process process;
    shell::EngineRuntime runtime;
    FakeInterfaces interfaces;
    shell::AgentShell shell;
    ConnectionNumber connection = 0;
  };

  void connect();
  void received(const std::string& bytes);
  void sample_load();
  void check_report(const WorkloadState& state);

  World& world_;
  Network& network_;
  const Mutation mutation_;
  SimLog log_;
  const std::string name_;
  FakeEngine engine_;
  FakeFolders folders_;
  LogCollector collector_;
  OrderChecker order_;
  std::unique_ptr<Life> life_;
};

// Applies random updates, some of them nonsense, through a commander's connection.
class Operator {
 public:
  Operator(World& world, Network& network, std::vector<std::string> agents);

  void connect();
  void update();
  void ask_for_logs(const CompleteState& state);
  [[nodiscard]] const LogCollector& collector() const { return collector_; }
  [[nodiscard]] std::uint64_t answered() const { return answered_; }

 private:
  [[nodiscard]] Tree random_workload();
  [[nodiscard]] UpdateStateRequest random_update();
  void received(const std::string& bytes);

  World& world_;
  Network& network_;
  const std::vector<std::string> agents_;
  ConnectionNumber connection_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t answered_ = 0;
  LogCollector collector_;
};

struct RunOptions {
  std::uint64_t seed = 1;
  bool print_trace = false;
  Mutation mutation = Mutation::kNone;
};

struct RunResult {
  std::string failure;  // empty when all went well
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t answered_requests = 0;
  std::map<std::string, std::uint64_t> fired_faults;
};

RunResult run_cluster(const RunOptions& options);

}  // namespace tiphys::sim
