#include "io/rpc/http2/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"

namespace tiphys::rpc::http2 {

namespace {

constexpr std::size_t kLargestFieldList = 16 * kKiB;  // that we send

constexpr std::pair<Reset, std::uint32_t> kResets[] = {
    {Reset::kNoError, NGHTTP2_NO_ERROR},
    {Reset::kCancel, NGHTTP2_CANCEL},
    {Reset::kRefused, NGHTTP2_REFUSED_STREAM},
    {Reset::kInternalError, NGHTTP2_INTERNAL_ERROR},
    {Reset::kProtocolError, NGHTTP2_PROTOCOL_ERROR},
    {Reset::kEnhanceYourCalm, NGHTTP2_ENHANCE_YOUR_CALM},
    {Reset::kInadequateSecurity, NGHTTP2_INADEQUATE_SECURITY},
};

std::uint32_t to_code(Reset reset) {
  for (const auto& [ours, code] : kResets)
    if (ours == reset) return code;
  return NGHTTP2_INTERNAL_ERROR;
}

Reset to_reset(std::uint32_t code) {
  for (const auto& [ours, theirs] : kResets)
    if (theirs == code) return ours;
  return Reset::kOther;
}

// What a peer says ends in logs.
std::string printable(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(safe, [](char c) { return c < ' ' || c > '~'; }, '?');
  return safe;
}

// Fields as nghttp2 takes them; valid as long as the fields are. Few of them need no allocation.
class Pairs {
 public:
  explicit Pairs(const Fields& fields) : size_(fields.count()) {
    if (size_ > few_.size()) many_.resize(size_);
    nghttp2_nv* into = data();
    for (const Field& field : fields)
      *into++ = {bytes(field.name), bytes(field.value), field.name.size(), field.value.size(),
                 NGHTTP2_NV_FLAG_NONE};
  }

  [[nodiscard]] nghttp2_nv* data() { return many_.empty() ? few_.data() : many_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static std::uint8_t* bytes(std::string_view text) {
    return const_cast<std::uint8_t*>(
        reinterpret_cast<const std::uint8_t*>(text.data()));  // nghttp2 only reads it
  }

  std::size_t size_;
  std::array<nghttp2_nv, 12> few_;
  std::vector<nghttp2_nv> many_;
};

struct Options {
  nghttp2_option* native = nullptr;

  explicit Options(const HttpLimits& limits) {
    TIPHYS_CHECK(nghttp2_option_new(&native) == 0, "out of memory");
    nghttp2_option_set_no_auto_window_update(native, 1);
    nghttp2_option_set_no_closed_streams(native, 1);
    nghttp2_option_set_peer_max_concurrent_streams(native, limits.streams);
    // Ours is the lower limit, and names the offence; this one catches acks that the peer never reads.
    nghttp2_option_set_max_outbound_ack(native, std::size_t{2} * limits.control_burst);
    nghttp2_option_set_stream_reset_rate_limit(native, std::uint64_t{2} * limits.control_burst,
                                               limits.control_rate);
    nghttp2_option_set_max_continuations(native, 8);
    nghttp2_option_set_max_settings(native, 32);
  }
  ~Options() { nghttp2_option_del(native); }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
};

}  // namespace

class Session::Stream final : public HttpStream, public StreamHook {
 public:
  Stream(Session& session, std::int32_t id) : session_(session), id_(id) {}

  void listen(std::shared_ptr<Listener> listener) override { listener_ = std::move(listener); }
  [[nodiscard]] HttpConnection& connection() override { return session_; }

  void send_fields(const Fields& head, bool end) override;
  void send_data(std::string_view prefix, Payload payload) override;
  void send_trailers(const Fields& trailers) override;
  void end() override;
  void reset(Reset reason) override;
  void consume(std::size_t bytes) override;
  [[nodiscard]] bool has_room() const override {
    if (queued() < session_.limits_.send_queue) return true;
    was_full_ = true;
    return false;
  }

 private:
  friend class Session;
  friend struct Session::Callbacks;

  struct Chunk {
    std::string prefix;
    Payload payload;
    std::size_t sent = 0;

    [[nodiscard]] std::size_t size() const { return prefix.size() + payload.size(); }
    // What is left of the part that is being sent.
    [[nodiscard]] std::string_view rest() const;
  };

