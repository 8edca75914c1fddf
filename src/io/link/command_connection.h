#pragma once

// A commander's conversation with a server: says hello, sends requests, reads what comes. One call; nothing is tried
// again. For one coroutine at a time.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/host/resolver.h"
#include "io/host/tls_files.h"
#include "model/extension.h"
#include "model/messages.h"
#include "model/protocol_version.h"

namespace tiphys::link {

enum class CommandService : std::uint8_t {
  kCommand,        // answers to requests, and nothing else
  kDeprecatedCli,  // the workload states of all agents as well
};

struct CommandOptions {
  std::string url = {};                                 // http://HOST:PORT or https://HOST:PORT
  std::optional<host::TlsMaterial> tls = std::nullopt;  // none: plain text, whatever the URL says
  CommandService service = CommandService::kDeprecatedCli;
  std::string protocol_version = std::string(kProtocolVersion);
};

class CommandConnection {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // The resolver outlives it. An URL or certificates that cannot be used come out of open().
  CommandConnection(boost::asio::any_io_executor executor, host::Resolver& resolver,
                    CommandOptions options);
  ~CommandConnection();
  CommandConnection(const CommandConnection&) = delete;
  CommandConnection& operator=(const CommandConnection&) = delete;

  // Says hello and waits until the server takes it.
  //   kInvalidArgument    the URL or the certificates cannot be used
  //   kUnavailable        the server cannot be reached
  //   kFailedPrecondition the server speaks another version; the message is the server's
  //   kDeadlineExceeded   it does not answer in time
  //   others              as the server ended the call
  boost::asio::awaitable<Status> open(Deadline deadline = std::nullopt);
  // Waits while the server does not read. kAborted when the call is over.
  boost::asio::awaitable<Status> send(ToServer message);
  // The next message. A message that cannot be read is dropped, as stock peers do.
  //   kDeadlineExceeded   none came in time
  //   kCancelled          by interrupt()
  //   kAborted            the call is over
  boost::asio::awaitable<Result<FromServer>> receive(Deadline deadline = std::nullopt);
  // What an update would do, and for how long workloads have been in their states; each in a call of its own over the
  // same connection, after open().
  //   kUnimplemented      the server is none of ours
  //   kDeadlineExceeded   it does not answer in time
  //   kCancelled          by interrupt()
  //   others              as the server, or the connection, ended the call
  boost::asio::awaitable<Result<DryRunResponse>> dry_run(const DryRunRequest& request,
                                                         Deadline deadline = std::nullopt);
  boost::asio::awaitable<Result<StateAgesResponse>> state_ages(const StateAgesRequest& request,
                                                               Deadline deadline = std::nullopt);
  // Whatever waits, and every later receive(), ends with kCancelled; what can be sent without waiting still is. For
  // signals.
  void interrupt();
  // Says goodbye and waits for the server to end the call, or for the deadline.
  boost::asio::awaitable<void> say_goodbye(Deadline deadline = std::nullopt);

 private:
  struct Impl;
  template <class Response>
  boost::asio::awaitable<Result<Response>> ask(std::string_view method, std::string bytes,
                                               Result<Response> (*decode)(std::string_view),
                                               Deadline deadline);

  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::link
