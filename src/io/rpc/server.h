#pragma once

// Serves calls on any number of listeners, which come and go at run time, each with its own methods and limits. Several
// packages may share one listener.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "io/rpc/http_stream.h"
#include "io/rpc/limits.h"
#include "io/rpc/server_call.h"
#include "shell/log.h"

namespace tiphys::rpc {

// Methods by their path, "/package.Service/Method".
class Handlers {
 public:
  void add(std::string method, Handler handler);
  // Takes every call that no other handler takes; its ServerCall::method() says which one it is.
  void add_fallback(Handler handler);
  // Null when there is nobody for it.
  [[nodiscard]] const Method* find(std::string_view method) const;

 private:
  std::map<std::string, Method, std::less<>> methods_;
  std::unique_ptr<Method> fallback_;
};

// Where connections come from: an address, or the other half of a test.
class HttpListener {
 public:
  // Answers with what shall hear of the connection, or null to refuse it.
  using Accept =
      std::function<std::shared_ptr<HttpConnection::Owner>(std::shared_ptr<HttpConnection>)>;

  virtual ~HttpListener() = default;
  // Where it listens, "127.0.0.1:25551" or "unix:/run/ank.sock".
  [[nodiscard]] virtual std::string address() const = 0;
  // From here on every connection is handed over.
  virtual void start(Accept accept) = 0;
  // Takes no more connections.
  virtual void stop() = 0;
};

struct ListenOptions {
  Handlers handlers;
  CallLimits limits = {};
  std::size_t connections = 10'000;
};

class Server {
 public:
  using ListenerNumber = std::uint64_t;

  Server(boost::asio::any_io_executor executor, shell::Log& log);
  // Ends every connection at once. What calls told of themselves before stays told; nothing is told any more.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ListenerNumber listen(std::unique_ptr<HttpListener> listener, ListenOptions options);
  // Takes no more connections and calls, lets those that run go on for the time of grace, then ends them with UNAVAILABLE.
  // `done` is called once, after the last socket is closed.
  void close(ListenerNumber number, Duration grace, std::function<void()> done);
  // All listeners.
  void close(Duration grace, std::function<void()> done);
  [[nodiscard]] std::size_t connection_count() const;

 private:
  class Listening;

  boost::asio::any_io_executor executor_;
  shell::Log& log_;
  std::shared_ptr<Deadlines> deadlines_;
  std::map<ListenerNumber, std::shared_ptr<Listening>> listening_;
  ListenerNumber last_number_ = 0;
};

}  // namespace tiphys::rpc