  nghttp2_data_provider provider();
  // nghttp2 asks for bytes: copies some, or says that there are none for now.
  ssize_t fill(std::uint8_t* buffer, std::size_t length, std::uint32_t* flags);
  std::size_t take_queued(std::uint8_t* buffer, std::size_t length);
  void resume();

  // What is to be sent; only streams that send have it.
  struct Outgoing {
    std::vector<Chunk> queue;
    std::size_t next = 0;  // in the queue
    std::size_t queued = 0;
    std::unique_ptr<Fields> trailers;
    Time moved;  // when bytes were last queued into an empty queue or left it
    bool is_ending = false;
  };
  Outgoing& outgoing() {
    if (!outgoing_) outgoing_ = std::make_unique<Outgoing>();
    return *outgoing_;
  }
  [[nodiscard]] std::size_t queued() const { return outgoing_ ? outgoing_->queued : 0; }

  Session& session_;
  std::shared_ptr<Listener> listener_;
  std::unique_ptr<Outgoing> outgoing_;
  std::int32_t id_;
  std::uint32_t unconsumed_ = 0;  // at most a window
  bool is_sent_ = false;          // its head has left us
  bool is_deferred_ = false;
  bool has_peer_ended_ = false;
  mutable bool was_full_ = false;
};

std::string_view Session::Stream::Chunk::rest() const {
  std::size_t skip = sent;
  if (skip < prefix.size()) return std::string_view(prefix).substr(skip);
  skip -= prefix.size();
  if (skip < payload.own.size()) return std::string_view(payload.own).substr(skip);
  skip -= payload.own.size();
  return payload.shared ? std::string_view(*payload.shared).substr(skip) : std::string_view();
}

nghttp2_data_provider Session::Stream::provider() {
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* buffer,
                              std::size_t length, std::uint32_t* flags, nghttp2_data_source* source,
                              void*) {
    return static_cast<Stream*>(source->ptr)->fill(buffer, length, flags);
  };
  return provider;
}

ssize_t Session::Stream::fill(std::uint8_t* buffer, std::size_t length, std::uint32_t* flags) {
  std::size_t filled = 0;
  if (outgoing_) filled = take_queued(buffer, length);
  if (queued() > 0) return static_cast<ssize_t>(filled);
  if (outgoing_ && outgoing_->trailers) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    Pairs pairs(*outgoing_->trailers);
    if (nghttp2_submit_trailer(session_.session_, id_, pairs.data(), pairs.size()) != 0)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  } else if (outgoing_ && outgoing_->is_ending) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
  } else if (filled == 0) {
    is_deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(filled);
}

std::size_t Session::Stream::take_queued(std::uint8_t* buffer, std::size_t length) {
  auto& [queue, next, queued, trailers, moved, is_ending] = *outgoing_;
  std::size_t filled = 0;
  while (filled < length && next < queue.size()) {
    Chunk& chunk = queue[next];
    const std::string_view rest = chunk.rest();
    const std::size_t part = std::min(rest.size(), length - filled);
    std::memcpy(buffer + filled, rest.data(), part);
    filled += part;
    chunk.sent += part;
    if (chunk.sent < chunk.size()) continue;
    chunk = {};
    if (++next == queue.size()) {
      queue.clear();
      next = 0;
    } else if (next >= 64 && next * 2 > queue.size()) {
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(next));
      next = 0;
    }
  }
  if (filled == 0) return 0;
  queued -= filled;
  moved = std::chrono::steady_clock::now();
  if (queued == 0) --session_.queued_streams_;
  if (was_full_ && queued < session_.limits_.send_queue / 2) {
    was_full_ = false;
    session_.writable_.push_back(id_);
  }
  return filled;
}

void Session::Stream::resume() {
  if (is_deferred_) {
    is_deferred_ = false;
    nghttp2_session_resume_data(session_.session_, id_);
  }
  session_.wake();
}

void Session::Stream::send_fields(const Fields& head, bool end) {
  Pairs pairs(head);
  const nghttp2_data_provider data = provider();
  const int problem = nghttp2_submit_response(session_.session_, id_, pairs.data(), pairs.size(),
                                              end ? nullptr : &data);
  if (problem != 0) return reset(Reset::kInternalError);
  session_.wake();
}

