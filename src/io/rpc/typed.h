#pragma once

// Calls with protobuf messages (the lite runtime is enough). Every received message lives in an arena of its own.
//
//   handlers.add("/pkg.Service/Say", unary_handler<Request, Reply>(say));
//   asio::awaitable<Result<Reply>> say(ServerStream call, Received<Request> request);

#include <google/protobuf/arena.h>
#include <google/protobuf/message_lite.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/rpc/coroutines.h"

namespace tiphys::rpc {

template <class M>
class Received {
 public:
  static Result<Received> parse(std::string_view bytes) {
    Received received;
    if (!received.message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return fail(Code::kInternal,
                  "received bytes that are no " + received.message_->GetTypeName());
    return received;
  }

  const M& operator*() const { return *message_; }
  const M* operator->() const { return message_; }

 private:
  // The arena with its first block: a small message is one allocation.
  struct Memory {
    alignas(std::max_align_t) std::array<char, 256> block;
    google::protobuf::Arena arena{block.data(), block.size()};
  };

  Received()
      : memory_(std::make_unique_for_overwrite<Memory>()),
        message_(google::protobuf::Arena::CreateMessage<M>(&memory_->arena)) {}

  std::unique_ptr<Memory> memory_;
  M* message_;
};

inline Payload to_payload(const google::protobuf::MessageLite& message) {
  return {.own = message.SerializeAsString()};
}

// The messages of one direction. Works on both ServerStream and ClientStream.
template <class M, class Stream>
class Reader {
 public:
  explicit Reader(Stream stream) : stream_(std::move(stream)) {}

  // Nothing at the end.
  boost::asio::awaitable<Result<std::optional<Received<M>>>> read() {
    auto bytes = co_await stream_.read();
    if (!bytes) co_return std::nullopt;
    auto message = Received<M>::parse(*bytes);
    if (!message) co_return fail(message.error());
    co_return std::move(*message);
  }

 private:
  Stream stream_;
};

template <class M, class Stream>
class Writer {
 public:
  explicit Writer(Stream stream) : stream_(std::move(stream)) {}

  // False when the call is over.
  boost::asio::awaitable<bool> write(const M& message) {
    return stream_.write(to_payload(message));
  }

 private:
  Stream stream_;
};

template <class Request, class Response>
using UnaryFunction =
    std::function<boost::asio::awaitable<Result<Response>>(ServerStream, Received<Request>)>;
template <class Request, class Response>
using ClientStreamFunction = std::function<boost::asio::awaitable<Result<Response>>(
    ServerStream, Reader<Request, ServerStream>)>;
template <class Request, class Response>
using ServerStreamFunction = std::function<boost::asio::awaitable<Status>(
    ServerStream, Received<Request>, Writer<Response, ServerStream>)>;
template <class Request, class Response>
using BidirectionalFunction = std::function<boost::asio::awaitable<Status>(
    ServerStream, Reader<Request, ServerStream>, Writer<Response, ServerStream>)>;

namespace internal {

// The only request of a unary or server-streaming call.
template <class Request>
boost::asio::awaitable<Result<Received<Request>>> read_only_message(ServerStream call) {
  const auto bytes = co_await call.read();
  if (!bytes) co_return fail(Code::kInvalidArgument, "the call has no request message");
  co_return Received<Request>::parse(*bytes);
}

template <class Response>
boost::asio::awaitable<Outcome> answer(ServerStream call, Result<Response> response) {
  if (!response) co_return failed(response.error());
  co_await call.write(to_payload(*response));
  co_return Outcome{};
}

template <class Request, class Response, class Function>
boost::asio::awaitable<Outcome> run_unary(std::shared_ptr<const Function> function,
                                          ServerStream call) {
  auto request = co_await read_only_message<Request>(call);
  if (!request) co_return failed(request.error());
  auto response = co_await (*function)(call, std::move(*request));
  co_return co_await answer<Response>(std::move(call), std::move(response));
}

template <class Request, class Response, class Function>
boost::asio::awaitable<Outcome> run_client_stream(std::shared_ptr<const Function> function,
                                                  ServerStream call) {
  Reader<Request, ServerStream> reader(call);
  auto response = co_await (*function)(call, std::move(reader));
  co_return co_await answer<Response>(std::move(call), std::move(response));
}

template <class Request, class Response, class Function>
boost::asio::awaitable<Outcome> run_server_stream(std::shared_ptr<const Function> function,
                                                  ServerStream call) {
  auto request = co_await read_only_message<Request>(call);
  if (!request) co_return failed(request.error());
  Writer<Response, ServerStream> writer(call);
  Outcome outcome;
  outcome.status = co_await (*function)(call, std::move(*request), std::move(writer));
  co_return outcome;
}

template <class Request, class Response, class Function>
boost::asio::awaitable<Outcome> run_bidirectional(std::shared_ptr<const Function> function,
                                                  ServerStream call) {
  Reader<Request, ServerStream> reader(call);
  Writer<Response, ServerStream> writer(call);
  Outcome outcome;
  outcome.status = co_await (*function)(call, std::move(reader), std::move(writer));
  co_return outcome;
}

}  // namespace internal

template <class Request, class Response>
Handler unary_handler(UnaryFunction<Request, Response> function) {
  const auto shared = std::make_shared<const UnaryFunction<Request, Response>>(std::move(function));
  return coroutine([shared](ServerStream call) {
    return internal::run_unary<Request, Response>(shared, std::move(call));
  });
}

template <class Request, class Response>
Handler client_stream_handler(ClientStreamFunction<Request, Response> function) {
  const auto shared =
      std::make_shared<const ClientStreamFunction<Request, Response>>(std::move(function));
  return coroutine([shared](ServerStream call) {
    return internal::run_client_stream<Request, Response>(shared, std::move(call));
  });
}

template <class Request, class Response>
Handler server_stream_handler(ServerStreamFunction<Request, Response> function) {
  const auto shared =
      std::make_shared<const ServerStreamFunction<Request, Response>>(std::move(function));
  return coroutine([shared](ServerStream call) {
    return internal::run_server_stream<Request, Response>(shared, std::move(call));
  });
}

// Begins at once: the server may be the first to speak.
template <class Request, class Response>
Handler bidirectional_handler(BidirectionalFunction<Request, Response> function) {
  const auto shared =
      std::make_shared<const BidirectionalFunction<Request, Response>>(std::move(function));
  return coroutine(
      [shared](ServerStream call) {
        return internal::run_bidirectional<Request, Response>(shared, std::move(call));
      },
      Begins::kAtOnce);
}

namespace internal {

template <class Response>
boost::asio::awaitable<Result<Received<Response>>> parse_answer(
    boost::asio::awaitable<Result<std::string>> answer) {
  const auto bytes = co_await std::move(answer);
  if (!bytes) co_return fail(bytes.error());
  co_return Received<Response>::parse(*bytes);
}

}  // namespace internal

// One message there, one back.
template <class Response>
boost::asio::awaitable<Result<Received<Response>>> unary(
    Channel& channel, std::string method, const google::protobuf::MessageLite& request,
    CallOptions options = {}) {
  return internal::parse_answer<Response>(
      unary(channel, std::move(method), to_payload(request), std::move(options)));
}

}  // namespace tiphys::rpc
