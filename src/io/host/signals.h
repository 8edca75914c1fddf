#pragma once

// What a process is told by its signals, and what it must not die of.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <string_view>

namespace tiphys::host {

// Before anything else in main(): a peer that closes a pipe ends a write with an error instead of the process, how our
// children end can be asked even if whoever started us did not want to know of its own, and standard input, output and
// error are open, so that no socket ever gets their numbers. All threads share one heap, because the library asks the kernel
// for every single page of a further one.
void prepare_process();

// Tells the first of SIGTERM, SIGINT and SIGHUP that arrives, once, on the executor. A second one ends the process the
// usual way, for those who do not want to wait for the end.
class EndSignal {
 public:
  EndSignal(const boost::asio::any_io_executor& executor,
            std::function<void(std::string_view name)> told);
  EndSignal(const EndSignal&) = delete;
  EndSignal& operator=(const EndSignal&) = delete;

 private:
  boost::asio::signal_set signals_;
};

}  // namespace tiphys::host
