#include "io/link/command_connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <utility>

#include "base/match.h"
#include "io/host/tls_context.h"
#include "io/link/link_limits.h"
#include "io/rpc/channel.h"
#include "io/rpc/http2/connector.h"
#include "io/wire/wire.h"

namespace tiphys::link {

namespace asio = boost::asio;

namespace {

// Whoever reads slowly makes the server wait.
constexpr std::size_t kMostReadAhead = 64;

// Plain text is asked for by not giving certificates, whatever the URL says.
std::string without_tls(std::string url) {
  constexpr std::string_view kSecure = "https:";
  if (url.starts_with(kSecure)) url.replace(0, kSecure.size(), "http:");
  return url;
}

}  // namespace

struct CommandConnection::Impl : std::enable_shared_from_this<CommandConnection::Impl> {
  Impl(asio::any_io_executor on, host::Resolver& names, CommandOptions given)
      : executor(std::move(on)), resolver(names), options(std::move(given)), wake(executor) {}

  Status start() {
    rpc::http2::ConnectorOptions connecting{.server_name = std::string(kServerName)};
    if (options.tls) {
      TIPHYS_TRY(connecting.tls, host::TlsContext::client(*options.tls, {"h2"}));
    }
    rpc::ChannelOptions channel_options{
        .urls = {options.tls ? options.url : without_tls(options.url)}};
    channel.emplace(executor, rpc::http2::connector(executor, resolver, std::move(connecting)),
                    std::move(channel_options));
    const auto method = options.service == CommandService::kCommand ? kConnectCommand : kConnectCli;
    call = channel->call(std::string(method));
    call->start([weak = weak_from_this()](rpc::CallEvent event) {
      if (const auto self = weak.lock()) self->told(std::move(event));
    });
    call->send({wire::encode(ToServer(CommanderHello{options.protocol_version}))});
    want_more();
    return {};
  }

  void told(rpc::CallEvent event) {
    match(
        std::move(event), [&](const rpc::Headers&) { is_accepted = true; },
        [&](const rpc::Message& e) {
          is_wanting = false;
          if (auto message = wire::decode_from_server(e.bytes))
            inbox.push_back(*std::move(message));
          want_more();
        },
        [&](rpc::Writable) { has_room = true; },
        [&](const rpc::Finished& e) { ending = e.outcome.status; }, [](const rpc::HalfClosed&) {});
    wake.cancel();
  }

  void want_more() {
    if (is_wanting || inbox.size() >= kMostReadAhead) return;
    is_wanting = true;
    call->want();
  }

  // Until something happens or the time is over.
  asio::awaitable<void> wait(Deadline deadline) {
    wake.expires_at(deadline.value_or(asio::steady_timer::time_point::max()));
    auto waiting = wake.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await std::move(waiting);
  }

  asio::any_io_executor executor;
  host::Resolver& resolver;
  const CommandOptions options;
  asio::steady_timer wake;
  std::optional<rpc::Channel> channel;
  std::shared_ptr<rpc::ClientCall> call;
  std::deque<FromServer> inbox;
  bool is_accepted = false;
  bool is_wanting = false;
  bool has_room = true;
  bool is_interrupted = false;
  std::optional<Status> ending;
};

CommandConnection::CommandConnection(asio::any_io_executor executor, host::Resolver& resolver,
                                     CommandOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), resolver, std::move(options))) {}

CommandConnection::~CommandConnection() {
  if (impl_->call) impl_->call->cancel();
}

asio::awaitable<Status> CommandConnection::open(Deadline deadline) {
  const auto impl = impl_;
  if (auto started = impl->start(); !started) co_return fail(started.error());
  while (!impl->is_accepted && !impl->ending) {
    if (impl->is_interrupted) co_return fail(Code::kCancelled, "interrupted");
    if (deadline && std::chrono::steady_clock::now() >= *deadline)
      co_return fail(Code::kDeadlineExceeded, "the server does not answer");
    auto waiting = impl->wait(deadline);
    co_await std::move(waiting);
  }
  if (!impl->is_accepted && *impl->ending)
    co_return fail(Code::kAborted, "the server has ended the connection");
  if (!impl->is_accepted) co_return fail(impl->ending->error());
  co_return Status();
}

