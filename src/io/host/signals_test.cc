#include "io/host/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

namespace tiphys::host {
namespace {

TEST(EndSignal, TellsTheFirstOneOnce) {
  for (const auto& [signal, name] : std::vector<std::pair<int, std::string>>{
           {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}}) {
    boost::asio::io_context context;
    std::vector<std::string> told;
    const EndSignal end(context.get_executor(),
                        [&](std::string_view which) { told.emplace_back(which); });
    ::raise(signal);
    ::raise(signal);
    context.run();  // ends, because nothing is waited for any more
    EXPECT_EQ(told, std::vector<std::string>{name});
  }
}

TEST(EndSignal, TheSecondOneEndsTheProcess) {
  EXPECT_EXIT(
      {
        boost::asio::io_context context;
        const EndSignal end(context.get_executor(), [](std::string_view) {});
        ::raise(SIGTERM);
        context.run();
        ::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

// 0 when all is as promised; for a process of its own.
int code_of_prepared_process() {
  ::close(STDIN_FILENO);
  ::signal(SIGCHLD, SIG_IGN);
  prepare_process();
  if (::signal(SIGCHLD, SIG_DFL) != SIG_DFL) return 4;
  if (::fcntl(STDIN_FILENO, F_GETFD) < 0) return 1;
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0 || ends[0] <= STDERR_FILENO) return 2;
  ::close(ends[0]);
  return ::write(ends[1], "x", 1) < 0 ? 0 : 3;
}

TEST(PrepareProcess, IsAsPromisedWhateverWasInherited) {
  EXPECT_EXIT(::_exit(code_of_prepared_process()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tiphys::host
