#pragma once

// A peer without manners: a blocking TCP socket, and header blocks that say whatever the test wants. Every wait has a limit, after which the test fails.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/host/descriptor.h"
#include "io/rpc/http2/test_frames.h"

namespace tiphys::rpc {

using http2::Frame;
using http2::frame;
using http2::FrameType;
using http2::kAck;
using http2::kEndHeaders;
using http2::kEndStream;
using http2::message;
using http2::number;

// --- bytes ---

// Preface and settings of a client, and the settings of a server.
std::string client_hello(std::string_view settings = {});
std::string server_hello(std::string_view settings = {});
std::string setting(std::uint16_t name, std::uint32_t value);
std::string window_update(std::uint32_t stream, std::uint32_t increment);

// HPACK without Huffman: an integer behind a prefix of so many bits, a field that the table does not keep, one that it
// keeps, and a reference to an entry of the table.
std::string integer(std::uint8_t first, int prefix_bits, std::uint64_t value);
std::string field(std::string_view name, std::string_view value);
std::string kept_field(std::string_view name, std::string_view value);
std::string reference(std::uint64_t index);

// The fields of a gRPC request for this method, the head of an answer, and trailers.
std::string request_block(std::string_view method);
std::string answer_block();
std::string trailers_block(std::string_view status);
// The grpc-status in a block that our side made, as text; empty when there is none.
std::string grpc_status(const std::string& block);
// A whole request's head in one frame.
std::string request_head(std::uint32_t stream, std::string_view method,
                         std::uint8_t more_flags = 0);

// gRPC's prefix for a message of that length.
std::string message_prefix(std::uint32_t length, std::uint8_t flag = 0);

// --- sockets ---

class RawSocket {
 public:
  RawSocket() = default;
  explicit RawSocket(host::Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  // "127.0.0.1:4711"
  static RawSocket connect(const std::string& address);

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }
  // False when the peer has closed the connection.
  bool send(std::string_view bytes);
  // Nothing at the end of the connection. Only complete frames count.
  std::optional<Frame> read_frame();
  // The next frame of this type; others before it are dropped.
  std::optional<Frame> await_frame(FrameType type);
  // Everything up to the end of one stream: its frames of headers and data, or the reset.
  std::optional<Frame> await_end_of(std::uint32_t stream);
  // Reads and drops until the peer closes or resets the connection.
  void await_close();
  // As a server: takes the client's preface.
  bool read_preface();

  void close() { descriptor_ = {}; }
  void half_close();
  // Closes so that the peer sees "connection reset".
  void reset();

 private:
  bool fill(std::size_t wanted);

  host::Descriptor descriptor_;
  std::string received_;
};

class RawListener {
 public:
  RawListener();

  [[nodiscard]] std::string url() const { return "http://" + address_; }
  [[nodiscard]] std::string secure_url() const { return "https://" + address_; }
  RawSocket accept();
  // Nothing when none came for a moment.
  std::optional<RawSocket> accept_if_there();

 private:
  host::Descriptor descriptor_;
  std::string address_;
};

}  // namespace tiphys::rpc
