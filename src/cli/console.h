#pragma once

// What a command says to whom: results, warnings and debug lines to stdout, errors to stderr. Each
// text is written at once and as a whole, so that a signal or a reader never sees half a table.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options.h"

namespace tiphys::cli {

// What is read must fit into memory more than once; no manifest needs more.
inline constexpr std::size_t kMaxInput = std::size_t{64} << 20U;

class Console {
 public:
  virtual ~Console() = default;

  // The text as it is.
  virtual void print(std::string_view text) = 0;
  virtual void print_to_stderr(std::string_view text) = 0;
  // All of stdin.
  virtual Result<std::string> read_stdin() = 0;
  [[nodiscard]] virtual bool is_terminal() const = 0;  // stdout
  // Columns of the terminal; as good as none where there is no terminal.
  [[nodiscard]] virtual std::size_t width() const = 0;
  // By the clock that whoever reads this has.
  [[nodiscard]] virtual std::chrono::system_clock::time_point now() const {
    return std::chrono::system_clock::now();
  }

  // One line each, with a coloured word before it where colours are wanted.
  void error(std::string_view text);
  // A text of several lines, as the option parser makes it.
  void usage_error(std::string_view text);
  void warn(std::string_view text);
  void debug(std::string_view text);

  // What the command line wants.
  void choose_colours(Colours choice) {
    if (choice != Colours::kAuto)
      use_colours(choice == Colours::kAlways, choice == Colours::kAlways);
  }

 protected:
  void use_colours(bool on_stdout, bool on_stderr) {
    colours_stdout_ = on_stdout;
    colours_stderr_ = on_stderr;
    colours_usage_errors_ = on_stderr;
  }
  void use_colours_for_usage_errors() { colours_usage_errors_ = true; }

 private:
  bool colours_stdout_ = false;
  bool colours_stderr_ = false;
  bool colours_usage_errors_ = false;
};

// stdin, stdout and stderr of this process. Descriptors that are closed lead nowhere from now on: a
// socket that took their numbers would get our output.
class ProcessConsole final : public Console {
 public:
  explicit ProcessConsole(const Environment& environment);

  void print(std::string_view text) override;
  void print_to_stderr(std::string_view text) override;
  Result<std::string> read_stdin() override;
  [[nodiscard]] bool is_terminal() const override;
  [[nodiscard]] std::size_t width() const override;

  // Why something that was printed did not get onto stdout. A reader that has gone is no reason.
  [[nodiscard]] const Status& all_was_printed() const { return printed_; }

 private:
  Status printed_;
};

// A whole file, or what the system says about it: "No such file or directory (os error 2)".
Result<std::string> read_file(const std::string& path);

}  // namespace tiphys::cli
