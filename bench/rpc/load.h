#pragma once

// The load: our own client, the same for every server, on one thread. It uses the events of calls rather than coroutines, which
// leaves more of the processor to the server.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "io/host/resolver.h"
#include "io/rpc/channel.h"
#include "shell/strand.h"
#include "shell/workers.h"

namespace tiphys::bench {

struct CallFigures {
  std::size_t calls = 0;
  double seconds = 0;
  double p50_seconds = 0;
  double p99_seconds = 0;
};

class Load {
 public:
  // So many connections to the server on this port of loopback; each is made by its first call.
  Load(std::uint16_t port, std::size_t connections);

  // One unary call on every connection.
  Status touch();
  // Unary calls for so long, always `concurrent` of them on each connection.
  Result<CallFigures> call(std::size_t concurrent, std::chrono::milliseconds time);
  // Opens so many Chat streams on each connection, exchanges one message on each and leaves them open.
  Status open_streams(std::size_t streams);

 private:
  Status run_until(const std::size_t& left);

  boost::asio::io_context context_{1};
  shell::CoreThread strand_;
  shell::WorkerThreads workers_{strand_, 1};
  host::Resolver resolver_{workers_};
  std::vector<std::unique_ptr<rpc::Channel>> channels_;
  std::vector<std::shared_ptr<rpc::ClientCall>> streams_;
};

}  // namespace tiphys::bench
