#include "cli/console.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/strings.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kUnlimitedWidth = 65535;
constexpr std::size_t kUsualWidth = 80;

// What the system says when not all of it can be written, else 0. Whoever started us may have made the descriptor
// non-blocking; a slow reader still gets everything.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// While it lives, Ctrl-C waits: a table that is being written to a terminal gets whole onto it. A pipe may be full for as
// long as its reader likes, so there nothing waits.
class WholeOnTerminal {
 public:
  explicit WholeOnTerminal(bool on_terminal) : on_terminal_(on_terminal) {
    if (!on_terminal_) return;
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGINT);
    ::sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~WholeOnTerminal() {
    if (on_terminal_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WholeOnTerminal(const WholeOnTerminal&) = delete;
  WholeOnTerminal& operator=(const WholeOnTerminal&) = delete;

 private:
  const bool on_terminal_;
  sigset_t before_{};
};

tl::unexpected<Error> system_error(int number) {
  return fail(number == ENOENT ? Code::kNotFound : Code::kUnavailable,
              concat(std::strerror(number), " (os error ", std::to_string(number), ")"));
}

Result<std::string> read_all(int descriptor, std::string text = {}) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxInput)
      return fail(Code::kResourceExhausted, concat("larger than ", std::to_string(kMaxInput >> 20U),
                                                   " MiB, which is the most that is read"));
  }
}

// The first bytes of a FIFO, opened so that nothing waits. Waits for somebody to open its other end, but only for a while;
// whoever has opened it may then take all the time he needs.
Result<std::string> wait_for_writer(int fifo) {
  constexpr int kTries = 100;
  constexpr int kPauseMs = 50;
  for (int i = 0; i < kTries; ++i) {
    pollfd state{fifo, POLLIN, 0};
    if (::poll(&state, 1, kPauseMs) > 0) return std::string();  // bytes, or a writer who has left
    std::string first(1, 0);
    const ssize_t count = ::read(fifo, first.data(), first.size());
    if (count > 0) return first;
    if (count < 0 && errno == EAGAIN) return std::string();  // a writer who has said nothing yet
  }
  return fail(Code::kDeadlineExceeded, "it is a FIFO, and nobody writes into it");
}

std::string value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

constexpr const char* kPlain = "\x1b[0m";

// What stands between apostrophes, in that colour.
std::string with_coloured_quotes(std::string_view line, std::string_view colour) {
  std::string text;
  bool is_inside = false;
  for (const char c : line) {
    if (c == '\'' && is_inside) text += kPlain;
    text += c;
    if (c != '\'') continue;
    is_inside = !is_inside;
    if (is_inside) text += colour;
  }
  if (is_inside) text += kPlain;
  return text;
}

std::string coloured_usage_line(std::string_view line) {
  constexpr std::string_view kUsage = "Usage: ";
  constexpr std::string_view kTip = "  tip: ";
  if (line.starts_with(kUsage)) {
    const std::string_view usage = line.substr(kUsage.size());
    // The names of the program and the command are whatever comes before options and arguments.
    const std::size_t end = std::min(usage.find_first_of("[<-"), usage.size());
    const std::string_view names = trim(usage.substr(0, end));
    return concat("\x1b[1m\x1b[4mUsage:", kPlain, " \x1b[1m", names, kPlain,
                  usage.substr(names.size()));
  }
  if (line.starts_with(kTip))
    return concat("  \x1b[32mtip:", kPlain, " ",
                  with_coloured_quotes(line.substr(kTip.size()), "\x1b[32m"));
  const bool names_option = line.starts_with("For more information");
  return with_coloured_quotes(line, names_option ? "\x1b[1m" : "\x1b[33m");
}

}  // namespace

void Console::usage_error(std::string_view text) {
  if (!colours_usage_errors_) {
    print_to_stderr(concat("error: ", text));
    return;
  }
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.push_back(coloured_usage_line(line));
  print_to_stderr(concat("\x1b[1m\x1b[31merror:", kPlain, " ", join(lines, "\n")));
}

void Console::error(std::string_view text) {
  print_to_stderr(
      concat(colours_stderr_ ? "\x1b[38;5;9m\x1b[1merror:\x1b[0m " : "error: ", text, "\n"));
}

void Console::warn(std::string_view text) {
  print(concat(colours_stdout_ ? "\x1b[38;5;11mwarn:\x1b[39m " : "warn: ", text, "\n"));
}

void Console::debug(std::string_view text) {
  print(concat(colours_stdout_ ? "\x1b[38;5;12mdebug:\x1b[39m " : "debug: ", text, "\n"));
}

ProcessConsole::ProcessConsole(const Environment& environment) {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDWR);  // takes the lowest free number, which is this one
  if (!value_of(environment, "NO_COLOR").empty()) return;
  const bool can = value_of(environment, "TERM") != "dumb";
  use_colours(can && ::isatty(STDOUT_FILENO) == 1, can && ::isatty(STDERR_FILENO) == 1);
  const std::string forced = value_of(environment, "CLICOLOR_FORCE");
  if (!forced.empty() && forced != "0") use_colours_for_usage_errors();
}

void ProcessConsole::print(std::string_view text) {
  const WholeOnTerminal whole(is_terminal());
  const int failure = write_all(STDOUT_FILENO, text);
  if (failure != 0 && failure != EPIPE && printed_.has_value()) printed_ = system_error(failure);
}

void ProcessConsole::print_to_stderr(std::string_view text) {
  (void)write_all(STDERR_FILENO, text);  // nobody is left to be told
}

Result<std::string> ProcessConsole::read_stdin() {
  if (::isatty(STDIN_FILENO) == 1)
    print_to_stderr("Reading from the terminal; Ctrl-D in an empty line ends the text.\n");
  return read_all(STDIN_FILENO);
}
bool ProcessConsole::is_terminal() const { return ::isatty(STDOUT_FILENO) == 1; }

std::size_t ProcessConsole::width() const {
  if (!is_terminal()) return kUnlimitedWidth;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

Result<std::string> read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(errno);
  struct stat about{};
  Result<std::string> text;
  if (::fstat(descriptor, &about) == 0 && S_ISFIFO(about.st_mode))
    text = wait_for_writer(descriptor);
  if (text) {
    (void)::fcntl(descriptor, F_SETFL, 0);
    text = read_all(descriptor, *std::move(text));
  }
  ::close(descriptor);
  return text;
}

}  // namespace tiphys::cli
