#pragma once

// Connects to "http://HOST:PORT", "https://HOST:PORT" and "unix:PATH". A host with several addresses is tried at each.

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>
#include <string>

#include "io/host/resolver.h"
#include "io/host/tls_context.h"
#include "io/rpc/channel.h"
#include "io/rpc/limits.h"

namespace tiphys::rpc::http2 {

struct ConnectorOptions {
  std::optional<host::TlsContext> tls = std::nullopt;  // for https
  std::string server_name = {};  // that the certificate must hold; empty: the host of the url
  HttpLimits limits = {};
};

// The resolver outlives it.
std::unique_ptr<Connector> connector(const boost::asio::any_io_executor& executor,
                                     host::Resolver& resolver, ConnectorOptions options);

}  // namespace tiphys::rpc::http2