void Session::Stream::send_data(std::string_view prefix, Payload payload) {
  const std::size_t size = prefix.size() + payload.size();
  if (size == 0) return;
  Outgoing& out = outgoing();
  if (out.queued == 0) {
    ++session_.queued_streams_;
    out.moved = std::chrono::steady_clock::now();
  }
  out.queued += size;
  out.queue.push_back({std::string(prefix), std::move(payload)});
  resume();
}

void Session::Stream::send_trailers(const Fields& trailers) {
  outgoing().trailers = std::make_unique<Fields>(trailers);
  resume();
}

void Session::Stream::end() {
  outgoing().is_ending = true;
  resume();
}

void Session::Stream::reset(Reset reason) {
  nghttp2_submit_rst_stream(session_.session_, NGHTTP2_FLAG_NONE, id_, to_code(reason));
  session_.wake();
}

void Session::Stream::consume(std::size_t bytes) {
  unconsumed_ -= static_cast<std::uint32_t>(bytes);
  nghttp2_session_consume(session_.session_, id_, bytes);
  session_.wake();
}

// Memory for nghttp2. What is larger than anything that it keeps for long comes out of the budget; the frame buffer that
// each session has from the beginning does not count.
struct Session::Allocator {
  // Twice an entry that fills the table of HPACK, as room for a Huffman code that is not decoded yet.
  static constexpr std::size_t kOrdinary = 8 * kKiB + 64;

  static nghttp2_mem hooks(Session& session) {
    return {
        .mem_user_data = &session,
        .malloc = [](std::size_t size, void* user) { return resize(user, nullptr, size); },
        .free = [](void* memory, void* user) { release(user, memory); },
        .calloc =
            [](std::size_t count, std::size_t size, void* user) {
              return clear(resize(user, nullptr, count * size), count * size);
            },
        .realloc = [](void* memory, std::size_t size,
                      void* user) { return resize(user, memory, size); },
    };
  }

  static void* resize(void* user, void* memory, std::size_t size) {
    auto& session = *static_cast<Session*>(user);
    if (memory) forget(session, memory);
    const bool counts = size > kOrdinary && session.session_ != nullptr;
    if (counts && !session.limits_.field_budget->take(size)) {
      session.hint_ = "its header fields are too large for the memory that is left for them";
      return nullptr;
    }
    void* const resized = std::realloc(memory, size);
    if (!resized) {
      if (counts) session.limits_.field_budget->give_back(size);
      return nullptr;
    }
    if (counts) session.large_.emplace_back(resized, size);
    return resized;
  }
  static void* clear(void* memory, std::size_t size) {
    return memory ? std::memset(memory, 0, size) : nullptr;
  }
  static void release(void* user, void* memory) {
    forget(*static_cast<Session*>(user), memory);
    std::free(memory);
  }
  static void forget(Session& session, void* memory) {
    const auto found =
        std::ranges::find(session.large_, memory, &std::pair<void*, std::size_t>::first);
    if (found == session.large_.end()) return;
    session.limits_.field_budget->give_back(found->second);
    session.large_.erase(found);
  }
};

// What nghttp2 tells us. Handlers may send and reset inside; they never receive or produce.
struct Session::Callbacks {
  nghttp2_session_callbacks* native = nullptr;

