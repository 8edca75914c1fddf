#pragma once

// A server with one agent, started from a folder of programs, ours or another system's, and a commander that asks it.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/process.h"
#include "io/host/resolver.h"
#include "io/host/tls_files.h"
#include "io/link/command_connection.h"
#include "model/messages.h"
#include "shell/workers.h"

namespace tiphys::bench {

// A folder that goes with its owner.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  // Readable for its owner alone; answers with its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path folder_;
};

// A commander's connection, for whoever may wait.
class Commander {
 public:
  // Tries until the server answers or five seconds have passed.
  static Result<std::unique_ptr<Commander>> connect(
      std::uint16_t port, const std::optional<host::TlsMaterial>& tls = {});
  ~Commander();
  Commander(const Commander&) = delete;
  Commander& operator=(const Commander&) = delete;

  // The answer to one request for the state below these masks.
  Result<Tree> state(std::vector<std::string> masks);
  // Waits for a message of the server for which the condition holds.
  Status await(const std::function<bool(const FromServer&)>& condition);

 private:
  struct Inline final : shell::Workers {
    void run(std::function<void()> work, std::function<void()> done) override;
  };

  Commander() = default;
  template <class T>
  Result<T> run(boost::asio::awaitable<Result<T>> coroutine);

  boost::asio::io_context context_{1};
  Inline workers_;
  host::Resolver resolver_{workers_};
  std::optional<link::CommandConnection> connection_;
};

struct ClusterOptions {
  std::filesystem::path programs;  // that holds ank-server and ank-agent
  bool has_tls = false;
  std::vector<std::string> agent_environment = {};  // NAME=value, besides ours
};

class Cluster {
 public:
  // Waits until the agent is connected.
  static Result<std::unique_ptr<Cluster>> start(const ClusterOptions& options);

  [[nodiscard]] Commander& commander() { return *commander_; }
  [[nodiscard]] const MeasuredProcess& server() const { return *server_; }
  [[nodiscard]] const MeasuredProcess& agent() const { return *agent_; }
  [[nodiscard]] const std::string& agent_name() const { return agent_name_; }
  [[nodiscard]] const Folder& folder() const { return folder_; }
  // A command of the cluster's own ank.
  [[nodiscard]] std::vector<std::string> ank(const std::vector<std::string>& arguments) const;

 private:
  Cluster() = default;
  Status begin(const ClusterOptions& options);
  std::vector<std::string> security(const std::string& who,
                                    const host::TlsMaterial& material) const;

  Folder folder_;
  std::filesystem::path programs_;
  std::string agent_name_;
  std::uint16_t port_ = 0;
  std::vector<std::string> cli_security_;
  std::optional<MeasuredProcess> server_;
  std::optional<MeasuredProcess> agent_;
  std::unique_ptr<Commander> commander_;
};

// A port that nobody listens on just now.
std::uint16_t free_port();

}  // namespace tiphys::bench
