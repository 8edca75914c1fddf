#include "io/rpc/message_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace tiphys::rpc {

namespace {

// A peer that has sent this part of what it announced is given the room for the rest: growing step by step would copy a
// large message several times, and whoever only announces one should not have its memory.
constexpr std::size_t kShareBelieved = 8;

Error too_large(std::string_view what, std::size_t limit) {
  return {Code::kResourceExhausted, "received message larger than the limit: " + std::string(what) +
                                        ", the limit is " + std::to_string(limit) + " bytes"};
}

struct Inflater {
  z_stream stream{};
  bool is_ready =
      inflateInit2(&stream, 15 + 16) == Z_OK;  // 15 bits of window, 16 for gzip's framing

  Inflater() = default;
  ~Inflater() {
    if (is_ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

Result<std::string> gunzip(std::string_view compressed, std::size_t limit) {
  Inflater inflater;
  if (!inflater.is_ready)
    return fail(Code::kResourceExhausted, "no memory to decompress a message");
  z_stream& stream = inflater.stream;
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string plain;
  char chunk[16 * kKiB];
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    const int answer = inflate(&stream, Z_NO_FLUSH);
    plain.append(chunk, sizeof chunk - stream.avail_out);
    if (plain.size() > limit) return fail(too_large("decompressed it is more", limit));
    if (answer == Z_STREAM_END && stream.avail_in == 0) return plain;
    if (answer == Z_STREAM_END || answer != Z_OK)
      return fail(Code::kInternal, "received a message that is not valid gzip");
  }
}

}  // namespace

MessageReader::MessageReader(std::size_t message_limit, std::shared_ptr<ReceiveBudget> budget)
    : limit_(message_limit), budget_(std::move(budget)) {}

MessageReader::~MessageReader() { budget_->give_back(held_); }

Result<std::size_t> MessageReader::push(std::string_view bytes) {
  std::size_t taken = 0;
  if (head_size_ < head_.size()) {
    taken = std::min(bytes.size(), head_.size() - head_size_);
    std::memcpy(head_.data() + head_size_, bytes.data(), taken);
    head_size_ = static_cast<std::uint8_t>(head_size_ + taken);
    if (head_size_ < head_.size()) return taken;
    TIPHYS_REQUIRE(begin());
  }
  const std::size_t part = std::min(bytes.size() - taken, length_ - body_.size());
  if (!budget_->take(part))
    return fail(Code::kResourceExhausted,
                "the memory for messages that are being received is used up; try again later");
  held_ += part;
  if (body_.size() + part >= length_ / kShareBelieved) body_.reserve(length_);
  body_.append(bytes.substr(taken, part));
  if (body_.size() == length_) TIPHYS_REQUIRE(finish());
  return taken + part;
}

Status MessageReader::begin() {
  if (head_[0] != 0 && head_[0] != 1)
    return fail(Code::kInternal, "received a message with an unknown compression flag");
  if (head_[0] == 1 && encoding_ == Encoding::kIdentity)
    return fail(Code::kInternal, "received a compressed message without a grpc-encoding");
  length_ = 0;
  for (const char byte : std::string_view(head_.data() + 1, 4))
    length_ = length_ << 8 | static_cast<unsigned char>(byte);
  if (length_ > limit_)
    return fail(too_large("found " + std::to_string(length_) + " bytes", limit_));
  return {};
}

Status MessageReader::finish() {
  if (head_[0] == 1) {
    TIPHYS_TRY(body_, gunzip(body_, limit_));
  }
  budget_->give_back(held_);
  held_ = 0;
  is_complete_ = true;
  return {};
}

std::string MessageReader::take() {
  TIPHYS_CHECK(is_complete_, "no message is complete");
  is_complete_ = false;
  head_size_ = 0;
  return std::exchange(body_, {});
}

}  // namespace tiphys::rpc
