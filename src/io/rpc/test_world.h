#pragma once

// What the tests of this folder share: a world with a server and a channel on one executor, over each of the backends,
// and records of what calls were told.

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/match.h"
#include "io/host/resolver.h"
#include "io/host/test_certificates.h"
#include "io/rpc/channel.h"
#include "io/rpc/coroutines.h"
#include "io/rpc/http2/connector.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/memory/memory_network.h"
#include "io/rpc/server.h"
#include "shell/strand.h"

namespace tiphys::rpc {

class RecordingLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view text, Fields fields) override {
    std::string line(text);
    for (const auto& [name, value] : fields)
      line.append(" ").append(name).append("=").append(value);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> lines;
};

// What one side of a call was told.
struct Events {
  std::optional<Metadata> headers;
  std::vector<std::string> messages;
  int writable = 0;
  bool is_half_closed = false;
  std::optional<Outcome> outcome;
  int finished = 0;

  Tell tell() {
    return [this](CallEvent event) {
      match(
          event, [this](Headers& e) { headers = std::move(e.metadata); },
          [this](Message& e) { messages.push_back(std::move(e.bytes)); },
          [this](HalfClosed&) { is_half_closed = true; }, [this](Writable&) { ++writable; },
          [this](Finished& e) {
            outcome = std::move(e.outcome);
            ++finished;
          });
    };
  }
  // OK is the empty text; else "CODE: message".
  [[nodiscard]] std::string ending() const {
    if (!outcome) return "(not finished)";
    if (outcome->status) return "";
    return std::string(to_string(outcome->status.error().code)) + ": " +
           outcome->status.error().message;
  }
  [[nodiscard]] std::optional<Code> code() const {
    return outcome && !outcome->status ? std::optional(outcome->status.error().code) : std::nullopt;
  }
};

// Runs until the condition holds; the limit is there only so that a broken test ends.
inline ::testing::AssertionResult run_until(boost::asio::io_context& context,
                                            const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit)
      return ::testing::AssertionFailure() << "it never came";
    context.restart();
    context.run_one_for(std::chrono::milliseconds(100));
  }
  return ::testing::AssertionSuccess();
}

enum class Backend : std::uint8_t { kMemory, kPlain, kTls, kUnix };

inline std::string to_string(Backend backend) {
  constexpr const char* kNames[] = {"Memory", "Plain", "Tls", "Unix"};
  return kNames[static_cast<int>(backend)];
}

struct World {
  explicit World(Backend on) : backend(on) {
    if (backend != Backend::kTls) return;
    const host::Authority ca = host::make_ca();
    server_tls = *host::TlsContext::server(host::issue(ca, {.names = {"ank-server"}}), {"h2"});
    client_tls =
        *host::TlsContext::client(host::issue(ca, {.names = {"agent_A", "other"}}), {"h2"});
  }
  ~World() {
    channel.reset();
    server.reset();
    context.restart();
    context.poll();
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Where the server listens, as a channel takes it.
  std::string listen(ListenOptions options) {
    if (backend == Backend::kMemory) {
      const std::string address = "memory-" + std::to_string(++listeners);
      number = server->listen(network->listen(address), std::move(options));
      return address;
    }
    std::string address = "127.0.0.1:0";
    if (backend == Backend::kUnix) {
      if (folder.empty()) {
        std::string pattern = std::filesystem::temp_directory_path() / "tiphys-rpc-XXXXXX";
        folder = mkdtemp(pattern.data());
      }
      address = "unix:" + folder + "/socket-" + std::to_string(++listeners);
    }
    auto listener = http2::listen(context.get_executor(), log,
                                  {.address = address, .tls = server_tls, .limits = http_limits});
    if (!listener) throw std::runtime_error(listener.error().message);
    std::string reached = (*listener)->address();
    if (backend != Backend::kUnix)
      reached.insert(0, backend == Backend::kTls ? "https://" : "http://");
    number = server->listen(std::move(*listener), std::move(options));
    return reached;
  }

  std::unique_ptr<Channel> connect(std::vector<std::string> urls) {
    auto connector =
        backend == Backend::kMemory
            ? network->connector()
            : http2::connector(
                  context.get_executor(), resolver,
                  {.tls = client_tls, .server_name = "ank-server", .limits = http_limits});
    channel_options.urls = std::move(urls);
    return std::make_unique<Channel>(context.get_executor(), std::move(connector), channel_options);
  }

  // A server with these handlers and a channel to it.
  void start(Handlers handlers) {
    network = std::make_unique<memory::Network>(context.get_executor(), http_limits);
    server = std::make_unique<Server>(context.get_executor(), log);
    url = listen({.handlers = std::move(handlers), .limits = call_limits});
    channel = connect({url});
  }

  ::testing::AssertionResult until(const std::function<bool()>& holds) {
    return run_until(context, holds);
  }

  // Runs a coroutine to its end.
  template <class T>
  T run(boost::asio::awaitable<T> coroutine) {
    std::optional<T> result;
    boost::asio::co_spawn(context, std::move(coroutine),
                          [&result](const std::exception_ptr& failure, T value) {
                            if (failure) std::rethrow_exception(failure);
                            result = std::move(value);
                          });
    EXPECT_TRUE(until([&result] { return result.has_value(); }));
    return std::move(*result);
  }

  Backend backend;
  boost::asio::io_context context{1};
  RecordingLog log;
  shell::CoreThread strand;
  shell::WorkerThreads workers{strand, 1};
  host::Resolver resolver{workers};
  HttpLimits http_limits;
  CallLimits call_limits;
  ChannelOptions channel_options{.urls = {},
                                 .back_off = {.first = std::chrono::milliseconds(5),
                                              .longest = std::chrono::milliseconds(20)}};
  std::optional<host::TlsContext> server_tls;
  std::optional<host::TlsContext> client_tls;
  std::string folder;
  int listeners = 0;
  std::unique_ptr<memory::Network> network;
  std::unique_ptr<Server> server;
  Server::ListenerNumber number = 0;
  std::string url;
  std::unique_ptr<Channel> channel;
};

}  // namespace tiphys::rpc
