#include "io/rpc/client_call.h"

#include <algorithm>
#include <utility>

#include "io/rpc/timeout.h"

namespace tiphys::rpc {

namespace {

constexpr std::size_t kKeptLimit = 1 * kMiB;
constexpr int kMaxAttempts = 5;
constexpr std::string_view kUserAgent = "tiphys/" TIPHYS_VERSION;

}  // namespace

ClientCall::ClientCall(std::shared_ptr<Context> context, std::string method, CallOptions options)
    : context_(std::move(context)),
      method_(std::move(method)),
      options_(std::move(options)),
      inbox_(context_->limits) {
  if (options_.timeout) deadline_ = Deadlines::after(*options_.timeout);
}

ClientCall::~ClientCall() {
  if (timer_) context_->deadlines.remove(*timer_);
}

void ClientCall::start(Tell tell) {
  tell_ = std::make_shared<const Tell>(std::move(tell));
  const auto self = shared_from_this();
  if (const Status good = check(options_.metadata); !good) return fail(good.error());
  if (deadline_)
    timer_ = context_->deadlines.add(
        *deadline_ - std::chrono::steady_clock::now(), [weak = weak_from_this()] {
          const auto call = weak.lock();
          if (!call) return;
          call->timer_.reset();
          call->fail({Code::kDeadlineExceeded, "the deadline has passed"});
        });
  if (context_->connect) {
    context_->connect(self);
  } else {
    fail({Code::kUnavailable, "the channel is closed"});
  }
}

void ClientCall::want() {
  inbox_.want();
  deliver();
}

bool ClientCall::send(Payload message) {
  if (is_finished_ || is_half_closed_) return true;
  if (!stream_ || is_kept_) {
    // The copy that is kept shares its bytes with the one that is sent.
    if (!message.own.empty() && !message.shared)
      message = {.own = {}, .shared = std::make_shared<const std::string>(std::move(message.own))};
    kept_bytes_ += message.size();
    kept_.push_back(message);
  }
  if (!stream_) {
    is_full_ = kept_bytes_ >= kKeptLimit;
    return !is_full_;
  }
  if (is_kept_ && kept_bytes_ > kKeptLimit) {
    is_kept_ = false;
    kept_.clear();
  }
  const MessageHead head(message.size());
  stream_->send_data(head.bytes(), std::move(message));
  is_full_ = !stream_->has_room();
  return !is_full_;
}

void ClientCall::half_close() {
  if (is_finished_ || std::exchange(is_half_closed_, true)) return;
  if (stream_) stream_->end();
}

void ClientCall::cancel() { fail({Code::kCancelled, "the call was cancelled"}); }

bool ClientCall::open_on(HttpConnection& connection) {
  if (is_finished_) return true;
  ++attempts_;
  stream_ = connection.open(request_head(connection.origin()), shared_from_this());
  if (!stream_) return false;
  for (const Payload& message : kept_) {
    const MessageHead head(message.size());
    stream_->send_data(head.bytes(), message);
  }
  if (kept_bytes_ > kKeptLimit) {
    is_kept_ = false;
    kept_.clear();
  }
  if (is_half_closed_) {
    stream_->end();
  } else if (is_full_ && stream_->has_room()) {
    on_writable();
  }
  return true;
}

Fields ClientCall::request_head(const Origin& origin) const {
  Fields head;
  head.add(":method", "POST");
  head.add(":scheme", origin.scheme);
  head.add(":path", method_);
  head.add(":authority", origin.authority);
  head.add("te", "trailers");
  head.add("content-type", "application/grpc");
  head.add("user-agent", kUserAgent);
  head.add("grpc-accept-encoding", kAcceptedEncodings);
  if (deadline_)
    head.add("grpc-timeout", format_timeout(*deadline_ - std::chrono::steady_clock::now()));
  append(head, options_.metadata);
  return head;
}

void ClientCall::on_fields(const Fields& fields) {
  if (outcome_ || is_finished_) return;
  if (fields.is_too_large())
    return end_with(failed(Code::kResourceExhausted, "the answer's header fields are too large"));
  if (!has_head_) {
    take_head(fields);
  } else {
    outcome_ = outcome_of_trailers(fields);
  }
}

void ClientCall::take_head(const Fields& head) {
  const std::string_view status = head.find(":status").value_or("");
  if (status.starts_with('1')) return;  // only says that the answer will come
  has_head_ = true;
  kept_.clear();
  is_kept_ = false;
  if (status != "200") return end_with(failed(error_of_http_status(status)));
  const std::string_view type = head.find("content-type").value_or("");
  if (!type.starts_with("application/grpc"))
    return end_with(failed(Code::kUnknown, "the answer's content-type is '" + std::string(type) +
                                               "', not application/grpc"));
  if (head.find("grpc-status")) {
    outcome_ = outcome_of_trailers(head);  // told when the stream ends
    return;
  }
  const std::string_view encoding = head.find("grpc-encoding").value_or("identity");
  if (encoding == "gzip") {
    inbox_.set_encoding(Encoding::kGzip);
  } else if (encoding != "identity") {
    return end_with(failed(
        Code::kInternal, "the answer's grpc-encoding '" + std::string(encoding) + "' is unknown"));
  }
  tell_event(Headers{metadata_of(head)});
}

void ClientCall::on_data(std::string_view bytes) {
  if (is_finished_ || (outcome_ && !outcome_->status)) {
    stream_->consume(bytes.size());
    return;
  }
  if (const Status added = inbox_.add(bytes, *stream_); !added)
    return end_with(failed(added.error()));
  deliver();
}

void ClientCall::on_end() {
  inbox_.end();
  if (!outcome_) outcome_ = failed(Code::kUnknown, "the answer ended without a grpc-status");
  // Nothing that we still say would be read.
  if (stream_ && !is_half_closed_) stream_->reset(Reset::kCancel);
  deliver();
}

void ClientCall::on_writable() {
  is_full_ = false;
  tell_event(Writable{});
}

bool ClientCall::may_try_again(const StreamEnd& end) const {
  return !is_finished_ && !has_head_ && !outcome_ && is_kept_ && end.is_unprocessed &&
         attempts_ < kMaxAttempts && context_->connect;
}

// A server that gives the stream up at its deadline may be quicker than our timer.
Error ClientCall::error_of(const StreamEnd& end) const {
  const bool is_cancel = end.kind == StreamEnd::Kind::kReset && end.reset == Reset::kCancel;
  if (is_cancel && deadline_ && std::chrono::steady_clock::now() >= *deadline_)
    return {Code::kDeadlineExceeded, "the deadline has passed"};
  return error_of_end(end);
}

void ClientCall::on_closed(const StreamEnd& end) {
  const auto self = shared_from_this();
  stream_ = nullptr;
  if (may_try_again(end)) return context_->connect(self);
  inbox_.end();
  if (!outcome_) outcome_ = failed(error_of(end));
  deliver();
}

// Messages that are wanted, then the outcome once none is left.
void ClientCall::deliver() {
  if (is_delivering_ || is_finished_) return;
  const auto self = shared_from_this();
  is_delivering_ = true;
  while (!is_finished_ && tell_) {
    auto message = inbox_.take(stream_);
    if (!message) {
      end_with(failed(message.error()));
      break;
    }
    if (*message) {
      tell_event(Message{std::move(**message)});
      continue;
    }
    if (outcome_) {
      const auto is_exhausted = inbox_.is_exhausted();
      if (!is_exhausted) {
        // Cut short: the reason, if there is one, says more than where.
        finish(outcome_->status ? failed(is_exhausted.error()) : *outcome_);
      } else if (*is_exhausted) {
        finish(*outcome_);
      }
    }
    break;
  }
  is_delivering_ = false;
}

// The owner may end the call while it is told something: what tells is kept until it has returned.
void ClientCall::tell_event(CallEvent event) {
  if (const auto tell = tell_) (*tell)(std::move(event));
}

void ClientCall::fail(Error error) { end_with(failed(std::move(error))); }

// Ends the call from our side.
void ClientCall::end_with(Outcome outcome) {
  if (is_finished_) return;
  const auto self = shared_from_this();
  if (stream_) stream_->reset(Reset::kCancel);
  finish(std::move(outcome));
}

void ClientCall::finish(Outcome outcome) {
  is_finished_ = true;
  kept_.clear();
  if (timer_) context_->deadlines.remove(*std::exchange(timer_, std::nullopt));
  if (const auto tell = std::exchange(tell_, nullptr)) (*tell)(Finished{std::move(outcome)});
}

}  // namespace tiphys::rpc
