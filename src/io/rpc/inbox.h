#pragma once

// The receiving half of a call: bytes when the peer sends them, messages when the owner wants them. Bytes of a message
// that is wanted go back to the peer's window as they come; all others only once somebody wants them.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/rpc/http_stream.h"
#include "io/rpc/limits.h"
#include "io/rpc/message_reader.h"

namespace tiphys::rpc {

class Inbox {
 public:
  // The limits outlive it.
  explicit Inbox(const CallLimits& limits) : limits_(limits) {}
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Before anything is added.
  void set_encoding(Encoding encoding) { encoding_ = encoding; }

  void want() { is_wanted_ = true; }
  void unwant() { is_wanted_ = false; }
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }

  // Bytes from the peer. The stream gets back what is taken.
  Status add(std::string_view bytes, HttpStream& stream);
  // The peer sends nothing more.
  void end() { is_ended_ = true; }

  // Whether a message that is wanted is complete, or none will come. The stream is null when it has gone.
  Result<bool> is_ready(HttpStream* stream);
  // That message.
  Result<std::optional<std::string>> take(HttpStream* stream);
  // All messages were taken and none will come. An error when the last one is cut short.
  [[nodiscard]] Result<bool> is_exhausted() const;

 private:
  Status read_waiting(HttpStream* stream);

  struct Bytes {
    MessageReader reader;
    std::string waiting = {};  // arrived, not wanted yet
    std::size_t from = 0;      // what comes before was read
  };

  const CallLimits& limits_;
  std::unique_ptr<Bytes>
      bytes_;  // null before the first have come: most calls of a hostile peer wait for ever
  Encoding encoding_ = Encoding::kIdentity;
  bool is_wanted_ = false;
  bool is_ended_ = false;
};

}  // namespace tiphys::rpc
