#include "io/rpc/http2/test_frames.h"

#include <nghttp2/nghttp2.h>

namespace tiphys::rpc::http2 {

namespace {

std::uint32_t read_number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// An integer with a prefix of seven bits, as HPACK writes lengths.
std::string length_of(std::string_view text) {
  std::size_t length = text.size();
  if (length < 127) return {static_cast<char>(length)};
  std::string bytes(1, 127);
  for (length -= 127; length >= 128; length /= 128) bytes += static_cast<char>(length % 128 | 128);
  return bytes + static_cast<char>(length);
}

}  // namespace

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
    text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

std::string frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
  std::string bytes = number(payload.size(), 3);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  return bytes.append(number(stream, 4)).append(payload);
}

std::string block(const HeaderList& fields) {
  std::string bytes;
  for (const auto& [name, value] : fields)
    bytes.append(1, '\0')
        .append(length_of(name))
        .append(name)
        .append(length_of(value))
        .append(value);
  return bytes;
}

std::string settings(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& entries) {
  std::string payload;
  for (const auto& [id, value] : entries) payload.append(number(id, 2)).append(number(value, 4));
  return frame(FrameType::kSettings, 0, 0, payload);
}

std::string message(std::string_view body, char flag) {
  return std::string(1, flag).append(number(body.size(), 4)).append(body);
}

HeaderList request_fields(const std::string& path) {
  return {{":method", "POST"},    {":scheme", "http"}, {":path", path},
          {":authority", "test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
}

std::string request(std::uint32_t stream, const std::string& path, std::uint8_t flags) {
  return frame(FrameType::kHeaders, flags, stream, block(request_fields(path)));
}

std::uint32_t Frame::code() const { return read_number(std::string_view(payload).substr(0, 4)); }

FrameReader::FrameReader(bool expects_preface) : expects_preface_(expects_preface) {
  nghttp2_hd_inflate_new(&inflater_);
}

FrameReader::~FrameReader() { nghttp2_hd_inflate_del(inflater_); }

std::vector<Frame> FrameReader::push(std::string_view bytes) {
  rest_.append(bytes);
  if (expects_preface_ && rest_.size() >= kPreface.size()) {
    rest_.erase(0, kPreface.size());
    expects_preface_ = false;
  }
  std::vector<Frame> frames;
  while (!expects_preface_ && rest_.size() >= 9) {
    const std::size_t length = read_number(std::string_view(rest_).substr(0, 3));
    if (rest_.size() < 9 + length) break;
    Frame next{static_cast<FrameType>(rest_[3]),
               static_cast<std::uint8_t>(rest_[4]),
               read_number(std::string_view(rest_).substr(5, 4)),
               rest_.substr(9, length),
               {}};
    rest_.erase(0, 9 + length);
    if (next.type == FrameType::kHeaders) {
      auto* at = reinterpret_cast<std::uint8_t*>(next.payload.data());
      std::size_t left = next.payload.size();
      for (;;) {
        nghttp2_nv pair;
        int flags = 0;
        const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &pair, &flags, at, left, 1);
        if (used < 0) break;
        at += used;
        left -= static_cast<std::size_t>(used);
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
          next.fields.emplace_back(std::string(reinterpret_cast<char*>(pair.name), pair.namelen),
                                   std::string(reinterpret_cast<char*>(pair.value), pair.valuelen));
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
          nghttp2_hd_inflate_end_headers(inflater_);
          break;
        }
      }
    }
    frames.push_back(std::move(next));
  }
  return frames;
}

}  // namespace tiphys::rpc::http2
