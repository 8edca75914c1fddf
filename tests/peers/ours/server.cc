#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "io/rpc/typed.h"
#include "peer.pb.h"
#include "tests/peers/ours/peer.h"

namespace tiphys::peer {

namespace asio = boost::asio;
using rpc::Received;
using rpc::ServerStream;

namespace {

using Waits = std::map<std::string, Wait>;
using EchoReader = rpc::Reader<EchoRequest, ServerStream>;
using EchoWriter = rpc::Writer<EchoReply, ServerStream>;

rpc::Metadata echoed(const ServerStream& call) {
  rpc::Metadata metadata;
  for (const auto& entry : call.metadata())
    if (entry.first.starts_with("echo-")) metadata.push_back(entry);
  return metadata;
}

Error failure(const EchoRequest& request) {
  return {static_cast<Code>(request.fail().code()), request.fail().text()};
}

asio::awaitable<Error> wait(std::shared_ptr<Waits> waits, ServerStream call, std::string name) {
  (*waits)[name] = WAIT_UNDER_WAY;
  co_await call.over();
  (*waits)[name] = WAIT_CANCELLED;
  co_return Error{Code::kCancelled, "the wait is over"};
}

EchoReply reply_to(const EchoRequest& request, std::uint32_t index) {
  EchoReply reply;
  reply.set_payload(request.reply_size() > 0 ? pattern(request.reply_size()) : request.payload());
  reply.set_index(index);
  return reply;
}

asio::awaitable<Result<EchoReply>> answer_unary(std::shared_ptr<Waits> waits, ServerStream call,
                                                Received<EchoRequest> request) {
  call.add_trailers(echoed(call));
  if (request->has_fail()) co_return fail(failure(*request));
  if (!request->wait().empty()) co_return fail(co_await wait(waits, call, request->wait()));
  call.send_headers(echoed(call));
  EchoReply reply = reply_to(*request, 0);
  if (const auto deadline = call.deadline()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
    reply.set_timeout_ms(static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 1)));
  }
  if (!request->ask().empty()) reply.set_wait((*waits)[request->ask()]);
  co_return reply;
}

asio::awaitable<Result<EchoReply>> collect(std::shared_ptr<Waits> waits, ServerStream call,
                                           EchoReader reader) {
  call.add_trailers(echoed(call));
  EchoReply reply;
  std::uint32_t count = 0;
  for (;;) {
    auto request = co_await reader.read();
    if (!request) co_return fail(request.error());
    if (!*request) break;
    const EchoRequest& message = ***request;
    if (message.has_fail()) co_return fail(failure(message));
    if (!message.wait().empty()) co_return fail(co_await wait(waits, call, message.wait()));
    reply.mutable_payload()->append(message.payload());
    ++count;
  }
  call.send_headers(echoed(call));
  reply.set_index(count);
  co_return reply;
}

asio::awaitable<Status> expand(std::shared_ptr<Waits> waits, ServerStream call,
                               Received<EchoRequest> request, EchoWriter writer) {
  call.add_trailers(echoed(call));
  call.send_headers(echoed(call));
  for (std::uint32_t index = 0; index < request->count(); ++index) {
    const bool goes_on = co_await writer.write(reply_to(*request, index));
    if (!goes_on) co_return fail(Code::kCancelled, "the call is over");
  }
  if (request->has_fail()) co_return fail(failure(*request));
  if (!request->wait().empty()) co_return fail(co_await wait(waits, call, request->wait()));
  co_return Status{};
}

asio::awaitable<Status> chat(std::shared_ptr<Waits> waits, ServerStream call, EchoReader reader,
                             EchoWriter writer) {
  call.add_trailers(echoed(call));
  call.send_headers(echoed(call));
  for (std::uint32_t index = 0;; ++index) {
    auto request = co_await reader.read();
    if (!request) co_return fail(request.error());
    if (!*request) co_return Status{};
    const EchoRequest& message = ***request;
    if (message.has_fail()) co_return fail(failure(message));
    if (!message.wait().empty()) co_return fail(co_await wait(waits, call, message.wait()));
    const bool goes_on = co_await writer.write(reply_to(message, index));
    if (!goes_on) co_return fail(Code::kCancelled, "the call is over");
  }
}

}  // namespace

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<char>(at % 251);
  return bytes;
}

rpc::Handlers echo_handlers() {
  const auto waits = std::make_shared<Waits>();
  rpc::Handlers handlers;
  handlers.add("/tiphys.peer.Echo/Unary",
               rpc::unary_handler<EchoRequest, EchoReply>(
                   [waits](ServerStream call, Received<EchoRequest> request) {
                     return answer_unary(waits, std::move(call), std::move(request));
                   }));
  handlers.add("/tiphys.peer.Echo/Collect", rpc::client_stream_handler<EchoRequest, EchoReply>(
                                                [waits](ServerStream call, EchoReader reader) {
                                                  return collect(waits, std::move(call),
                                                                 std::move(reader));
                                                }));
  handlers.add("/tiphys.peer.Echo/Expand",
               rpc::server_stream_handler<EchoRequest, EchoReply>(
                   [waits](ServerStream call, Received<EchoRequest> request, EchoWriter writer) {
                     return expand(waits, std::move(call), std::move(request), std::move(writer));
                   }));
  handlers.add("/tiphys.peer.Echo/Chat",
               rpc::bidirectional_handler<EchoRequest, EchoReply>(
                   [waits](ServerStream call, EchoReader reader, EchoWriter writer) {
                     return chat(waits, std::move(call), std::move(reader), std::move(writer));
                   }));
  return handlers;
}

}  // namespace tiphys::peer