  Callbacks() {
    TIPHYS_CHECK(nghttp2_session_callbacks_new(&native) == 0, "out of memory");
    nghttp2_session_callbacks_set_on_begin_frame_callback(native, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(native, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(native, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(native, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(native, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(native, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(native, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(native, on_frame_sent);
    nghttp2_session_callbacks_set_error_callback2(native, on_error);
  }
  ~Callbacks() { nghttp2_session_callbacks_del(native); }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  static Session& self(void* user) { return *static_cast<Session*>(user); }
  static Stream* stream(nghttp2_session* session, std::int32_t id) {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  // nghttp2 would refuse one stream after the other; no server of gRPC's pushes.
  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    if (head->type == NGHTTP2_PUSH_PROMISE)
      self(user).terminate(NGHTTP2_PROTOCOL_ERROR, "the peer pushes streams");
    return 0;
  }

  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Session& here = self(user);
    here.is_inside_head_ = true;
    here.incoming_ = {};
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST && !stream(session, frame->hd.stream_id)) {
      Stream& opened = here.add(frame->hd.stream_id);
      opened.is_sent_ = true;
      nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, &opened);
    }
    return 0;
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_length, const std::uint8_t* value,
                       std::size_t value_length, std::uint8_t, void* user) {
    if (!stream(session, frame->hd.stream_id)) return 0;
    Fields& fields = self(user).incoming_;
    if (fields.is_too_large()) return 0;
    if (fields.list_size() + name_length + value_length + 32 > self(user).limits_.field_list) {
      fields.mark_too_large();
    } else {
      fields.add({reinterpret_cast<const char*>(name), name_length},
                 {reinterpret_cast<const char*>(value), value_length});
    }
    return 0;
  }

  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Session& here = self(user);
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
        here.is_inside_head_ = false;
        if (Stream* const of = stream(session, frame->hd.stream_id)) take_head(here, *of, *frame);
        break;
      case NGHTTP2_DATA:
        if (frame->hd.length == frame->data.padlen &&
            (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
          here.count_control_frame("empty frames");
        if (Stream* const of = stream(session, frame->hd.stream_id)) take_end(*of, *frame);
        break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) break;
        here.count_control_frame("settings");
        if (!std::exchange(here.has_settings_, true) && here.owner_) here.owner_->on_ready();
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
          here.count_control_frame("pings");
        } else {
          here.awaits_ping_ = false;
          if (here.is_draining_) here.say_last_stream();
        }
        break;
      case NGHTTP2_RST_STREAM:
        here.count_control_frame("resets");
        break;
      case NGHTTP2_GOAWAY:
        take_goaway(here, frame->goaway);
        break;
      default:
        break;
    }
    return 0;
  }

  // nghttp2 resets the stream. A peer can make us do that as often as it likes, so it counts like a reset of its own.
  static int on_invalid_frame(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    Session& here = self(user);
    if (frame->hd.type == NGHTTP2_HEADERS) here.is_inside_head_ = false;
    here.count_control_frame("broken frames");
    return 0;
  }

  static void take_head(Session& here, Stream& of, const nghttp2_frame& frame) {
    const Fields fields = std::exchange(here.incoming_, {});
    if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
      const bool end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
      of.has_peer_ended_ = end;
      if (here.owner_) here.owner_->on_stream(of, fields, end);
      return;
    }
    if (fields.find(":status").value_or("").starts_with('1'))
      here.count_control_frame("informational answers");
    if (const auto listener = of.listener_) listener->on_fields(fields);
    take_end(of, frame);
  }

  static void take_end(Stream& of, const nghttp2_frame& frame) {
    if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
    of.has_peer_ended_ = true;
    if (const auto listener = of.listener_) listener->on_end();
  }

  static void take_goaway(Session& here, const nghttp2_goaway& goaway) {
    if (goaway.error_code != NGHTTP2_NO_ERROR && here.failure_.empty()) {
      here.failure_ = std::string("the peer ended the connection: ") +
                      nghttp2_http2_strerror(goaway.error_code);
      if (goaway.opaque_data_len > 0)
        here.failure_.append(" (")
            .append(printable({reinterpret_cast<const char*>(goaway.opaque_data),
                               std::min<std::size_t>(goaway.opaque_data_len, 200)}))
            .append(")");
    }
    if (!std::exchange(here.is_going_away_, true) && here.owner_) here.owner_->on_going_away();
  }

  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                     const std::uint8_t* data, std::size_t length, void*) {
    Stream* const into = stream(session, id);
    if (!into) {
      nghttp2_session_consume(session, id, length);
      return 0;
    }
    into->unconsumed_ += static_cast<std::uint32_t>(length);
    if (const auto listener = into->listener_) {
      listener->on_data({reinterpret_cast<const char*>(data), length});
    } else {
      into->consume(length);
    }
    return 0;
  }

