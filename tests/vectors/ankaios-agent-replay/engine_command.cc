// Stands in for podman and nerdctl where a test plays the engine itself: hands its command line to the test, prints what
// the test answers, and ends as the test says. SCRIPTED_ENGINE names the unix socket of the test.
//
//   to the test      u32 length, the command's name and arguments with a zero byte after each
//                    u32 length, what came on stdin (only a last argument "-" asks for it)
//   from the test    u8 where to ('o' stdout, 'e' stderr, 'x' the end), u32 length, bytes (of the end: the exit code)
//
// Numbers are big-endian. A socket that closes before the end means that there is no test any more.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr int kNoTest = 99;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(kNoTest);
}

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(to, bytes.data(), bytes.size());
    if (written <= 0) fail("scripted engine: write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_block(int to, std::string_view bytes) {
  const std::uint32_t length = htonl(static_cast<std::uint32_t>(bytes.size()));
  std::array<char, sizeof length> prefix{};
  std::memcpy(prefix.data(), &length, sizeof length);
  write_all(to, {prefix.data(), prefix.size()});
  write_all(to, bytes);
}

std::string read_exactly(int from, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size;) {
    const auto got = ::read(from, bytes.data() + at, size - at);
    if (got <= 0) fail("scripted engine: read");
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string read_block(int from) {
  std::uint32_t length = 0;
  const auto prefix = read_exactly(from, sizeof length);
  std::memcpy(&length, prefix.data(), sizeof length);
  return read_exactly(from, ntohl(length));
}

std::string read_to_end(int from) {
  std::string bytes;
  std::array<char, 4096> part{};
  ssize_t size = 0;
  while ((size = ::read(from, part.data(), part.size())) > 0)
    bytes.append(part.data(), static_cast<std::size_t>(size));
  return bytes;
}

int connect_to_test() {
  const auto* path = std::getenv("SCRIPTED_ENGINE");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) {
    std::fputs("scripted engine: SCRIPTED_ENGINE names no socket\n", stderr);
    std::exit(kNoTest);
  }
  std::strcpy(address.sun_path, path);
  const int test = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  if (test < 0 || ::connect(test, where, sizeof address) != 0) fail("scripted engine: connect");
  return test;
}

}  // namespace

int main(int argc, char** argv) {
  const int test = connect_to_test();
  std::string words;
  const auto* slash = std::strrchr(argv[0], '/');
  words += slash != nullptr ? slash + 1 : argv[0];
  words += '\0';
  for (int at = 1; at < argc; ++at) {
    words += argv[at];
    words += '\0';
  }
  write_block(test, words);
  write_block(test, std::strcmp(argv[argc - 1], "-") == 0 ? read_to_end(STDIN_FILENO) : "");
  for (;;) {
    const auto kind = read_exactly(test, 1);
    const auto bytes = read_block(test);
    if (kind == "x") return std::atoi(bytes.c_str());
    write_all(kind == "e" ? STDERR_FILENO : STDOUT_FILENO, bytes);
  }
}
