#pragma once

// One call, as the client sees it. It may be used at once: what is sent before there is a connection waits. A request
// that the server certainly did not look at (refused, or above the last stream of a GOAWAY) is sent again by itself.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/rpc/call.h"
#include "io/rpc/deadlines.h"
#include "io/rpc/http_stream.h"
#include "io/rpc/inbox.h"

namespace tiphys::rpc {

struct CallOptions {
  Metadata metadata = {};
  std::optional<Duration> timeout = std::nullopt;
  // Waits while the server can't be reached, instead of failing with the first attempt.
  bool waits_for_server = false;
};

class ClientCall final : public HttpStream::Listener,
                         public std::enable_shared_from_this<ClientCall> {
 public:
  // What calls of one channel share.
  struct Context {
    Context(const boost::asio::any_io_executor& on, CallLimits of_each)
        : executor(on), deadlines(on), limits(std::move(of_each)) {}

    boost::asio::any_io_executor executor;
    Deadlines deadlines;
    CallLimits limits;
    std::function<void(std::shared_ptr<ClientCall>)>
        connect;  // finds a connection for a call; empty once the channel is gone
  };

  ClientCall(std::shared_ptr<Context> context, std::string method, CallOptions options);
  ~ClientCall() override;
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;

  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return context_->executor; }

  // From here on events are told; before Finished was told the call stays alive by itself.
  void start(Tell tell);
  void want();
  // Whether there is room for more; if not, Writable follows. After the end it does nothing.
  bool send(Payload message);
  void half_close();
  // Finished follows with CANCELLED, unless the call is over.
  void cancel();
  [[nodiscard]] bool is_finished() const { return is_finished_; }

  // The channel's part: puts the call on a connection, or ends it.
  [[nodiscard]] bool waits_for_server() const { return options_.waits_for_server; }
  [[nodiscard]] bool open_on(HttpConnection& connection);  // false when it takes no more
  void fail(Error error);

  void on_fields(const Fields& fields) override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_writable() override;
  void on_closed(const StreamEnd& end) override;

 private:
  [[nodiscard]] Fields request_head(const Origin& origin) const;
  void take_head(const Fields& head);
  [[nodiscard]] bool may_try_again(const StreamEnd& end) const;
  [[nodiscard]] Error error_of(const StreamEnd& end) const;
  void deliver();
  void tell_event(CallEvent event);
  void end_with(Outcome outcome);
  void finish(Outcome outcome);

  std::shared_ptr<Context> context_;
  std::string method_;
  CallOptions options_;
  std::optional<Deadlines::Time> deadline_;
  std::optional<Deadlines::Id> timer_;
  std::shared_ptr<const Tell> tell_;
  HttpStream* stream_ = nullptr;
  Inbox inbox_;

  // Sent, or to be sent once there is a stream; kept until an answer shows that the server took the call.
  std::vector<Payload> kept_;
  std::size_t kept_bytes_ = 0;
  int attempts_ = 0;
  bool is_kept_ = true;  // kept_ holds everything that was sent
  bool is_half_closed_ = false;
  bool is_full_ = false;  // send() said so, and Writable was not told since

  std::optional<Outcome> outcome_;  // how the server ended it; told after the last message
  bool has_head_ = false;
  bool is_delivering_ = false;
  bool is_finished_ = false;
};

}  // namespace tiphys::rpc