  static int on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t error_code,
                             void* user) {
    Stream* const closed = stream(session, id);
    if (!closed) return 0;
    StreamEnd end;
    if (error_code != NGHTTP2_NO_ERROR || !closed->has_peer_ended_) {
      end.kind = StreamEnd::Kind::kReset;
      end.reset = to_reset(error_code);
      end.is_unprocessed = error_code == NGHTTP2_REFUSED_STREAM || !closed->is_sent_;
      if (!closed->is_sent_) {
        end.reset = Reset::kRefused;
        end.detail = self(user).failure_;  // why it can't be sent any more
      }
    }
    self(user).remove(*closed, end);
    return 0;
  }

  static int on_frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Session& here = self(user);
    if (frame->hd.type == NGHTTP2_HEADERS) {
      const std::int32_t id = frame->hd.stream_id;
      if (Stream* const of = stream(session, id)) of->is_sent_ = true;
      // The answer is complete while the client still speaks: nobody will listen to it.
      if (here.role_ == Role::kServer && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
          nghttp2_session_get_stream_remote_close(session, id) == 0)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
    } else if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR &&
               here.failure_.empty()) {
      // The reason that nghttp2 gives the peer says more than the code.
      const std::string reason(reinterpret_cast<const char*>(frame->goaway.opaque_data),
                               frame->goaway.opaque_data_len);
      here.failure_ = here.broke_protocol(
          reason.empty() ? nghttp2_http2_strerror(frame->goaway.error_code) : reason.c_str());
    }
    return 0;
  }

  // Its texts are more precise than the codes.
  static int on_error(nghttp2_session*, int, const char* text, std::size_t length, void* user) {
    self(user).hint_ = std::string(text, length);
    return 0;
  }
};

Session::Session(Role role, const HttpLimits& limits, std::shared_ptr<const Peer> peer,
                 Origin origin, std::function<void()> wake)
    : role_(role),
      limits_(limits),
      peer_(std::move(peer)),
      origin_(std::move(origin)),
      wake_(std::move(wake)),
      rate_checked_(std::chrono::steady_clock::now()),
      rate_tokens_(limits.control_burst),
      frames_(role == Role::kServer ? NGHTTP2_CLIENT_MAGIC_LEN : 0) {
  const Options options(limits_);
  const Callbacks callbacks;
  nghttp2_mem memory = Allocator::hooks(*this);
  nghttp2_session* made = nullptr;
  const int problem =
      role_ == Role::kServer
          ? nghttp2_session_server_new3(&made, callbacks.native, this, options.native, &memory)
          : nghttp2_session_client_new3(&made, callbacks.native, this, options.native, &memory);
  TIPHYS_CHECK(problem == 0, "out of memory");
  session_ = made;
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits_.field_list)},
  };
  if (role_ == Role::kClient) settings[0] = {NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(limits_.connection_window));
}

Session::~Session() {
  nghttp2_session_del(session_);
  while (!streams_.empty()) drop(static_cast<Stream&>(streams_.front()));
}

void Session::receive(std::string_view bytes) {
  if (is_broken_) return;
  frames_.pass(bytes);
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) fail(broke_protocol(nghttp2_strerror(static_cast<int>(taken))));
}

void Session::FrameCounter::pass(std::string_view bytes) {
  while (!bytes.empty()) {
    if (rest_ == 0) {
      head_[head_size_++] = bytes.front();
      bytes.remove_prefix(1);
      if (head_size_ < sizeof head_) continue;
      head_size_ = 0;
      for (const char byte : std::string_view(head_, 3))
        rest_ = rest_ << 8 | static_cast<unsigned char>(byte);
    } else {
      const std::size_t part = std::min<std::size_t>(rest_, bytes.size());
      bytes.remove_prefix(part);
      rest_ -= static_cast<std::uint32_t>(part);
    }
  }
}

std::string Session::end_of_carrier() const {
  if (!has_settings_) return "the peer closed the connection before it said anything";
  if (failure_.empty() && frames_.is_inside())
    return "the peer closed the connection in the middle of a frame";
  return failure_;
}

std::string Session::broke_protocol(const char* otherwise) const {
  return "the peer broke the protocol: " + (hint_.empty() ? std::string(otherwise) : hint_);
}

void Session::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  is_broken_ = true;
  wake();
}

void Session::produce(std::string& out, std::size_t enough) {
  while (!is_broken_ && out.size() < enough) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t length = nghttp2_session_mem_send(session_, &bytes);
    if (length < 0)
      fail(std::string("can't go on with the connection: ") +
           nghttp2_strerror(static_cast<int>(length)));
    if (length <= 0) break;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
  }
  tell_writable();
}

