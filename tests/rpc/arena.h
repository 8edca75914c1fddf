#pragma once

// Where our server and our client meet hostile peers: they run in a thread of their own, as they do in a process, and
// the test plays the peer with blocking sockets. Next to the peer an honest client calls the same server.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "io/host/resolver.h"
#include "io/rpc/channel.h"
#include "io/rpc/http2/connector.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/server.h"
#include "shell/log.h"
#include "shell/workers.h"
#include "tests/bytes_in_use.h"
#include "tests/rpc/raw_socket.h"

namespace tiphys::rpc {

// Keeps what is written; safe from any thread.
class RecordingLog final : public shell::Log {
 public:
  void write(shell::Level level, std::string_view text, Fields fields) override;
  [[nodiscard]] std::vector<std::string> lines() const;
  // Waits until there are so many; fewer when that takes too long.
  [[nodiscard]] std::vector<std::string> await_lines(std::size_t count) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// The thread, and what is called on it.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] boost::asio::io_context& context() { return context_; }
  // Calls the function on the thread and answers with what it answers.
  template <class Function>
  auto run(Function function) {
    using Value = decltype(function());
    const auto done = std::make_shared<std::promise<Value>>();
    boost::asio::post(context_, [done, &function] {
      if constexpr (std::is_void_v<Value>) {
        function();
        done->set_value();
      } else {
        done->set_value(function());
      }
    });
    return done->get_future().get();
  }
  // Waits until the condition, asked on the thread, holds.
  void await(const std::function<bool()>& condition, const std::string& what);

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

// How a call ended: its answer, or the error.
using Answer = std::future<Result<std::string>>;
// Waits for it.
Result<std::string> result_of(Answer answer);
std::string describe(const Result<std::string>& result);

struct ClientOptions {
  std::string url;
  http2::ConnectorOptions connector = {};
  CallLimits limits = {};
};

class Client {
 public:
  Client(Loop& loop, ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One message there, one back.
  Answer call(const std::string& method, std::string request, CallOptions options = {});

 private:
  // Addresses in text are resolved without workers.
  struct NoWorkers final : shell::Workers {
    void run(std::function<void()>, std::function<void()>) override {}
  };

  Loop& loop_;
  NoWorkers workers_;
  host::Resolver resolver_{workers_};
  std::unique_ptr<Channel> channel_;
};

struct ArenaOptions {
  HttpLimits http = {};
  CallLimits calls = {};
  std::size_t connections = 10'000;
  std::optional<host::TlsContext> tls = std::nullopt;
  std::optional<host::TlsContext> honest_tls = std::nullopt;
};

// A server with these methods, and the honest client:
//   /test.Arena/Echo   answers each message with itself
//   /test.Arena/WhoAmI answers with the names in the client's certificate
//   /test.Arena/Pour   after one message, sends messages of 16 KiB for ever
//   /test.Arena/Hang   takes everything and answers nothing; begins at once
//   /test.Arena/Greet  like Hang, but sends headers and one message first
class Arena {
 public:
  explicit Arena(ArenaOptions options = {});
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] RawSocket connect() const { return RawSocket::connect(address_); }
  [[nodiscard]] Loop& loop() { return loop_; }
  [[nodiscard]] RecordingLog& log() { return log_; }

  // The honest client calls Echo and must get its answer.
  void expect_honest_call();
  // The memory and the connections that there are without any hostile peer; after an honest call.
  void remember_quiet();
  [[nodiscard]] std::size_t quiet_bytes() const { return quiet_bytes_; }
  // Everything is as it was then, once those who came since have gone.
  void expect_quiet(std::size_t noise = 256 * kKiB);
  // Exactly one line was logged, for this reason.
  void expect_one_line(const std::string& reason);
  // Waits until Hang and Greet heard of so many ends of calls, and answers with their codes.
  std::vector<Code> await_endings(std::size_t count);
  // Waits until so many calls of Hang and Greet are open.
  void await_open_calls(std::size_t count);
  // Waits until there are exactly so many connections, the honest one included.
  void await_connections(std::size_t count);
  // The same, with those that were closed and logged.
  void await_connections_and_lines(std::size_t count);

  // Begins to drain; the future is there once the last connection has gone.
  std::future<void> close(Duration grace);

 private:
  Handler hanging(bool greets);

  RecordingLog log_;
  Loop loop_;
  std::string address_;
  std::vector<Code> endings_;
  std::size_t open_calls_ = 0;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> honest_;
  std::size_t quiet_bytes_ = 0;
};

}  // namespace tiphys::rpc
