#pragma once

// An HTTP/1.1 client: plain, TLS or over a unix socket, with redirections, a cap on what it takes and one deadline for all of
// it. Everything runs on the executor it is given, which runs one thing at a time; it has no thread of its own. Each
// request has a connection of its own, which is closed after the answer.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "io/host/resolver.h"
#include "io/host/tls_context.h"
#include "io/http/message.h"

namespace tiphys::http {

struct ClientOptions {
  std::size_t header_bytes = 64U << 10U;  // of an answer
  int redirections = 5;
  std::string user_agent = "tiphys";
  // What it shows and whom it trusts behind https://; without one the system's trust store counts.
  std::optional<host::TlsContext> tls{};
};

// Takes a piece of a body, and calls `next` when it wants another one, or with an error to have no more.
using BodySink = std::function<void(std::string piece, std::function<void(Status)> next)>;

struct ClientRequest {
  std::string method = "GET";
  std::string url{};
  Headers headers{};
  std::string body{};
  std::string unix_path{};  // connects there instead; the host of the URL is only sent
  Duration deadline =
      std::chrono::seconds(30);        // for everything: names, redirections, the whole body
  std::size_t max_bytes = 16U << 20U;  // of the answer's body
  // Is given the body of an answer with status 2xx, which then stays empty. Other bodies are short and stay in the answer.
  BodySink sink{};
};

class Client {
 public:
  struct Impl;

  Client(boost::asio::any_io_executor executor, host::Resolver& resolver,
         ClientOptions options = {});
  // Breaks off what is under way. Nobody is told; coroutines that wait get an error.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Any status is an answer, 404 too; an error means that there is none. `done` is called on the executor, once.
  //
  // GET and HEAD follow 301, 302 and 303; every method follows 307 and 308. What is secret (Authorization, Cookie) stays with
  // its host, and nothing leads from https:// to http://.
  void request(ClientRequest request, std::function<void(Result<Response>)> done);
  boost::asio::awaitable<Result<Response>> request(ClientRequest request);

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::http
