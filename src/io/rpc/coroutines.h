#pragma once

// Calls as coroutines, for a conversation that reads straight down. Messages are bytes here; typed.h adds protobuf.
//
//   server:  handlers.add("/pkg.Service/Method", coroutine(converse));
//            asio::awaitable<Outcome> converse(ServerStream call) {
//              while (auto message = co_await call.read()) {
//                Payload answer{.own = std::move(*message)};
//                co_await call.write(std::move(answer));
//              }
//              co_return Outcome{};
//            }
//   client:  const auto answer = co_await unary(channel, "/pkg.Service/Method", request);
//
// When a call ends before its handler (the client cancels, the deadline passes), reading and writing say so, and any
// other wait of the handler is cancelled.

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/rpc/channel.h"
#include "io/rpc/server_call.h"

namespace tiphys::rpc {

class ServerStream {
 public:
  // Takes the call over.
  explicit ServerStream(std::shared_ptr<ServerCall> call);

  [[nodiscard]] const std::string& method() const { return call_->method(); }
  [[nodiscard]] const Metadata& metadata() const { return call_->metadata(); }
  [[nodiscard]] const Peer& peer() const { return call_->peer(); }
  [[nodiscard]] std::optional<Deadlines::Time> deadline() const { return call_->deadline(); }
  [[nodiscard]] bool is_over() const { return call_->is_finished(); }

  // The next message; nothing once the client has said all, or the call is over.
  boost::asio::awaitable<std::optional<std::string>> read();
  // Waits while the queue is full. False when the call is over.
  boost::asio::awaitable<bool> write(Payload message);
  void send_headers(const Metadata& metadata = {}) { call_->send_headers(metadata); }
  // Sent with the outcome, before those that it has itself.
  void add_trailers(const Metadata& trailers);
  // Waits until the call is over without us: cancelled, lost, or past its deadline.
  boost::asio::awaitable<void> over();

 private:
  using StreamHandler = std::function<boost::asio::awaitable<Outcome>(ServerStream)>;
  friend Handler coroutine(StreamHandler handler, Begins begins);
  struct State;

  static boost::asio::awaitable<void> run(std::shared_ptr<const StreamHandler> handler,
                                          ServerStream stream);

  std::shared_ptr<ServerCall> call_;
  std::shared_ptr<State> state_;
};

using StreamHandler = std::function<boost::asio::awaitable<Outcome>(ServerStream)>;
Handler coroutine(StreamHandler handler, Begins begins = Begins::kWithFirstMessage);

class ClientStream {
 public:
  // Starts the call. It is cancelled when the last copy of this goes before its end.
  explicit ClientStream(std::shared_ptr<ClientCall> call);

  // The next message; nothing once there are no more: finish() says why.
  boost::asio::awaitable<std::optional<std::string>> read();
  // Waits while the queue is full. False when the call is over.
  boost::asio::awaitable<bool> write(Payload message);
  void half_close();
  void cancel();
  // The server's initial metadata; nothing when the call ends without.
  boost::asio::awaitable<std::optional<Metadata>> headers();
  // Reads and drops what is left, and answers how the call ended.
  boost::asio::awaitable<Outcome> finish();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// One message there, one back.
boost::asio::awaitable<Result<std::string>> unary(Channel& channel, std::string method,
                                                  Payload request, CallOptions options = {});

}  // namespace tiphys::rpc
