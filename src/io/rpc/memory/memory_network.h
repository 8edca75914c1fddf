#pragma once

// HttpStream without HTTP/2, sockets and TLS: both ends in one process, joined by posts on the executor. Windows are
// those of the limits. Calls behave on it as on a real connection, which is what tests and fuzzers need.

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "io/rpc/channel.h"
#include "io/rpc/limits.h"
#include "io/rpc/server.h"

namespace tiphys::rpc::memory {

class Network {
 public:
  explicit Network(boost::asio::any_io_executor executor, const HttpLimits& limits = {});

  // Addresses are any text; one listener for each.
  [[nodiscard]] std::unique_ptr<HttpListener> listen(std::string address);
  [[nodiscard]] std::unique_ptr<Connector> connector();
  // Cuts every connection that there is, as a lost cable does.
  void cut();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tiphys::rpc::memory