void Session::tell_writable() {
  for (const std::int32_t id : std::exchange(writable_, {})) {
    Stream* const stream = Callbacks::stream(session_, id);
    if (!stream) continue;
    if (const auto listener = stream->listener_) listener->on_writable();
  }
}

bool Session::is_over() const {
  return is_broken_ ||
         (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Session::lost(const std::string& why) {
  if (std::exchange(is_closed_, true)) return;
  is_broken_ = true;
  const auto owner = std::move(owner_);
  while (!streams_.empty()) {
    Stream& stream = static_cast<Stream&>(streams_.front());
    remove(stream,
           {.kind = StreamEnd::Kind::kLost, .is_unprocessed = !stream.is_sent_, .detail = why});
  }
  if (owner) owner->on_closed(why);
}

void Session::remove(Stream& stream, const StreamEnd& end) {
  if (stream.queued() > 0) --queued_streams_;
  nghttp2_session_set_stream_user_data(session_, stream.id_, nullptr);
  if (stream.unconsumed_ > 0) nghttp2_session_consume_connection(session_, stream.unconsumed_);
  const auto listener = std::move(stream.listener_);
  if (listener) listener->on_closed(end);
  drop(stream);
}

Session::Stream& Session::add(std::int32_t id) {
  auto made = std::make_unique<Stream>(*this, id);
  streams_.push_back(*made);
  return *made.release();  // the list owns it
}

void Session::drop(Stream& stream) {
  streams_.erase_and_dispose(streams_.iterator_to(stream),
                             [](StreamHook* hook) { delete static_cast<Stream*>(hook); });
}

HttpStream* Session::open(const Fields& head, std::shared_ptr<HttpStream::Listener> listener) {
  if (is_broken_ || is_going_away_ || is_draining_ ||
      nghttp2_session_check_request_allowed(session_) == 0)
    return nullptr;
  Stream& stream = add(0);
  Pairs pairs(head);
  const nghttp2_data_provider data = stream.provider();
  stream.id_ =
      nghttp2_submit_request(session_, nullptr, pairs.data(), pairs.size(), &data, &stream);
  if (stream.id_ < 0) {  // out of stream numbers: another connection has some
    drop(stream);
    return nullptr;
  }
  stream.listener_ = std::move(listener);
  wake();
  return &stream;
}

// A server first says that it will go, and only after a round trip which stream was the last: no request that was under
// way in the meantime is lost.
void Session::drain() {
  if (is_broken_ || std::exchange(is_draining_, true)) return;
  if (role_ == Role::kServer) {
    nghttp2_submit_shutdown_notice(session_);
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  } else {
    say_last_stream();
  }
  wake();
}

void Session::say_last_stream() {
  if (std::exchange(said_last_stream_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void Session::close(const std::string& why) {
  if (is_broken_) return;
  is_closing_ = true;
  terminate(NGHTTP2_NO_ERROR, why);
  wake();
}

std::size_t Session::field_limit() const {
  return std::min<std::size_t>(
      kLargestFieldList,
      nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE));
}

void Session::ping() {
  awaits_ping_ = true;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  wake();
}

void Session::reset_stalled(Time since) {
  for (StreamHook& hook : streams_) {
    auto& stream = static_cast<Stream&>(hook);
    if (stream.queued() > 0 && stream.outgoing_->moved <= since)
      stream.reset(Reset::kEnhanceYourCalm);
  }
}

void Session::count_control_frame(const char* what) {
  const Time now = std::chrono::steady_clock::now();
  const double seconds =
      std::chrono::duration<double>(now - std::exchange(rate_checked_, now)).count();
  rate_tokens_ =
      std::min<double>(limits_.control_burst, rate_tokens_ + seconds * limits_.control_rate) - 1;
  if (rate_tokens_ < 0)
    terminate(NGHTTP2_ENHANCE_YOUR_CALM, std::string("the peer sends too many ") + what);
}

void Session::terminate(std::uint32_t code, std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  nghttp2_session_terminate_session(session_, code);
}

}  // namespace tiphys::rpc::http2
