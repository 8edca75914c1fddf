#pragma once

// One call, as the server sees it.
//
//   waiting --first message, or the client's end--> handled --finish()--> finished --> gone
//       \--10 s, cancelled------------------------------------------------------------^
//
// Most handlers begin with the first message, so that a client that opens calls and says nothing costs little. Nothing is
// sent before the handler says so: tonic's clients take the first header for the server's consent.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/rpc/call.h"
#include "io/rpc/deadlines.h"
#include "io/rpc/http_stream.h"
#include "io/rpc/inbox.h"

namespace tiphys::rpc {

class ServerCall;

enum class Begins : std::uint8_t {
  kWithFirstMessage,  // or with the client's end; within the time that the limits give
  kAtOnce,
};

struct Handler {
  // Takes a call over: start(), then want(), send(), finish().
  std::function<void(std::shared_ptr<ServerCall>)> take;
  Begins begins = Begins::kWithFirstMessage;
};

// A handler and the method that it serves, "/package.Service/Method"; without one it serves any.
struct Method {
  std::shared_ptr<const std::string> name;
  Handler handler;
};

class ServerCall final : public HttpStream::Listener,
                         public std::enable_shared_from_this<ServerCall>,
                         private Deadlines::Task {
 public:
  struct Request {
    std::string_view method;
    Metadata metadata = {};
    std::optional<Deadlines::Time> deadline = std::nullopt;
    Encoding encoding = Encoding::kIdentity;
    std::size_t held =
        0;  // of the receive budget, for the metadata; the call gives it back once it has a handler
  };

  // What calls of one listener share.
  struct Context {
    boost::asio::any_io_executor executor;
    std::shared_ptr<Deadlines> deadlines;
    CallLimits limits;
    // Hears what a client does that no honest one would.
    std::function<void(HttpConnection&, const Error&)> on_offence;
    // Hears of messages that are larger than the limits call worth a warning.
    std::function<void(HttpConnection&, const std::string& method, std::size_t bytes)> on_large;
  };

  // The method outlives the stream.
  ServerCall(std::shared_ptr<const Context> context, HttpStream& stream, Request request,
             const Method& method);
  ~ServerCall() override;
  ServerCall(const ServerCall&) = delete;
  ServerCall& operator=(const ServerCall&) = delete;

  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return context_->executor; }
  // For the handler, once it has the call:
  [[nodiscard]] const std::string& method() const { return *begun_->method; }
  [[nodiscard]] const Metadata& metadata() const { return begun_->metadata; }
  [[nodiscard]] std::optional<Deadlines::Time> deadline() const;
  [[nodiscard]] const Peer& peer() const { return *begun_->peer; }

  // From here on events are told.
  void start(Tell tell);
  // Asks for the next message.
  void want();
  // Tells the client that its call is taken. Sent with the first message if not before.
  void send_headers(const Metadata& metadata = {});
  // Whether there is room for more; if not, Writable follows. After the end it does nothing.
  bool send(Payload message);
  // Says how the call ended; once.
  void finish(const Outcome& outcome);
  [[nodiscard]] bool is_finished() const { return is_finished_; }

  // The listener's part: begins. `end` when the client has said all with the head.
  void accept(bool end);

  void on_fields(const Fields& fields) override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_writable() override;
  void on_closed(const StreamEnd& end) override;

 private:
  // What only a call with a handler needs. Those that wait for their first message may be very many.
  struct Begun {
    std::shared_ptr<const std::string> method;
    std::shared_ptr<const Peer> peer;
    Metadata metadata = {};
    std::shared_ptr<const Tell> tell = nullptr;
    Outcome outcome = {};  // once finished
  };

  void on_time() override;
  void deliver();
  void hand_over();
  [[nodiscard]] Duration time_left() const;
  void abort(Error error);
  void abort_for(const Error& offence);
  void tell_event(CallEvent event);
  void tell_finished(Outcome outcome);
  void drop_timer();
  void give_back_held();

  std::shared_ptr<const Context> context_;
  HttpStream* stream_;    // null once it has gone
  const Method* method_;  // null once its handler has been called
  std::unique_ptr<Begun> begun_;
  Deadlines::Time deadline_;  // the last that there is when there is none
  Inbox inbox_;
  std::uint32_t held_;  // of the receive budget
  bool is_finished_ = false;
  bool has_sent_headers_ = false;
  bool is_delivering_ = false;
};

// Refuses a request that is not gRPC's, or that names no method we know. Used by the server for streams it gives to no call.
void refuse(HttpStream& stream, const Outcome& outcome, const Fields& more = {});

}  // namespace tiphys::rpc
