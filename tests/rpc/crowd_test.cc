// A thousand hostile connections at once, from a process of their own so that the bytes in use here are the server's.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tests/rpc/arena.h"
#include "tests/rpc/raw_socket.h"

namespace tiphys::rpc {
namespace {

constexpr int kConnections = 1000;
constexpr std::uint32_t kStreams = 100;
constexpr std::size_t kGrowthLimit = 64'000'000;
constexpr rlim_t kDescriptors = kConnections + 100;

struct Manner {
  const char* name;
  const char* method;
  // In the middle of a header block: the beginning of a value which is announced as large as one may be.
  bool announces_large_fields;
};

// What one connection of the crowd says, all at once; it never reads.
std::string hostility(int connection, const Manner& manner) {
  const std::string method = manner.method;
  std::string bytes = client_hello() + frame(FrameType::kSettings, kAck, 0);
  const bool halves_header = connection % 3 == 0;
  const std::uint32_t complete = halves_header ? kStreams - 1 : kStreams;
  for (std::uint32_t index = 0; index < complete; ++index)
    bytes += request_head(index * 2 + 1, method);
  if (halves_header) {
    std::string block = request_block(method);
    if (manner.announces_large_fields)
      block += std::string(1, '\0') + integer(0, 7, 1) + "x" + integer(0x80, 7, 65'000);
    bytes += frame(FrameType::kHeaders, 0, complete * 2 + 1, block);
  } else if (connection % 3 == 1) {
    const std::string whole = frame(FrameType::kData, 0, 1, message(std::string(1000, 'x')));
    bytes += whole.substr(0, whole.size() / 2);
  } else {
    for (std::uint32_t index = 0; index < complete; ++index)
      bytes += frame(FrameType::kReset, 0, index * 2 + 1, number(8, 4));
  }
  return bytes;
}

// The process of the crowd. It is forked while there is only one thread, learns the address later, writes one byte for
// each connection that has said its piece, and ends with the pipe from which it read the address.
class Crowd {
 public:
  explicit Crowd(const Manner& manner) {
    EXPECT_EQ(pipe(orders_), 0);
    EXPECT_EQ(pipe(reports_), 0);
    process_ = fork();
    if (process_ == 0) play(manner);
    ::close(orders_[0]);
    ::close(reports_[1]);
  }
  ~Crowd() {
    leave();
    ::close(reports_[0]);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void attack(const std::string& address) {
    const std::string line = address + "\n";
    EXPECT_EQ(write(orders_[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  // Waits for the next connection of the crowd. False when there will be none.
  bool await_connection() {
    char report = 0;
    return read(reports_[0], &report, 1) == 1;
  }
  void leave() {
    if (process_ <= 0) return;
    ::close(orders_[1]);
    int status = 0;
    waitpid(std::exchange(process_, 0), &status, 0);
    EXPECT_EQ(status, 0) << "the crowd could not do what it should";
  }

 private:
  [[noreturn]] void play(const Manner& manner) const noexcept {
    ::close(orders_[1]);
    ::close(reports_[0]);
    std::string address;
    char byte = 0;
    while (read(orders_[0], &byte, 1) == 1 && byte != '\n') address += byte;
    if (address.empty()) _exit(0);  // the test has ended before it began
    std::vector<RawSocket> sockets;
    for (int connection = 0; connection < kConnections; ++connection) {
      sockets.push_back(RawSocket::connect(address));
      if (!sockets.back().send(hostility(connection, manner))) _exit(1);
      if (write(reports_[1], "x", 1) != 1) _exit(1);
    }
    while (read(orders_[0], &byte, 1) == 1) {
    }
    _exit(0);
  }

  int orders_[2] = {-1, -1};
  int reports_[2] = {-1, -1};
  pid_t process_ = 0;
};

void raise_descriptor_limit() {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GE(limit.rlim_max, kDescriptors)
      << "this test needs " << kDescriptors << " open files; raise the hard limit (ulimit -Hn)";
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0) << std::strerror(errno);
}

class CrowdTest : public testing::TestWithParam<Manner> {};

TEST_P(CrowdTest, CostsLittleAndHonestPeersNoticeNothing) {
  raise_descriptor_limit();
  Crowd crowd(GetParam());
  // So patient that all of the crowd stand there at the same time, however slow the machine is.
  ArenaOptions patient;
  patient.http.handshake = std::chrono::hours(1);
  patient.calls.first_message = std::chrono::hours(1);
  Arena arena(patient);
  arena.remember_quiet();
  const std::size_t before = arena.loop().run(bytes_in_use);

  crowd.attack(arena.address());
  for (int connection = 1; connection <= kConnections; ++connection) {
    ASSERT_TRUE(crowd.await_connection()) << "only " << connection - 1 << " connections were made";
    if (connection % 50 == 0) arena.expect_honest_call();
  }
  // They all stand there, but for those that were closed and logged.
  arena.await_connections_and_lines(kConnections + 1);
  for (int call = 0; call < 20; ++call) arena.expect_honest_call();
  const std::size_t most = arena.loop().run(bytes_in_use);
  RecordProperty("growth", std::to_string(most - before));
  EXPECT_LE(most - before, kGrowthLimit);

  crowd.leave();
  arena.expect_quiet(
      2 * kMiB);  // what a thousand connections leave in tables and buffers that are kept
  arena.expect_honest_call();
}

INSTANTIATE_TEST_SUITE_P(Manners, CrowdTest,
                         testing::Values(Manner{"OpensCalls", "/test.Arena/Echo", false},
                                         Manner{"OpensUnknownCalls", "/test.Arena/None", false},
                                         Manner{"AnnouncesLargeFields", "/test.Arena/Echo", true}),
                         [](const auto& manner) { return std::string(manner.param.name); });

}  // namespace
}  // namespace tiphys::rpc
