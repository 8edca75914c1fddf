#pragma once

// Listens on an address and makes HTTP/2 connections of what arrives.

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>
#include <string>

#include "io/host/tls_context.h"
#include "io/rpc/limits.h"
#include "io/rpc/server.h"
#include "shell/log.h"

namespace tiphys::rpc::http2 {

struct ListenerOptions {
  std::string address;  // "127.0.0.1:25551", "[::]:25551" (port 0: any) or "unix:/run/ank.sock"
  std::optional<host::TlsContext> tls = std::nullopt;
  HttpLimits limits = {};
};

// A socket file that nobody listens on any more is replaced; the file goes when the listener stops.
Result<std::unique_ptr<HttpListener>> listen(const boost::asio::any_io_executor& executor,
                                             shell::Log& log, ListenerOptions options);

}  // namespace tiphys::rpc::http2
