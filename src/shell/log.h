#pragma once

// What operators and developers read: facts with fields in the log, and every step of every machine in the trace.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tiphys::shell {

// Each tells less urgent things than the one before.
enum class Level : std::uint8_t { kError, kWarn, kInfo, kDebug, kTrace };

class Log {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  virtual ~Log() = default;
  virtual void write(Level level, std::string_view text, Fields fields) = 0;

  void error(std::string_view text, Fields fields = {}) { write(Level::kError, text, fields); }
  void warn(std::string_view text, Fields fields = {}) { write(Level::kWarn, text, fields); }
  void info(std::string_view text, Fields fields = {}) { write(Level::kInfo, text, fields); }
};

class Trace {
 public:
  virtual ~Trace() = default;
  // Whether anybody reads the lines; making them costs more than the step.
  [[nodiscard]] virtual bool enabled() const = 0;
  virtual void event(std::string_view machine, const std::string& event) = 0;
  virtual void effect(std::string_view machine, const std::string& effect) = 0;
};

}  // namespace tiphys::shell
