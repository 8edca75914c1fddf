#pragma once

// What engines print, as values: the part that they have in common. Pure.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tree.h"
#include "shell/engine.h"

namespace tiphys::commands {

struct ListedContainer {
  shell::Container container;
  pid_t pid = 0;         // of its first process; 0 when it does not run
  std::string pod = {};  // its id; empty when it belongs to none
};

// The answer of `run` and `create`: one id.
Result<shell::ContainerId> parse_id(std::string_view engine, std::string_view output);

// What a state word of an engine means; the words are in lower case.
struct StateRow {
  std::string_view word;
  workload::ContainerPhase phase;
};
// By the row with that word, whatever its case; a word without a row is a state that nobody knows.
shell::ContainerStatus status_by(std::span<const StateRow> table, std::string_view word,
                                 int exit_code);

// The text below a key; empty when there is none.
std::string text_at(const Tree& entry, std::string_view key);
// Nothing when it is absent, no integer, or out of range.
std::optional<int> number_at(const Tree& entry, std::string_view key, int max);
inline constexpr int kMaxExitCode = 255;

// The beginning of an output, for messages.
std::string beginning_of(std::string_view output);

}  // namespace tiphys::commands
