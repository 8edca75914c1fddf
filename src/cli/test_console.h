#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace tiphys::cli {

// Remembers what was printed, and may pretend to be a terminal. Its clock stands still.
class RecordingConsole final : public Console {
 public:
  RecordingConsole() = default;
  explicit RecordingConsole(std::size_t columns) : columns_(columns) { use_colours(true, true); }

  void print(std::string_view text) override { out += text; }
  void print_to_stderr(std::string_view text) override { err += text; }
  Result<std::string> read_stdin() override { return input; }
  [[nodiscard]] bool is_terminal() const override { return columns_.has_value(); }
  [[nodiscard]] std::size_t width() const override { return columns_.value_or(65535); }
  [[nodiscard]] std::chrono::system_clock::time_point now() const override {
    return std::chrono::system_clock::time_point(std::chrono::seconds(1794802521));
  }

  std::string input;
  std::string out;
  std::string err;

 private:
  std::optional<std::size_t> columns_;
};

}  // namespace tiphys::cli
