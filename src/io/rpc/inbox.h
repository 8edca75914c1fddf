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
  explicit Inbox(const CallLimits& limits);
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  void set_encoding(Encoding encoding) { reader_.set_encoding(encoding); }

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

  MessageReader reader_;
  std::shared_ptr<ReceiveBudget> budget_;
  std::string waiting_;  // arrived, not wanted yet
  std::size_t waiting_from_ = 0;
  bool is_wanted_ = false;
  bool is_ended_ = false;
};

}  // namespace tiphys::rpc
