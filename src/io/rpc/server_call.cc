#include "io/rpc/server_call.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace tiphys::rpc {

namespace {

Fields response_head() {
  Fields head;
  head.add(":status", "200");
  head.add("content-type", "application/grpc");
  return head;
}

}  // namespace

ServerCall::ServerCall(std::shared_ptr<const Context> context, HttpStream& stream, Request request,
                       const Method& method)
    : context_(std::move(context)),
      stream_(&stream),
      method_(&method),
      deadline_(request.deadline.value_or(Deadlines::Time::max())),
      inbox_(context_->limits),
      held_(static_cast<std::uint32_t>(request.held)) {
  inbox_.set_encoding(request.encoding);
  if (method.name && request.metadata.empty()) return;
  begun_ = std::make_unique<Begun>();
  begun_->metadata = std::move(request.metadata);
  if (!method.name) begun_->method = std::make_shared<const std::string>(request.method);
}

ServerCall::~ServerCall() {
  drop_timer();
  give_back_held();
}

void ServerCall::give_back_held() { context_->limits.budget->give_back(std::exchange(held_, 0)); }

std::optional<Deadlines::Time> ServerCall::deadline() const {
  return deadline_ == Deadlines::Time::max() ? std::nullopt : std::optional(deadline_);
}

void ServerCall::accept(bool end) {
  if (method_->handler.begins == Begins::kAtOnce) {
    if (end) inbox_.end();
    hand_over();
    return;
  }
  inbox_.want();
  context_->deadlines->add(std::min(context_->limits.first_message, time_left()), *this);
  if (end) on_end();
}

void ServerCall::start(Tell tell) {
  begun_->tell = std::make_shared<const Tell>(std::move(tell));
  deliver();
}

void ServerCall::want() {
  inbox_.want();
  deliver();
}

void ServerCall::send_headers(const Metadata& metadata) {
  if (!stream_ || is_finished_ || has_sent_headers_) return;
  has_sent_headers_ = true;
  static const Fields kPlainHead = response_head();
  if (metadata.empty()) return stream_->send_fields(kPlainHead, false);
  Fields head = kPlainHead;
  append(head, metadata);
  stream_->send_fields(head, false);
}

bool ServerCall::send(Payload message) {
  if (!stream_ || is_finished_) return true;
  send_headers();
  const std::size_t warn_above = context_->limits.warn_above;
  if (warn_above > 0 && message.size() > warn_above && context_->on_large)
    context_->on_large(stream_->connection(), method(), message.size());
  const MessageHead head(message.size());
  stream_->send_data(head.bytes(), std::move(message));
  return stream_->has_room();
}

void ServerCall::finish(const Outcome& outcome) {
  if (std::exchange(is_finished_, true)) return;
  if (begun_) begun_->outcome = outcome;
  drop_timer();
  if (!stream_) return;
  if (has_sent_headers_) {
    stream_->send_trailers(to_trailers(outcome, stream_->connection().field_limit()));
  } else {
    refuse(*stream_, outcome);
  }
}

void ServerCall::on_fields(const Fields&) {}  // gRPC's clients send no trailers

void ServerCall::on_data(std::string_view bytes) {
  if (is_finished_) {
    stream_->consume(bytes.size());
    return;
  }
  if (const Status added = inbox_.add(bytes, *stream_); !added) return abort_for(added.error());
  deliver();
}

void ServerCall::on_end() {
  inbox_.end();
  deliver();
}

void ServerCall::on_writable() {
  if (!is_finished_) tell_event(Writable{});
}

void ServerCall::on_closed(const StreamEnd& end) {
  const auto self = shared_from_this();
  if (end.kind == StreamEnd::Kind::kReset && end.reset == Reset::kEnhanceYourCalm)
    context_->on_offence(stream_->connection(), {Code::kResourceExhausted,
                                                 "a stream was given up: its bytes are not taken"});
  stream_ = nullptr;
  drop_timer();
  method_ = nullptr;
  if (!std::exchange(is_finished_, true) && begun_) {
    const bool is_lost = end.kind == StreamEnd::Kind::kLost;
    begun_->outcome = failed(Code::kCancelled,
                             is_lost ? "the connection was lost" : "the client cancelled the call");
  }
  if (begun_) tell_finished(begun_->outcome);
}

// Tells what is wanted and there. A handler that asks again while it is being told is answered by the same loop.
void ServerCall::deliver() {
  if (is_delivering_) return;
  const auto self = shared_from_this();
  is_delivering_ = true;
  while (inbox_.is_wanted() && !is_finished_ && (method_ || begun_->tell)) {
    if (method_) {
      // Looks at the first message and leaves it for whoever takes the call.
      const auto is_there = inbox_.is_ready(stream_);
      if (!is_there) {
        abort_for(is_there.error());
        break;
      }
      if (!*is_there) break;
      inbox_.unwant();
      // What the handler asks for is told before it goes on: a unary one never has to wait.
      is_delivering_ = false;
      return hand_over();
    }
    auto message = inbox_.take(stream_);
    if (!message) {
      abort_for(message.error());
      break;
    }
    if (*message) {
      tell_event(Message{std::move(**message)});
      continue;
    }
    const auto is_exhausted = inbox_.is_exhausted();
    if (!is_exhausted) {
      abort_for(is_exhausted.error());
      break;
    }
    if (!*is_exhausted) break;
    inbox_.unwant();
    tell_event(HalfClosed{});
  }
  is_delivering_ = false;
}

void ServerCall::hand_over() {
  drop_timer();
  give_back_held();
  if (deadline()) context_->deadlines->add(time_left(), *this);
  if (!begun_) begun_ = std::make_unique<Begun>();
  if (method_->name) begun_->method = method_->name;
  begun_->peer = stream_->connection().peer();
  std::exchange(method_, nullptr)->handler.take(shared_from_this());
}

Duration ServerCall::time_left() const {
  return deadline() ? deadline_ - std::chrono::steady_clock::now() : Duration::max();
}

void ServerCall::on_time() {
  if (method_ && time_left() > Duration::zero())
    return abort_for({Code::kDeadlineExceeded, "no message arrived in time"});
  abort({Code::kDeadlineExceeded, "the deadline has passed"});
}

void ServerCall::abort(Error error) {
  const auto self = shared_from_this();
  finish(failed(error));
  tell_finished(failed(std::move(error)));
}

void ServerCall::abort_for(const Error& offence) {
  if (stream_) context_->on_offence(stream_->connection(), offence);
  abort(offence);
}

void ServerCall::tell_event(CallEvent event) {
  if (!begun_) return;
  if (const auto tell = begun_->tell) (*tell)(std::move(event));
}

void ServerCall::tell_finished(Outcome outcome) {
  if (!begun_) return;
  if (const auto tell = std::exchange(begun_->tell, nullptr)) (*tell)(Finished{std::move(outcome)});
}

void ServerCall::drop_timer() { context_->deadlines->remove(*this); }

void refuse(HttpStream& stream, const Outcome& outcome, const Fields& more) {
  Fields head = response_head();
  for (const Field& field : more) head.add(field.name, field.value);
  const std::size_t limit = stream.connection().field_limit();
  for (const Field& field : to_trailers(outcome, limit - std::min(limit, head.list_size())))
    head.add(field.name, field.value);
  stream.send_fields(head, true);
}

}  // namespace tiphys::rpc
