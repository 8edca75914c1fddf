#pragma once

// Takes gRPC's length-prefixed messages out of a stream of bytes, one at a time: a flag, four bytes of length, the
// message, perhaps compressed with gzip. What it holds grows with what has arrived, never with what was announced.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/rpc/limits.h"

namespace tiphys::rpc {

enum class Encoding : std::uint8_t { kIdentity, kGzip };

constexpr std::string_view kAcceptedEncodings = "identity,gzip";

// The five bytes before a message that is sent: never compressed.
class MessageHead {
 public:
  explicit MessageHead(std::size_t length)
      : bytes_{0, static_cast<char>(length >> 24), static_cast<char>(length >> 16),
               static_cast<char>(length >> 8), static_cast<char>(length)} {}
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, 5> bytes_;
};

class MessageReader {
 public:
  MessageReader(std::size_t message_limit, std::shared_ptr<ReceiveBudget> budget);
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  void set_encoding(Encoding encoding) { encoding_ = encoding; }

  // Takes bytes up to the end of the message that is under way, and answers how many.
  Result<std::size_t> push(std::string_view bytes);
  [[nodiscard]] bool has_message() const { return is_complete_; }
  std::string take();
  // Whether the stream would be cut short if it ended now.
  [[nodiscard]] bool is_inside_message() const { return head_size_ > 0; }

 private:
  Status begin();
  Status finish();

  std::size_t limit_;
  std::shared_ptr<ReceiveBudget> budget_;
  std::array<char, 5> head_{};
  std::string body_;
  std::size_t length_ = 0;
  std::size_t held_ = 0;  // of the budget
  std::uint8_t head_size_ = 0;
  Encoding encoding_ = Encoding::kIdentity;
  bool is_complete_ = false;
};

}  // namespace tiphys::rpc
