#pragma once

// Which lines of the log are wanted, as users of Rust programs say it:
//
//   debug                        all lines up to debug
//   ank_server=trace,grpc=off    by target; the longest name that a target begins with counts
//   ank_agent                    all lines of that target
//
// A program's lines carry its own name as their target (ank_server, ank_agent).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/host/environment.h"
#include "shell/log.h"

namespace tiphys::host {

class LogFilter {
 public:
  // Everything up to info.
  LogFilter();

  struct Parsed;
  // What cannot be read is left out, with a warning; if nothing is left the filter is the usual one.
  static Parsed parse(std::string_view text);

  [[nodiscard]] bool shows(shell::Level level, std::string_view target) const;

 private:
  using UpTo = std::optional<shell::Level>;  // none: nothing
  struct Directive {
    std::string target;  // empty: all
    UpTo up_to;
  };

  static std::optional<UpTo> parse_level(std::string_view word);
  void set(std::string_view target, UpTo up_to);

  std::vector<Directive> directives_;
};

struct LogFilter::Parsed {
  LogFilter filter;
  std::vector<std::string> warnings;
};

struct LogSettings {
  LogFilter filter{};
  bool colours = false;
  std::vector<std::string> warnings{};
};

// What the environment asks for: TIPHYS_LOG, or else RUST_LOG; RUST_LOG_STYLE (auto, always, never), NO_COLOR and TERM.
LogSettings log_settings(const Environment& environment, bool is_terminal);

}  // namespace tiphys::host
