#pragma once

// The command line and environment of a program without commands of its own: ank-server, ank-agent. Pure.
//
// A table of options is read here rather than by CLI11, which serves `ank` and its many commands: a service keeps in
// memory what it ran at its start, 0.2 MB for CLI11 in the 3 MB that server and agent may take together.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/host/environment.h"

namespace tiphys::apps {

struct Option {
  char letter = 0;              // -k; 0: none
  std::string_view name;        // insecure, for --insecure
  std::string_view value{};     // what stands for its value in the help: <PATH>; empty: a switch
  std::string_view variable{};  // of the environment
  std::string_view help{};
  std::string_view fallback{};  // what counts when it is not given, for the help
  bool repeatable = false;
  // Names of older versions, which the help does not show.
  char hidden_letter = 0;
  std::string_view hidden_name{};
};

struct Program {
  std::string_view name;
  std::string_view purpose;
  std::vector<Option> options;  // --help and --version come by themselves
};

// --help and --version.
const std::vector<Option>& common_options();

// What the environment says to every program beside its options.
struct Variable {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<Variable>& common_variables();

// Why a program ends before it began.
struct Stop {
  enum class Kind : unsigned char {
    kAnswer,  // what was asked for; for standard output
    kUsage,   // how it is called wrongly; for standard error
    kFatal,   // what is wrong with what it was given; for the log
  };
  Kind kind;
  std::string text;

  friend bool operator==(const Stop&, const Stop&) = default;
};
int exit_code(Stop::Kind kind);

template <class T>
using OrStop = tl::expected<T, Stop>;

inline tl::unexpected<Stop> stop(Stop::Kind kind, std::string text) {
  return tl::unexpected(Stop{kind, std::move(text)});
}
// "<context>: '<detail>'"
tl::unexpected<Stop> fatal(std::string_view context, std::string_view detail);

// What was given, by the name of the option. A command line wins over the environment. An empty
// variable counts as none, except for a switch, which is true or false.
class Arguments {
 public:
  // A switch holds "true" or "false".
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
  [[nodiscard]] std::optional<bool> is_on(std::string_view name) const;

 private:
  friend class ArgumentReader;
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

// Without the program's own name in front.
OrStop<Arguments> read_arguments(const Program& program, const std::vector<std::string>& arguments,
                                 const host::Environment& environment);

std::string help_text(const Program& program);
// "error: <offence>", how to call the program, and where to read more.
tl::unexpected<Stop> misused(const Program& program, std::string_view offence,
                             std::string_view usage = "[OPTIONS]");
// A value that cannot be read; the words are those of stock Ankaios, which shows no usage here.
tl::unexpected<Stop> bad_value(const Program& program, std::string_view option,
                               std::string_view value, std::string_view why);

}  // namespace tiphys::apps
