#include "io/host/log_sink.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/strings.h"

namespace tiphys::host {
namespace {

using shell::Level;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience{100};

struct LevelWord {
  std::string_view padded;
  std::string_view colour;
};
LevelWord word_of(Level level) {
  switch (level) {
    case Level::kError:
      return {"ERROR", "\x1b[1m\x1b[31m"};
    case Level::kWarn:
      return {"WARN ", "\x1b[33m"};
    case Level::kInfo:
      return {"INFO ", "\x1b[32m"};
    case Level::kDebug:
      return {"DEBUG", "\x1b[34m"};
    case Level::kTrace:
      return {"TRACE", "\x1b[36m"};
  }
  return {"ERROR", ""};
}

std::string utc_time(std::chrono::system_clock::time_point time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(second - day);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

// Appends the text as one line that a terminal only shows: control characters (those of Latin-1 and Unicode's line
// breaks too) become escapes. `quoted` says that it stands between quotes.
void append_escaped(std::string& line, std::string_view given, bool quoted) {
  const std::string text = with_valid_utf8(std::string(given.substr(0, kMaxLoggedText)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    const auto next = [&](std::size_t ahead) {
      return i + ahead < text.size() ? static_cast<std::uint8_t>(text[i + ahead]) : std::uint8_t{0};
    };
    const auto append_code = [&](unsigned code) {
      std::array<char, 16> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u{%x}", code);
      line += escape.data();
    };
    if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\r') {
      line += "\\r";
    } else if (byte == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      append_code(byte);
    } else if (byte == 0xc2 && next(1) < 0xa0) {
      append_code(next(1));
      i += 1;
    } else if (byte == 0xe2 && next(1) == 0x80 && (next(2) == 0xa8 || next(2) == 0xa9)) {
      append_code(0x2000U + (next(2) & 0x3fU));
      i += 2;
    } else {
      if (quoted && (byte == '"' || byte == '\\')) line += '\\';
      line += text[i];
    }
  }
  if (given.size() > kMaxLoggedText)
    line += concat("... (", std::to_string(given.size() - kMaxLoggedText), " bytes more)");
}

void append_value(std::string& line, std::string_view value) {
  const bool plain = !value.empty() && std::ranges::none_of(value, [](char c) {
    return c == ' ' || c == '"' || c == '=' || c == '\\' || static_cast<std::uint8_t>(c) < 0x20;
  });
  if (!plain) line += '"';
  append_escaped(line, value, !plain);
  if (!plain) line += '"';
}

}  // namespace

std::string format_log_line(std::chrono::system_clock::time_point time, Level level,
                            std::string_view target, std::string_view text,
                            shell::Log::Fields fields, bool colours) {
  const auto [word, colour] = word_of(level);
  std::string line = concat(colours ? "\x1b[90m[\x1b[0m" : "[", utc_time(time), " ");
  if (colours) line += colour;
  // Nothing follows a level without a target, so there is nothing to align.
  line += target.empty() ? trim(word) : word;
  if (colours) line += "\x1b[0m";
  if (!target.empty()) line += concat(" ", target);
  line += colours ? "\x1b[90m]\x1b[0m " : "] ";
  append_escaped(line, text, false);
  for (const auto& [key, value] : fields) {
    line += concat(" ", key, "=");
    append_value(line, value);
  }
  line += '\n';
  return line;
}

// A write must not wait for ever. A pipe is opened once more, because the flag that makes ours not wait would otherwise
// count for everybody who shares it; a socket is told so each time; the rest is asked before.
struct LogSink::Output {
  explicit Output(int given) : descriptor(given) {
    struct stat about{};
    if (::fstat(given, &about) != 0) return;
    is_socket = S_ISSOCK(about.st_mode);
    if (!S_ISFIFO(about.st_mode)) return;
    const std::string path = concat("/proc/self/fd/", std::to_string(given));
    own = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (own >= 0) descriptor = own;
  }
  ~Output() {
    if (own >= 0) ::close(own);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view line) {
    const std::lock_guard lock(mutex);
    if (lost > 0) {
      const std::string count = std::to_string(lost);
      const std::string notice =
          (cut ? "\n" : "") + format_log_line(std::chrono::system_clock::now(), Level::kWarn, "",
                                              "nobody read the log in time", {{"lost", count}},
                                              false);
      if (!send(notice)) {
        ++lost;
        return;
      }
      lost = 0;
      cut = false;
    }
    if (!send(line)) lost = 1;
  }

  // False when not all of it could be written. Waits only while nothing has been lost before.
  bool send(std::string_view bytes) {
    const auto deadline = steady_clock::now() + (lost > 0 ? milliseconds(0) : kPatience);
    const std::size_t whole = bytes.size();
    while (!bytes.empty()) {
      if (own < 0 && !is_socket && !is_writable(deadline)) break;
      // A blocking pipe or terminal that is ready takes that much without waiting.
      const std::string_view chunk =
          own < 0 && !is_socket ? bytes.substr(0, std::size_t{PIPE_BUF}) : bytes;
      const ssize_t count =
          is_socket ? ::send(descriptor, chunk.data(), chunk.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                    : ::write(descriptor, chunk.data(), chunk.size());
      if (count == 0) break;
      if (count > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
        continue;
      }
      if (errno == EINTR) continue;
      if ((errno != EAGAIN && errno != EWOULDBLOCK) || !is_writable(deadline)) break;
    }
    if (!bytes.empty() && bytes.size() < whole) cut = true;
    return bytes.empty();
  }

  [[nodiscard]] bool is_writable(steady_clock::time_point deadline) const {
    while (true) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
      pollfd one{.fd = descriptor, .events = POLLOUT, .revents = 0};
      const int ready = ::poll(&one, 1, static_cast<int>(std::max(left.count(), {})));
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0;
    }
  }

  std::mutex mutex{};
  int descriptor;
  int own = -1;
  bool is_socket = false;
  std::size_t lost = 0;
  bool cut = false;  // the last line that was written has no end
};

LogSink::LogSink(std::string target, LogSettings settings, int descriptor)
    : target_(std::move(target)),
      settings_(std::move(settings)),
      output_(std::make_unique<Output>(descriptor)) {
  for (const auto& warning : settings_.warnings) write(Level::kWarn, warning, {});
}

LogSink::~LogSink() = default;

bool LogSink::shows(Level level) const { return settings_.filter.shows(level, target_); }

void LogSink::write(Level level, std::string_view text, Fields fields) {
  if (!shows(level)) return;
  output_->write(format_log_line(std::chrono::system_clock::now(), level, target_, text, fields,
                                 settings_.colours));
}

void LogSink::fatal(std::string_view text) {
  output_->write(format_log_line(std::chrono::system_clock::now(), Level::kError, "", text, {},
                                 settings_.colours));
}

bool LogTrace::enabled() const { return log_.shows(Level::kTrace); }

void LogTrace::event(std::string_view machine, const std::string& event) {
  log_.write(Level::kTrace, concat(machine, " <- ", event), {});
}

void LogTrace::effect(std::string_view machine, const std::string& effect) {
  log_.write(Level::kTrace, concat(machine, " -> ", effect), {});
}

std::unique_ptr<LogSink> standard_log(std::string target) {
  auto settings = log_settings(process_environment(), ::isatty(STDERR_FILENO) == 1);
  return std::make_unique<LogSink>(std::move(target), std::move(settings), STDERR_FILENO);
}

}  // namespace tiphys::host
