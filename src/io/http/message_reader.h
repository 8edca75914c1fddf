#pragma once

// HTTP/1.1 messages from bytes, however they were cut: give it what came, it takes what it understands. No socket, no clock.
// What it refuses is refused for good; strictness where two readers of the same bytes could disagree about where a
// message ends (request smuggling).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "io/http/message.h"

namespace tiphys::http {

struct RequestHead {
  std::string method;
  std::string target;
  bool is_1_1 = true;  // else HTTP/1.0
  Headers headers{};
  std::optional<std::uint64_t> content_length{};
  bool is_chunked = false;

  [[nodiscard]] bool has_body() const { return is_chunked || content_length.value_or(0) > 0; }
};

struct ResponseHead {
  int status = 0;
  bool is_1_1 = true;
  Headers headers{};
};

// Why a message is refused, and the status with which a server says so.
struct Refusal {
  int status = 400;
  std::string message;
};

enum class Progress : std::uint8_t {
  kNeedsMore,
  kHead,  // told once, before anything of the body is read
  kDone,  // what is left belongs to the next message
};

class RequestReader {
 public:
  explicit RequestReader(std::size_t max_head_bytes);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  // Removes from the front of the bytes what it has read.
  tl::expected<Progress, Refusal> read(std::string& bytes);

  // Once the head is there.
  [[nodiscard]] const RequestHead& head() const;
  // A longer body is refused with 413. Before the body is read.
  void limit_body(std::size_t bytes);
  // What has come of the body so far.
  [[nodiscard]] std::string& body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseReader {
 public:
  // The answer to a HEAD request has no body, whatever it announces.
  ResponseReader(std::size_t max_head_bytes, bool to_head_request);
  ~ResponseReader();
  ResponseReader(ResponseReader&&) noexcept;
  ResponseReader& operator=(ResponseReader&&) noexcept;

  tl::expected<Progress, Refusal> read(std::string& bytes);
  // The peer sends no more: the end of some bodies, a broken message otherwise.
  tl::expected<Progress, Refusal> end();

  [[nodiscard]] const ResponseHead& head() const;
  // What has come of the body and was not taken yet.
  [[nodiscard]] std::string take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiphys::http
