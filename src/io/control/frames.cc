#include "io/control/frames.h"

#include <algorithm>
#include <utility>

namespace tiphys::control {
namespace {

constexpr unsigned kMore = 0x80;
constexpr unsigned kPayload = 0x7f;
constexpr std::size_t kPayloadBits = 7;

}  // namespace

// [impl->swdd~agent-uses-length-delimited-protobuf-for-pipes~1]
std::string to_frame(std::string_view message) {
  std::string frame;
  frame.reserve(message.size() + 10);
  std::size_t length = message.size();
  for (; length > kPayload; length >>= kPayloadBits)
    frame.push_back(static_cast<char>((length & kPayload) | kMore));
  frame.push_back(static_cast<char>(length));
  frame.append(message);
  return frame;
}

FrameReader::Found FrameReader::push(std::string_view& bytes) {
  while (!is_length_complete_ && !bytes.empty()) {
    is_length_complete_ = add_to_length(static_cast<unsigned char>(bytes.front()));
    bytes.remove_prefix(1);
    if (is_length_complete_ && (has_overflown_ || length_ > limit_)) {
      reset();
      return Found::kTooLong;
    }
    if (!is_length_complete_ && length_bytes_ == kMaxLengthBytes) {
      reset();
      return Found::kOverlong;
    }
  }
  if (!is_length_complete_) return Found::kNothing;
  // Memory is taken for what has come, not for what is promised.
  const auto part = bytes.substr(0, std::min<std::size_t>(bytes.size(), length_ - message_.size()));
  message_.append(part);
  bytes.remove_prefix(part.size());
  return message_.size() == length_ ? Found::kMessage : Found::kNothing;
}

// True when it was the last byte.
bool FrameReader::add_to_length(unsigned char byte) {
  const std::uint64_t payload = byte & kPayload;
  const std::size_t shift = length_bytes_++ * kPayloadBits;
  if (shift < 64) length_ |= payload << shift;
  if (shift >= 64 ? payload != 0 : (payload << shift) >> shift != payload) has_overflown_ = true;
  return (byte & kMore) == 0;
}

std::string FrameReader::take() {
  std::string message = std::move(message_);
  reset();
  return message;
}

void FrameReader::reset() {
  length_bytes_ = 0;
  length_ = 0;
  is_length_complete_ = false;
  has_overflown_ = false;
  message_ = {};
}

}  // namespace tiphys::control
