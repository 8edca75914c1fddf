#include "io/rpc/inbox.h"

#include <utility>

namespace tiphys::rpc {

Inbox::~Inbox() {
  if (bytes_) limits_.budget->give_back(bytes_->waiting.size() - bytes_->from);
}

Status Inbox::add(std::string_view bytes, HttpStream& stream) {
  if (!bytes_) {
    bytes_.reset(new Bytes{.reader = {limits_.message, limits_.budget}});
    bytes_->reader.set_encoding(encoding_);
  }
  auto& [reader, waiting, from] = *bytes_;
  if (is_wanted_ && waiting.empty() && !reader.has_message()) {
    TIPHYS_TRY(const std::size_t taken, reader.push(bytes));
    stream.consume(taken);
    bytes.remove_prefix(taken);
  }
  if (bytes.empty()) return {};
  if (!limits_.budget->take(bytes.size()))
    return fail(Code::kResourceExhausted,
                "the memory for messages that are being received is used up; try again later");
  // What was taken makes room: else a peer that is always ahead of the reader would let this grow for ever.
  if (from > waiting.size() / 2) {
    waiting.erase(0, from);
    from = 0;
  }
  waiting.append(bytes);
  return {};
}

Status Inbox::read_waiting(HttpStream* stream) {
  if (!bytes_) return {};
  auto& [reader, waiting, from] = *bytes_;
  while (!waiting.empty() && !reader.has_message()) {
    TIPHYS_TRY(const std::size_t taken, reader.push(std::string_view(waiting).substr(from)));
    limits_.budget->give_back(taken);
    if (stream) stream->consume(taken);
    from += taken;
    if (from == waiting.size()) {
      waiting = {};
      from = 0;
    }
  }
  return {};
}

Result<bool> Inbox::is_ready(HttpStream* stream) {
  TIPHYS_REQUIRE(read_waiting(stream));
  if (bytes_ && bytes_->reader.has_message()) return true;
  return is_exhausted();
}

Result<std::optional<std::string>> Inbox::take(HttpStream* stream) {
  if (!is_wanted_) return std::nullopt;
  TIPHYS_REQUIRE(read_waiting(stream));
  if (!bytes_ || !bytes_->reader.has_message()) return std::nullopt;
  is_wanted_ = false;
  return bytes_->reader.take();
}

Result<bool> Inbox::is_exhausted() const {
  if (!is_ended_) return false;
  if (!bytes_) return true;
  if (!bytes_->waiting.empty() || bytes_->reader.has_message()) return false;
  if (bytes_->reader.is_inside_message())
    return fail(Code::kInternal, "the stream ended in the middle of a message");
  return true;
}

}  // namespace tiphys::rpc
