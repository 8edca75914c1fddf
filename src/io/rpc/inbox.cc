#include "io/rpc/inbox.h"

#include <utility>

namespace tiphys::rpc {

Inbox::Inbox(const CallLimits& limits)
    : reader_(limits.message, limits.budget), budget_(limits.budget) {}

Inbox::~Inbox() { budget_->give_back(waiting_.size() - waiting_from_); }

Status Inbox::add(std::string_view bytes, HttpStream& stream) {
  if (is_wanted_ && waiting_.empty() && !reader_.has_message()) {
    TIPHYS_TRY(const std::size_t taken, reader_.push(bytes));
    stream.consume(taken);
    bytes.remove_prefix(taken);
  }
  if (bytes.empty()) return {};
  if (!budget_->take(bytes.size()))
    return fail(Code::kResourceExhausted,
                "the memory for messages that are being received is used up; try again later");
  // What was taken makes room: else a peer that is always ahead of the reader would let this grow for ever.
  if (waiting_from_ > waiting_.size() / 2) {
    waiting_.erase(0, waiting_from_);
    waiting_from_ = 0;
  }
  waiting_.append(bytes);
  return {};
}

Status Inbox::read_waiting(HttpStream* stream) {
  while (!waiting_.empty() && !reader_.has_message()) {
    TIPHYS_TRY(const std::size_t taken,
               reader_.push(std::string_view(waiting_).substr(waiting_from_)));
    budget_->give_back(taken);
    if (stream) stream->consume(taken);
    waiting_from_ += taken;
    if (waiting_from_ == waiting_.size()) {
      waiting_ = {};
      waiting_from_ = 0;
    }
  }
  return {};
}

Result<bool> Inbox::is_ready(HttpStream* stream) {
  TIPHYS_REQUIRE(read_waiting(stream));
  if (reader_.has_message()) return true;
  return is_exhausted();
}

Result<std::optional<std::string>> Inbox::take(HttpStream* stream) {
  if (!is_wanted_) return std::nullopt;
  TIPHYS_REQUIRE(read_waiting(stream));
  if (!reader_.has_message()) return std::nullopt;
  is_wanted_ = false;
  return reader_.take();
}

Result<bool> Inbox::is_exhausted() const {
  if (!is_ended_ || !waiting_.empty() || reader_.has_message()) return false;
  if (reader_.is_inside_message())
    return fail(Code::kInternal, "the stream ended in the middle of a message");
  return true;
}

}  // namespace tiphys::rpc
