#pragma once

// Everything that `ank` can be told: commands, options and arguments, with their help. The parser,
// the help texts, the man pages and the completion of shells come from this one table.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys::cli {

// What a word stands for, and with it what completion offers.
enum class WordKind : std::uint8_t {
  kText,
  kFile,
  kWorkload,
  kConfig,
  kAgent,
  kStateMask,      // desiredState.workloads.nginx
  kManifestField,  // workload.restartPolicy
};

struct OptionSpec {
  char letter = 0;              // -k; 0: none
  std::string_view name;        // insecure, for --insecure; empty: none
  std::string_view value{};     // what stands for its value in the help: AGENT_NAME; empty: a flag
  std::string_view help{};      // a line
  std::string_view fallback{};  // what counts when it is not given, for the help
  std::string_view variable{};  // of the environment
  std::vector<std::string_view> choices{};  // all values that it takes; empty: any
  WordKind kind = WordKind::kText;
  bool is_required = false;
  bool may_repeat = false;
};

struct ArgumentSpec {
  std::string_view label;
  std::string_view help;
  WordKind kind = WordKind::kText;
  bool is_required = false;
  bool takes_many = false;
  std::vector<std::string_view> choices{};
};

struct ExampleSpec {
  std::string_view words;  // a whole command line
  std::string_view what;   // what it does, a line without a full stop
};

struct CommandSpec {
  std::string_view name;
  std::string_view alias{};
  std::string_view summary{};  // a line without a full stop
  std::string_view details{};  // paragraphs, divided by empty lines; for --help and the man page
  std::vector<OptionSpec> options{};
  std::vector<ArgumentSpec> arguments{};  // one that takes many may stand before one that does not
  std::vector<ExampleSpec> examples{};
  std::vector<CommandSpec> commands{};  // below it: then it does nothing by itself
  bool shows_help_alone = false;        // as stock, where others name what is missing
};

// `ank` itself: its options are the global ones.
const CommandSpec& command_table();

// The command below another that a word names, or nullptr.
const CommandSpec* command_below(const CommandSpec& command, std::string_view word);

// "ank get workload [OPTIONS] [WORKLOAD_NAME]..."; the path is "ank get workload".
std::string usage_of(std::string_view path, const CommandSpec& command);

// What --help prints.
std::string help_of(std::string_view path, const CommandSpec& command);

}  // namespace tiphys::cli
