#pragma once

// One request and its answer on any HTTP that has trailers; what the gRPC layer stands on. Behind it are HTTP/2 on
// sockets (http2/) and a pair of ends in memory (memory/). Everything here is called on one executor.
//
//   client:  open(head) --> send_data* --> end()                      on_fields(head) --> on_data* --> on_fields(trailers)
//   server:  on_stream(head) --> on_data* --> on_end                  send_fields(head) --> send_data* --> send_trailers
//
// The last thing a listener hears is on_closed, exactly once; after it the stream is gone.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/rpc/fields.h"

namespace tiphys::rpc {

// Why one side gives a stream up.
enum class Reset : std::uint8_t {
  kNoError,
  kCancel,
  kRefused,  // nothing of the request was looked at; it may be sent again
  kInternalError,
  kProtocolError,
  kEnhanceYourCalm,
  kInadequateSecurity,
  kOther,
};

struct StreamEnd {
  enum class Kind : std::uint8_t {
    kComplete,  // both sides said all they had
    kReset,     // by either side
    kLost,      // the connection went
  };
  Kind kind = Kind::kComplete;
  Reset reset = Reset::kNoError;
  bool is_unprocessed = false;  // the peer certainly did nothing about the request
  std::string detail = {};
};

// Bytes to send: a part of their own, then a part that many messages may share (an event for all subscribers).
struct Payload {
  std::string own;
  std::shared_ptr<const std::string> shared = nullptr;

  [[nodiscard]] std::size_t size() const { return own.size() + (shared ? shared->size() : 0); }
};

class HttpConnection;

class HttpStream {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // Client: the head of the answer, then perhaps trailers. Server: trailers of the request.
    virtual void on_fields(const Fields& fields) = 0;
    // The bytes stay in the peer's window until consume() gives them back.
    virtual void on_data(std::string_view bytes) = 0;
    // The peer sends nothing more.
    virtual void on_end() = 0;
    // The queue was full and has room again.
    virtual void on_writable() = 0;
    virtual void on_closed(const StreamEnd& end) = 0;
  };

  virtual ~HttpStream() = default;

  // Keeps the listener until on_closed. A server's stream without a listener is refused.
  virtual void listen(std::shared_ptr<Listener> listener) = 0;
  [[nodiscard]] virtual HttpConnection& connection() = 0;

  // The head of an answer; `end` when nothing follows.
  virtual void send_fields(const Fields& head, bool end) = 0;
  // Queues the prefix (a few bytes) and the payload. What does not fit into the peer's window waits; the queue is
  // bounded by whoever asks has_room().
  virtual void send_data(std::string_view prefix, Payload payload) = 0;
  virtual void send_trailers(const Fields& trailers) = 0;
  virtual void end() = 0;
  virtual void reset(Reset reason) = 0;
  virtual void consume(std::size_t bytes) = 0;
  // When false, on_writable follows.
  [[nodiscard]] virtual bool has_room() const = 0;
};

struct UnixCredentials {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

struct CertificateNames {
  std::size_t certificates = 0;  // how many the peer sent
  bool has_alt_names = false;
  std::vector<std::string> dns_names;
};

// Who is at the other end, as far as the transport knows.
struct Peer {
  std::string address;  // "127.0.0.1:4711", "unix", "memory"
  std::optional<CertificateNames> certificate = std::nullopt;
  std::optional<UnixCredentials> credentials = std::nullopt;
};

// What a client's requests say of where they go.
struct Origin {
  std::string scheme;
  std::string authority;
};

class HttpConnection {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // Client: requests may be sent.
    virtual void on_connected() {}
    // The peer speaks our protocol.
    virtual void on_ready() {}
    // Server: a request. Whoever takes it calls listen() before returning.
    virtual void on_stream(HttpStream& stream, const Fields& head, bool end) = 0;
    // No new streams on this connection; those that run may go on.
    virtual void on_going_away() = 0;
    // The last word; every stream has heard on_closed before.
    virtual void on_closed(const std::string& why) = 0;
  };

  virtual ~HttpConnection() = default;
  [[nodiscard]] virtual std::shared_ptr<const Peer> peer() const = 0;
  [[nodiscard]] virtual const Origin& origin() const = 0;
  // Client: sends a request. Null when this connection takes no more.
  virtual HttpStream* open(const Fields& head, std::shared_ptr<HttpStream::Listener> listener) = 0;
  // Announces the end, lets streams run, closes after the last.
  virtual void drain() = 0;
  // Ends every stream and the connection, soon. `why` is for the log.
  virtual void close(const std::string& why) = 0;
  // The largest list of fields that the peer takes.
  [[nodiscard]] virtual std::size_t field_limit() const = 0;
};

}  // namespace tiphys::rpc
