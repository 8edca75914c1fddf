#pragma once

// Requests to the server and its answers, one at a time, over one connection.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/settings.h"
#include "io/host/resolver.h"
#include "io/host/tls_files.h"
#include "io/host/uuid.h"
#include "io/link/command_connection.h"
#include "model/extension.h"
#include "model/messages.h"
#include "model/tree.h"

namespace tiphys::cli {

// A request that the server goes on answering, and its first answer.
struct Subscription {
  std::string id;
  CompleteStateResponse first;
};

class Talk {
 public:
  using Clock = std::chrono::steady_clock;
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  Talk(const boost::asio::any_io_executor& executor, host::Resolver& resolver,
       const Settings& settings, const std::optional<host::TlsMaterial>& tls, Console& console);

  Awaitable<Status> open();
  Awaitable<Result<Tree>> complete_state(std::vector<std::string> masks);
  Awaitable<Result<UpdateStateSuccess>> update(UpdateStateRequest request);
  // What the update would do. kUnimplemented with a whole sentence where the server cannot tell.
  Awaitable<Result<DryRun>> dry_run(UpdateStateRequest request);
  // For how long these workloads have been in their states; nothing where the server cannot tell.
  Awaitable<Result<std::vector<StateAge>>> state_ages(std::vector<std::string> workloads);
  // The next workload states; none when the time is over.
  Awaitable<Result<std::optional<UpdateWorkloadState>>> next_states(
      std::optional<Clock::time_point> until);
  // kCancelled when a signal has come, here and below.
  Awaitable<Result<Subscription>> subscribe(std::vector<std::string> masks);
  Awaitable<Result<CompleteStateResponse>> next_event(std::string id);
  // The id of the request, once the server has accepted all of it.
  Awaitable<Result<std::string>> request_logs(LogsRequest request);
  Awaitable<Result<std::variant<LogEntriesResponse, LogsStopResponse>>> next_logs(std::string id);
  Awaitable<void> cancel_logs(std::string id);
  // From now on the signals that end a program end what waits here instead; a second one ends the
  // program.
  void end_by_signals();
  Awaitable<void> say_goodbye();

 private:
  using Answer = decltype(Response::content);

  [[nodiscard]] Clock::time_point deadline() const;
  [[nodiscard]] tl::unexpected<Error> timed_out() const;
  template <class Content>
  Awaitable<Result<Answer>> ask(Content content, const char* on_end,
                                std::string id = host::new_uuid());
  // The next answer to a request that has been answered before.
  Awaitable<Result<Answer>> next_answer(std::string id, const char* on_end);

  const Settings& settings_;
  Console& console_;
  link::CommandConnection connection_;
  boost::asio::signal_set signals_;
};

// The errors of a talk that are whole sentences of their own; the others are for the command to
// wrap.
bool is_of_connection(const Error& error);

// Line breaks become ", ".
std::string on_one_line(const std::string& text);

// "3s", "2.5s", "500ms", "0ns"
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace tiphys::cli
