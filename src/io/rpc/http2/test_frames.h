#pragma once

// HTTP/2 frames by hand, for tests that must send what no library would, or look at every byte of what we send.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_hd_inflater;

namespace tiphys::rpc::http2 {

enum class FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kAck = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

using HeaderList = std::vector<std::pair<std::string, std::string>>;

std::string frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload = {});
// Big-endian, as many bytes as are asked for.
std::string number(std::uint64_t value, int bytes);
// A block of fields without compression: each a literal that is not indexed.
std::string block(const HeaderList& fields);
std::string settings(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& entries = {});
// A gRPC message with its five bytes before.
std::string message(std::string_view body, char flag = 0);

// The fields of a good request.
HeaderList request_fields(const std::string& path);
// A request's head as a frame.
std::string request(std::uint32_t stream, const std::string& path,
                    std::uint8_t flags = kEndHeaders);

struct Frame {
  FrameType type;
  std::uint8_t flags;
  std::uint32_t stream;
  std::string payload;
  HeaderList fields = {};  // of HEADERS, when a FrameReader made it

  [[nodiscard]] std::uint32_t code() const;  // the number that RST_STREAM and WINDOW_UPDATE hold
  [[nodiscard]] bool ends_stream() const {
    return (type == FrameType::kData || type == FrameType::kHeaders) && (flags & kEndStream) != 0;
  }
};

// Takes the bytes of one direction apart.
class FrameReader {
 public:
  explicit FrameReader(bool expects_preface = false);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  std::vector<Frame> push(std::string_view bytes);

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string rest_;
  bool expects_preface_;
};

}  // namespace tiphys::rpc::http2