asio::awaitable<Status> CommandConnection::send(ToServer message) {
  const auto impl = impl_;
  while (!impl->has_room && !impl->ending && !impl->is_interrupted) {
    auto waiting = impl->wait(std::nullopt);
    co_await std::move(waiting);
  }
  if (impl->ending) co_return fail(Code::kAborted, "the server has ended the connection");
  if (!impl->has_room) co_return fail(Code::kCancelled, "interrupted");
  impl->has_room = impl->call->send({wire::encode(message)});
  co_return Status();
}

asio::awaitable<Result<FromServer>> CommandConnection::receive(Deadline deadline) {
  const auto impl = impl_;
  while (true) {
    if (impl->is_interrupted) co_return fail(Code::kCancelled, "interrupted");
    if (!impl->inbox.empty()) {
      FromServer first = std::move(impl->inbox.front());
      impl->inbox.pop_front();
      impl->want_more();
      co_return first;
    }
    if (impl->ending && *impl->ending)
      co_return fail(Code::kAborted, "the server has ended the connection");
    if (impl->ending) co_return fail(Code::kAborted, impl->ending->error().message);
    if (deadline && std::chrono::steady_clock::now() >= *deadline)
      co_return fail(Code::kDeadlineExceeded, "the server does not answer");
    auto waiting = impl->wait(deadline);
    co_await std::move(waiting);
  }
}

namespace {

template <class Response>
struct Question {
  std::optional<Result<Response>> response;
  std::optional<Status> ending;
};

}  // namespace

template <class Response>
asio::awaitable<Result<Response>> CommandConnection::ask(
    std::string_view method, std::string bytes, Result<Response> (*decode)(std::string_view),
    Deadline deadline) {
  const auto impl = impl_;
  const auto question = std::make_shared<Question<Response>>();
  const auto call = impl->channel->call(std::string(method));
  call->start([weak = impl->weak_from_this(), question, decode](rpc::CallEvent event) {
    match(
        std::move(event), [&](const rpc::Message& e) { question->response = decode(e.bytes); },
        [&](const rpc::Finished& e) { question->ending = e.outcome.status; }, [](const auto&) {});
    if (const auto self = weak.lock()) self->wake.cancel();
  });
  call->send({std::move(bytes)});
  call->half_close();
  call->want();
  while (!question->ending) {
    const bool is_late = deadline && std::chrono::steady_clock::now() >= *deadline;
    if (impl->is_interrupted || is_late) {
      call->cancel();
      co_return impl->is_interrupted ? fail(Code::kCancelled, "interrupted")
                                     : fail(Code::kDeadlineExceeded, "the server does not answer");
    }
    auto waiting = impl->wait(deadline);
    co_await std::move(waiting);
  }
  if (!*question->ending) co_return fail(question->ending->error());
  if (!question->response) co_return fail(Code::kInternal, "the server's answer is empty");
  co_return *std::move(question->response);
}

asio::awaitable<Result<DryRunResponse>> CommandConnection::dry_run(const DryRunRequest& request,
                                                                   Deadline deadline) {
  return ask(kDryRunUpdate, wire::encode(request), &wire::decode_dry_run_response, deadline);
}

asio::awaitable<Result<StateAgesResponse>> CommandConnection::state_ages(
    const StateAgesRequest& request, Deadline deadline) {
  return ask(kGetStateAges, wire::encode(request), &wire::decode_state_ages_response, deadline);
}

void CommandConnection::interrupt() {
  impl_->is_interrupted = true;
  impl_->wake.cancel();
}

asio::awaitable<void> CommandConnection::say_goodbye(Deadline deadline) {
  const auto impl = impl_;
  if (impl->ending || !impl->call) co_return;
  impl->call->send({wire::encode(ToServer(Goodbye{}))});
  while (!impl->ending) {
    if (deadline && std::chrono::steady_clock::now() >= *deadline) break;
    impl->inbox.clear();
    impl->want_more();
    auto waiting = impl->wait(deadline);
    co_await std::move(waiting);
  }
}

}  // namespace tiphys::link
