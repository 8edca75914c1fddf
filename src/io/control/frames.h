#pragma once

// How messages stand in a pipe: the length as a varint, then that many bytes. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tiphys::control {

// Peers were always allowed this many bytes for a length, however little it says.
inline constexpr std::size_t kMaxLengthBytes = 19;
inline constexpr std::size_t kMaxMessage = std::size_t{64} << 20U;

// The message with its length before it.
std::string to_frame(std::string_view message);

class FrameReader {
 public:
  enum class Found : std::uint8_t {
    kNothing,   // more bytes are needed
    kMessage,   // to be taken
    kOverlong,  // a length that does not end; the next byte may begin another
    kTooLong,   // a message longer than the limit: nobody knows where the next one begins
  };

  explicit FrameReader(std::size_t limit = kMaxMessage) : limit_(limit) {}

  // Takes bytes off the front, up to the end of one message or of one offence.
  [[nodiscard]] Found push(std::string_view& bytes);
  // After kMessage.
  [[nodiscard]] std::string take();
  // Forgets a message that has only begun.
  void reset();

 private:
  [[nodiscard]] bool add_to_length(unsigned char byte);

  const std::size_t limit_;
  std::size_t length_bytes_ = 0;
  std::uint64_t length_ = 0;
  bool is_length_complete_ = false;
  bool has_overflown_ = false;
  std::string message_;
};

}  // namespace tiphys::control
