#include "io/rpc/coroutines.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <utility>

#include "base/match.h"
#include "io/rpc/signal.h"

namespace tiphys::rpc {

namespace asio = boost::asio;

namespace {

Outcome outcome_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    const bool was_cancelled = error.code() == asio::error::operation_aborted;
    return failed(was_cancelled ? Code::kCancelled : Code::kInternal, error.what());
  } catch (const std::exception& error) {
    return failed(Code::kInternal, error.what());
  }
}

}  // namespace

// --- server ---

struct ServerStream::State {
  std::optional<std::string> message;
  bool is_half_closed = false;
  bool is_over = false;
  bool is_full = false;
  Signal readable;
  Signal writable;
  Signal over;
  asio::cancellation_signal cancelled;
  Metadata trailers;

  void tell(CallEvent event) {
    match(
        event, [](const Headers&) {},
        [this](Message& arrived) {
          message = std::move(arrived.bytes);
          readable.raise();
        },
        [this](const HalfClosed&) {
          is_half_closed = true;
          readable.raise();
        },
        [this](const Writable&) {
          is_full = false;
          writable.raise();
        },
        [this](const Finished&) {
          is_over = true;
          readable.raise();
          writable.raise();
          over.raise();
          cancelled.emit(asio::cancellation_type::terminal);
        });
  }
};

ServerStream::ServerStream(std::shared_ptr<ServerCall> call)
    : call_(std::move(call)), state_(std::make_shared<State>()) {
  call_->start([state = state_](CallEvent event) { state->tell(std::move(event)); });
}

asio::awaitable<std::optional<std::string>> ServerStream::read() {
  const auto state = state_;
  if (!state->is_half_closed && !state->is_over && !state->message) call_->want();
  while (!state->message && !state->is_half_closed && !state->is_over)
    co_await state->readable.wait();
  co_return std::exchange(state->message, std::nullopt);
}

asio::awaitable<bool> ServerStream::write(Payload message) {
  const auto state = state_;
  if (state->is_over) co_return false;
  state->is_full = !call_->send(std::move(message));
  while (state->is_full && !state->is_over) co_await state->writable.wait();
  co_return !state->is_over;
}

void ServerStream::add_trailers(const Metadata& trailers) {
  state_->trailers.insert(state_->trailers.end(), trailers.begin(), trailers.end());
}

asio::awaitable<void> ServerStream::over() {
  const auto state = state_;
  while (!state->is_over) co_await state->over.wait();
}

// Ends the call by itself rather than by the completion of its coroutine, which Asio would post: the status leaves
// together with the last message.
asio::awaitable<void> ServerStream::run(std::shared_ptr<const StreamHandler> handler,
                                        ServerStream stream) {
  Outcome outcome;
  try {
    auto running = (*handler)(stream);
    outcome = co_await std::move(running);
  } catch (...) {
    outcome = outcome_of(std::current_exception());
  }
  const Metadata& trailers = stream.state_->trailers;
  outcome.trailers.insert(outcome.trailers.begin(), trailers.begin(), trailers.end());
  stream.call_->finish(outcome);
  // Asio awaits something once more before it lets go of us. If the call was cancelled meanwhile, that would throw where
  // nobody catches.
  co_await asio::this_coro::throw_if_cancelled(false);
}

Handler coroutine(StreamHandler handler, Begins begins) {
  const auto shared = std::make_shared<const StreamHandler>(std::move(handler));
  const auto take = [shared](const std::shared_ptr<ServerCall>& call) {
    const ServerStream stream(call);
    const auto state = stream.state_;
    auto running = ServerStream::run(shared, stream);
    // The signal lives as long as something may listen to it.
    const auto finished = [state](const std::exception_ptr&) {};
    asio::co_spawn(call->executor(), std::move(running),
                   asio::bind_cancellation_slot(state->cancelled.slot(), finished));
  };
  return {.take = take, .begins = begins};
}

// --- client ---

struct ClientStream::State {
  std::shared_ptr<ClientCall> call;
  std::optional<Metadata> headers;
  std::optional<std::string> message;
  std::optional<Outcome> outcome;
  bool is_full = false;
  Signal readable;
  Signal writable;

  explicit State(std::shared_ptr<ClientCall> of) : call(std::move(of)) {}
  ~State() { call->cancel(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void tell(CallEvent event) {
    match(
        event,
        [this](Headers& taken) {
          headers = std::move(taken.metadata);
          readable.raise();
        },
        [this](Message& arrived) {
          message = std::move(arrived.bytes);
          readable.raise();
        },
        [](const HalfClosed&) {},
        [this](const Writable&) {
          is_full = false;
          writable.raise();
        },
        [this](Finished& finished) {
          outcome = std::move(finished.outcome);
          readable.raise();
          writable.raise();
        });
  }
};

ClientStream::ClientStream(std::shared_ptr<ClientCall> call)
    : state_(std::make_shared<State>(std::move(call))) {
  // Weak, so that the call ends with the last copy of the stream.
  state_->call->start([weak = std::weak_ptr(state_)](CallEvent event) {
    if (const auto state = weak.lock()) state->tell(std::move(event));
  });
}

asio::awaitable<std::optional<std::string>> ClientStream::read() {
  const auto state = state_;
  if (!state->message && !state->outcome) state->call->want();
  while (!state->message && !state->outcome) co_await state->readable.wait();
  co_return std::exchange(state->message, std::nullopt);
}

asio::awaitable<bool> ClientStream::write(Payload message) {
  const auto state = state_;
  if (state->outcome) co_return false;
  state->is_full = !state->call->send(std::move(message));
  while (state->is_full && !state->outcome) co_await state->writable.wait();
  co_return !state->outcome;
}

void ClientStream::half_close() { state_->call->half_close(); }

void ClientStream::cancel() { state_->call->cancel(); }

asio::awaitable<std::optional<Metadata>> ClientStream::headers() {
  const auto state = state_;
  while (!state->headers && !state->outcome) co_await state->readable.wait();
  co_return state->headers;
}

asio::awaitable<Outcome> ClientStream::finish() {
  const auto state = state_;
  state->message.reset();
  while (!state->outcome) {
    state->call->want();
    while (!state->message && !state->outcome) co_await state->readable.wait();
    state->message.reset();
  }
  co_return *state->outcome;
}

namespace {

asio::awaitable<Result<std::string>> ask(std::shared_ptr<ClientCall> with, Payload request) {
  ClientStream call(std::move(with));
  co_await call.write(std::move(request));
  call.half_close();
  auto answer = co_await call.read();
  const Outcome outcome = co_await call.finish();
  if (!outcome.status) co_return fail(outcome.status.error());
  if (!answer) co_return fail(Code::kInternal, "the server answered OK without a message");
  co_return std::move(*answer);
}

}  // namespace

asio::awaitable<Result<std::string>> unary(Channel& channel, std::string method, Payload request,
                                           CallOptions options) {
  return ask(channel.call(std::move(method), std::move(options)), std::move(request));
}

}  // namespace tiphys::rpc
