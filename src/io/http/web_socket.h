#pragma once

// The WebSocket behind the handle that server.h shows.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/http/message_reader.h"
#include "io/http/outbox.h"
#include "io/http/server.h"
#include "io/http/transport.h"

namespace tiphys::http {

struct WebSocket::State {
  State(const asio::any_io_executor& executor, WebSocketOptions given,
        std::shared_ptr<const bool> server_is_open)
      : options(std::move(given)),
        outbox(executor, options.max_bytes, options.max_messages),
        is_open(std::move(server_is_open)) {}

  WebSocketOptions options;
  Outbox outbox;
  std::shared_ptr<const bool>
      is_open;  // false once the server is gone: then nobody is called any more
  std::uint16_t close_code = 1000;
  std::string close_reason;
  bool is_server_closing = false;
};

// Why a request does not get a WebSocket; nothing if it does.
std::optional<Response> refuse_upgrade(const RequestHead& head, const WebSocketOptions& options);

// Performs the handshake that the request asked for, then talks until one side ends it. Closes the transport, tells the end.
asio::awaitable<void> run_web_socket(std::shared_ptr<Transport> transport, RequestHead head,
                                     std::shared_ptr<WebSocket::State> state);

}  // namespace tiphys::http
