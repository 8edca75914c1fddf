#pragma once

// One HTTP/2 connection as bytes in and bytes out, either end of it: nghttp2 behind HttpConnection. No socket and no
// timer: whoever carries the bytes calls receive(), produce() and lost(), and watches time with has_settings(),
// is_inside_head() and has_queued().

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/rpc/http_stream.h"
#include "io/rpc/limits.h"

struct nghttp2_session;

namespace tiphys::rpc::http2 {

enum class Role : std::uint8_t { kClient, kServer };

class Session final : public HttpConnection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `wake` is called when there may be something to produce, or the session is over.
  Session(Role role, const HttpLimits& limits, std::shared_ptr<const Peer> peer, Origin origin,
          std::function<void()> wake);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Must be set before anything else happens; kept until it was told on_closed.
  void set_owner(std::shared_ptr<Owner> owner) { owner_ = std::move(owner); }
  [[nodiscard]] const std::shared_ptr<Owner>& owner() const { return owner_; }
  void set_peer(std::shared_ptr<const Peer> peer) { peer_ = std::move(peer); }

  // Bytes of the peer. Nothing may be received inside.
  void receive(std::string_view bytes);
  // Appends what is to be sent, until `out` holds about `enough` bytes.
  void produce(std::string& out, std::size_t enough);
  // The carrier is gone: ends all streams, then tells the owner. Empty when it ended in good order.
  void lost(const std::string& why);

  // Nothing more will be received or produced; the carrier flushes, closes and calls lost(failure()).
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // close() was called: what the carrier can't send at once is not worth waiting for.
  [[nodiscard]] bool is_closing() const { return is_closing_; }
  // What to say when the peer ends the carrier; empty when that is in good order.
  [[nodiscard]] std::string end_of_carrier() const;

  // The peer's settings have come.
  [[nodiscard]] bool has_settings() const { return has_settings_; }
  // A block of header fields has begun and not ended.
  [[nodiscard]] bool is_inside_head() const { return is_inside_head_; }
  // Whether bytes wait to be sent, for want of a window or because the carrier is slow.
  [[nodiscard]] bool has_queued() const { return queued_streams_ > 0; }
  // Gives up the streams whose bytes have not moved since then.
  void reset_stalled(Time since);
  // Sends a ping; awaits_ping() until it is answered.
  void ping();
  [[nodiscard]] bool awaits_ping() const { return awaits_ping_; }

  [[nodiscard]] std::shared_ptr<const Peer> peer() const override { return peer_; }
  [[nodiscard]] const Origin& origin() const override { return origin_; }
  HttpStream* open(const Fields& head, std::shared_ptr<HttpStream::Listener> listener) override;
  void drain() override;
  void close(const std::string& why) override;
  [[nodiscard]] std::size_t field_limit() const override;

 private:
  class Stream;
  using StreamHook = boost::intrusive::list_base_hook<>;
  struct Callbacks;

  struct Allocator;

  // Follows where frames begin and end, which nghttp2 does not tell.
  class FrameCounter {
   public:
    explicit FrameCounter(std::uint32_t preface) : rest_(preface) {}
    void pass(std::string_view bytes);
    [[nodiscard]] bool is_inside() const { return head_size_ > 0 || rest_ > 0; }

   private:
    std::uint32_t rest_;  // of the payload, or of the preface
    std::uint8_t head_size_ = 0;
    char head_[9] = {};
  };

  void wake() { wake_(); }
  void fail(std::string why);
  [[nodiscard]] std::string broke_protocol(const char* otherwise) const;
  void say_last_stream();
  void count_control_frame(const char* what);
  void terminate(std::uint32_t code, std::string why);
  Stream& add(std::int32_t id);
  void remove(Stream& stream, const StreamEnd& end);
  void drop(Stream& stream);
  void tell_writable();

  Role role_;
  HttpLimits limits_;
  std::shared_ptr<const Peer> peer_;
  Origin origin_;
  std::function<void()> wake_;
  std::shared_ptr<Owner> owner_;
  nghttp2_session* session_ = nullptr;
  boost::intrusive::list<StreamHook> streams_;        // owned
  std::vector<std::pair<void*, std::size_t>> large_;  // what nghttp2 holds of the budget for fields
  Fields incoming_;  // the block that is being received; there is never more than one
  std::vector<std::int32_t> writable_;  // have room again, and will be told
  std::size_t queued_streams_ = 0;      // that have bytes to send
  std::string failure_;
  std::string hint_;  // nghttp2's last words about what it received
  Time rate_checked_;
  double rate_tokens_;
  FrameCounter frames_;
  bool has_settings_ = false;
  bool is_inside_head_ = false;
  bool is_going_away_ = false;  // the peer said so
  bool is_draining_ = false;    // we said so
  bool said_last_stream_ = false;
  bool awaits_ping_ = false;
  bool is_closing_ = false;  // we want to
  bool is_broken_ = false;   // nghttp2 can't go on
  bool is_closed_ = false;   // the owner knows
};

}  // namespace tiphys::rpc::http2
