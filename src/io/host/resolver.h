#pragma once

// Host names to addresses, by the system's own resolver, which blocks and therefore runs on a worker.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shell/workers.h"

namespace tiphys::host {

struct Address {
  std::string ip;  // as the system writes it, without brackets; a scope may follow: fe80::1%eth0
  std::uint16_t port = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

// 127.0.0.1:80 or [::1]:80
std::string to_string(const Address& address);

class Resolver {
 public:
  explicit Resolver(shell::Workers& workers) : workers_(workers) {}

  // All addresses of both families, in the order in which they are to be tried; at least one. `done` is called on the
  // executor, never before this returns, and is destroyed there too: the worker that looks the name up keeps nothing of
  // the caller's. An address in text needs no worker. Workers that end drop what waits, and then nothing is told; the
  // executor's context has to outlive them.
  void resolve(std::string host, std::uint16_t port, boost::asio::any_io_executor executor,
               std::function<void(Result<std::vector<Address>>)> done);

 private:
  shell::Workers& workers_;
};

}  // namespace tiphys::host
