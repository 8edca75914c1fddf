#pragma once

// For the tests of servers and clients: a loop on a thread of its own, and sockets that say exactly what they are told.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "io/host/descriptor.h"

namespace tiphys::http {

class Loop {
 public:
  Loop();
  // Everything that was made for it has to be gone.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] boost::asio::io_context::executor_type executor() {
    return context_.get_executor();
  }
  // On the loop; waits for it.
  void run(const std::function<void()>& task);

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

// The client's end of a connection. Nothing waits for ever: after half a minute without a byte a read ends.
class RawConnection {
 public:
  explicit RawConnection(std::uint16_t port);       // of 127.0.0.1
  explicit RawConnection(const std::string& path);  // of a unix socket
  explicit RawConnection(host::Descriptor connected);

  // False when the other side does not take it any more.
  bool send(std::string_view bytes) const;
  void finish_sending() const;
  // Resets the connection instead of ending it.
  void reset();
  void close();

  // All that came before the text and the text itself; less if the connection ends.
  std::string read_until(std::string_view text);
  std::string read_bytes(std::size_t count);
  // Until the other side ends the connection.
  std::string read_all();
  // One answer: its head and as much as its Content-Length says.
  std::string read_response();

 private:
  bool receive();

  host::Descriptor descriptor_;
  std::string received_;  // and not yet returned
};

// A server's end of a socket on 127.0.0.1, for tests that speak themselves.
class RawListener {
 public:
  RawListener();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] RawConnection accept() const;

 private:
  host::Descriptor descriptor_;
  std::uint16_t port_ = 0;
};

// Enough descriptors for a thousand connections in one process.
void raise_descriptor_limit();

int status_of(const std::string& response);
std::string body_of(const std::string& response);

}  // namespace tiphys::http
