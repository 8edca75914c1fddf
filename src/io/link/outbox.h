#pragma once

// Messages for a call whose peer may be slow: they wait here, in order, while the call has no room.

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/link/link_limits.h"
#include "io/rpc/http_stream.h"

namespace tiphys::link {

// Call is rpc::ServerCall or rpc::ClientCall.
template <class Call>
class Outbox {
 public:
  // False when so much waits that the peer has to be given up. A receipt is let go of when the call has the message, or
  // when it is dropped.
  [[nodiscard]] bool send(Call& call, rpc::Payload message,
                          std::shared_ptr<void> receipt = nullptr) {
    if (has_room_) {
      has_room_ = call.send(std::move(message));
    } else {
      bytes_ += message.size();
      waiting_.push_back({std::move(message), std::move(receipt)});
    }
    return bytes_ <= kMostQueuedBytes;
  }
  [[nodiscard]] bool send(Call& call, std::vector<std::string> messages,
                          const std::shared_ptr<void>& receipt = nullptr) {
    bool fits = true;
    for (auto& message : messages) fits = send(call, rpc::Payload{std::move(message)}, receipt);
    return fits;
  }

  // The call has room again.
  void writable(Call& call) {
    has_room_ = true;
    while (has_room_ && !waiting_.empty()) send_first(call);
  }

  // The peer is given up: it gets nothing of what waits.
  void drop() {
    waiting_.clear();
    bytes_ = 0;
  }

  // Before the call ends: its queue takes everything, room or not.
  void flush(Call& call) {
    while (!waiting_.empty()) send_first(call);
  }

 private:
  struct Waiting {
    rpc::Payload message;
    std::shared_ptr<void> receipt;
  };

  void send_first(Call& call) {
    bytes_ -= waiting_.front().message.size();
    has_room_ = call.send(std::move(waiting_.front().message));
    waiting_.pop_front();
  }

  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;  // of what waits; bytes that peers share count for each
  bool has_room_ = true;
};

}  // namespace tiphys::link
