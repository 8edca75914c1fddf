#pragma once

// The thread that sockets, TLS and messages live on: the one that calls run().

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

namespace tiphys::host {

class IoLoop {
 public:
  [[nodiscard]] boost::asio::any_io_executor executor() { return context_.get_executor(); }
  // Safe from any thread.
  void post(std::function<void()> task);

  // Returns after stop(); what waits then is never run.
  void run();
  // Safe from any thread, also before run().
  void stop();

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
};

}  // namespace tiphys::host
