#pragma once

// The log on standard error, a line per fact:
//
//   [2026-01-31T12:00:00Z INFO  ank_server] agent connected agent=agent_A version="1.1.0 or so"
//
// What others wrote cannot break a line or steer a terminal: it is escaped, and cut when it is very long. Safe from any
// thread; each line is one write. Whoever does not read our lines for a while loses some and is told how many: the
// program waits for a reader a tenth of a second once, not for ever, and goes on if nobody can be written to.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "io/host/log_filter.h"
#include "shell/log.h"

namespace tiphys::host {

inline constexpr std::size_t kMaxLoggedText = std::size_t{16} << 10U;  // of one text or value

// The line with its line break; without a target where that is empty.
std::string format_log_line(std::chrono::system_clock::time_point time, shell::Level level,
                            std::string_view target, std::string_view text,
                            shell::Log::Fields fields, bool colours);

class LogSink final : public shell::Log {
 public:
  // Writes to the descriptor, which stays the caller's; SIGPIPE has to be ignored. The target is the program's name as
  // directives say it. Says first what was wrong with the settings.
  LogSink(std::string target, LogSettings settings, int descriptor);
  ~LogSink() override;
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

  void write(shell::Level level, std::string_view text, Fields fields) override;
  // Why the program ends: shown whatever the filter says.
  void fatal(std::string_view text);

  [[nodiscard]] bool shows(shell::Level level) const;

 private:
  struct Output;
  const std::string target_;
  const LogSettings settings_;
  const std::unique_ptr<Output> output_;
};

// Every step of every machine, for those who ask for level trace.
class LogTrace final : public shell::Trace {
 public:
  explicit LogTrace(LogSink& log) : log_(log) {}

  [[nodiscard]] bool enabled() const override;
  void event(std::string_view machine, const std::string& event) override;
  void effect(std::string_view machine, const std::string& effect) override;

 private:
  LogSink& log_;
};

// A sink for the program's own standard error and environment.
std::unique_ptr<LogSink> standard_log(std::string target);

}  // namespace tiphys::host
