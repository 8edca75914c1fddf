#pragma once

// What may stand where somebody presses the tabulator key. Pure: the table says which kind of word fits, and whoever
// calls knows the names.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_table.h"
#include "model/tree.h"

namespace tiphys::cli {

struct Candidate {
  std::string text;
  std::string help{};  // a line; empty for names that users gave
};

// All names of a kind that are known. Those that do not begin with the word may be left out.
using KnownNames = std::function<std::vector<std::string>(WordKind kind, const std::string& word)>;

// The words of a line up to the cursor, without the program's name. The last is the one to complete, and may be empty.
// Names come before options, each in the order of the table. Where the words make no sense there is nothing to offer.
std::vector<Candidate> complete(const CommandSpec& table, const std::vector<std::string>& words,
                                const KnownNames& known);

// How many of these words, at their beginning, are options of the program itself with their values.
std::size_t count_of_global_words(const CommandSpec& table, const std::vector<std::string>& words);

// The masks for all that there is in a complete state, down to single workloads, configs and agents.
std::vector<std::string> state_masks(const Tree& complete_state);

// The fields of manifests as `ank explain` takes them: workload.restartPolicy. Those that begin with "workloads" only
// for a word that does.
std::vector<std::string> manifest_field_names(std::string_view word);

}  // namespace tiphys::cli
