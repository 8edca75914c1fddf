#include "cli/completion.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "text/manifest_fields.h"

namespace tiphys::cli {
namespace {

constexpr std::string_view kHelp = "help";

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }
bool is_long(std::string_view word) { return word.starts_with("--"); }

std::string with_dash(char letter) { return {'-', letter}; }
std::string with_dashes(const OptionSpec& option) { return concat("--", option.name); }

// Those of the table, and those that every command has.
std::vector<OptionSpec> options_of(const CommandSpec& table, const CommandSpec& command) {
  std::vector<OptionSpec> options = command.options;
  options.push_back({.letter = 'h', .name = kHelp, .help = "Print help"});
  if (&command == &table)
    options.push_back({.letter = 'V', .name = "version", .help = "Print version"});
  return options;
}

const OptionSpec* option_of_letter(const std::vector<OptionSpec>& options, char letter) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const OptionSpec& option) {
    return letter != 0 && option.letter == letter;
  });
  return found == options.end() ? nullptr : &*found;
}

const OptionSpec* option_of_name(const std::vector<OptionSpec>& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const OptionSpec& option) {
    return !name.empty() && option.name == name;
  });
  return found == options.end() ? nullptr : &*found;
}

// -kso=json: flags, then perhaps one option with a value, whatever follows it.
struct Cluster {
  std::string flags;  // with the dash
  const OptionSpec* option = nullptr;
  std::string separator;  // "=", if there is one
  std::string value;
};

Cluster read_cluster(const std::vector<OptionSpec>& options, std::string_view word) {
  Cluster cluster{"-", nullptr, {}, {}};
  for (std::size_t i = 1; i < word.size(); ++i) {
    cluster.flags += word[i];
    const OptionSpec* option = option_of_letter(options, word[i]);
    if (option == nullptr || option->value.empty()) continue;
    cluster.option = option;
    std::string_view rest = word.substr(i + 1);
    if (rest.starts_with('=')) {
      cluster.separator = "=";
      rest.remove_prefix(1);
    }
    cluster.value = rest;
    break;
  }
  return cluster;
}

// Reads the words before the one to complete.
class Place {
 public:
  explicit Place(const CommandSpec& table) : table_(table), command_(&table) {}

  void pass(const std::string& word) {
    if (std::exchange(awaited_, nullptr) != nullptr) return;
    if (!options_are_over_ && word == "--")
      options_are_over_ = true;
    else if (!options_are_over_ && is_option(word))
      pass_option(word);
    else if (command_->commands.empty())
      ++arguments_;
    else if (word == kHelp && !asks_for_help_)
      asks_for_help_ = true;
    else if (const CommandSpec* below = command_below(*command_, word))
      command_ = below;
    else
      is_lost_ = true;
  }

  [[nodiscard]] bool is_at_beginning() const {
    return command_ == &table_ && !asks_for_help_ && !is_lost_;
  }

  [[nodiscard]] std::vector<Candidate> candidates(const std::string& word,
                                                  const KnownNames& known) const {
    std::vector<Candidate> found;
    if (is_lost_) return found;
    if (awaited_ != nullptr) {
      add_values(*awaited_, word, "", known, found);
      return found;
    }
    const bool begins_option = !options_are_over_ && word.starts_with('-');
    if (!begins_option) {
      add_arguments(word, known, found);
      add_commands(word, found);
    }
    if (!options_are_over_ && !asks_for_help_) add_options(word, known, found);
    return found;
  }

 private:
  void pass_option(const std::string& word) {
    const auto& options = command_->options;  // the others take no values
    const OptionSpec* option = nullptr;
    if (is_long(word)) {
      option = option_of_name(options, std::string_view(word).substr(2));  // with '=' it is none
    } else {
      const Cluster cluster = read_cluster(options, word);
      if (cluster.separator.empty() && cluster.value.empty()) option = cluster.option;
    }
    if (option != nullptr && !option->value.empty()) awaited_ = option;
  }

  static void add(std::string text, std::string_view help, std::vector<Candidate>& found) {
    found.push_back({std::move(text), std::string(help)});
  }

  // Of an option or an argument.
  template <class Spec>
  static void add_values(const Spec& spec, const std::string& word, const std::string& before,
                         const KnownNames& known, std::vector<Candidate>& found) {
    std::vector<std::string> values(spec.choices.begin(), spec.choices.end());
    if (values.empty() && spec.kind != WordKind::kText) values = known(spec.kind, word);
    for (const auto& value : values)
      if (value.starts_with(word)) add(before + value, "", found);
  }

  void add_arguments(const std::string& word, const KnownNames& known,
                     std::vector<Candidate>& found) const {
    std::size_t earliest =
        0;  // where this one may begin, if those before it are as short as possible
    std::size_t latest = 0;
    bool may_come_later = false;
    for (const auto& argument : command_->arguments) {
      may_come_later = may_come_later || argument.takes_many;
      if (arguments_ >= earliest && (may_come_later || arguments_ <= latest))
        add_values(argument, word, "", known, found);
      if (argument.is_required) ++earliest;
      ++latest;
    }
  }

  void add_commands(const std::string& word, std::vector<Candidate>& found) const {
    for (const auto& below : command_->commands) {
      if (below.name.starts_with(word))
        add(std::string(below.name), below.summary, found);
      else if (!below.alias.empty() && below.alias.starts_with(word))
        add(std::string(below.alias), below.summary, found);
    }
    if (!command_->commands.empty() && !asks_for_help_ && kHelp.starts_with(word))
      add(std::string(kHelp), "Print help of a command", found);
  }

  void add_options(const std::string& word, const KnownNames& known,
                   std::vector<Candidate>& found) const {
    const auto options = options_of(table_, *command_);
    if (word.empty() || word == "-") {
      for (const auto& option : options) {
        const bool as_letter = option.name.empty() || (word == "-" && option.letter != 0);
        add(as_letter ? with_dash(option.letter) : with_dashes(option), option.help, found);
      }
    } else if (is_long(word)) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        const OptionSpec* option = option_of_name(options, word.substr(2, equals - 2));
        if (option != nullptr && !option->value.empty())
          add_values(*option, word.substr(equals + 1), word.substr(0, equals + 1), known, found);
        return;
      }
      for (const auto& option : options)
        if (!option.name.empty() && with_dashes(option).starts_with(word))
          add(with_dashes(option), option.help, found);
    } else if (is_option(word)) {
      const Cluster cluster = read_cluster(options, word);
      if (cluster.option != nullptr) {
        add_values(*cluster.option, cluster.value, cluster.flags + cluster.separator, known, found);
        return;
      }
      for (const auto& option : options)
        if (option.letter != 0) add(cluster.flags + option.letter, option.help, found);
    }
  }

  const CommandSpec& table_;
  const CommandSpec* command_;           // the last one named
  const OptionSpec* awaited_ = nullptr;  // whose value comes next
  std::size_t arguments_ = 0;            // given so far
  bool options_are_over_ = false;        // after --
  bool asks_for_help_ = false;
  bool is_lost_ = false;
};

void add_fields(const FieldSpec& parent, const std::string& path, std::vector<std::string>& names) {
  for (const auto& field : fields_within(parent)) {
    names.push_back(concat(path, field.name));
    add_fields(field, concat(names.back(), "."), names);
  }
}

Tree::Map entries_of(const Tree& tree, std::string_view key) {
  const auto child = tree.child(key);
  return child ? child->entries() : Tree::Map();
}

}  // namespace

std::vector<Candidate> complete(const CommandSpec& table, const std::vector<std::string>& words,
                                const KnownNames& known) {
  if (words.empty()) return {};
  Place place(table);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) place.pass(words[i]);
  return place.candidates(words.back(), known);
}

std::size_t count_of_global_words(const CommandSpec& table, const std::vector<std::string>& words) {
  Place place(table);
  for (std::size_t i = 0; i < words.size(); ++i) {
    place.pass(words[i]);
    if (!place.is_at_beginning()) return i;
  }
  return words.size();
}

std::vector<std::string> manifest_field_names(std::string_view word) {
  std::vector<std::string> names;
  add_fields(manifest_fields(), "", names);
  for (const std::string_view all : {"workloads", "configs"}) {
    if (word.starts_with(all)) continue;
    for (auto& name : names)
      if (name.starts_with(all)) name.erase(all.size() - 1, 1);
  }
  return names;
}

std::vector<std::string> state_masks(const Tree& complete_state) {
  std::vector<std::string> masks;
  // True if there is such a part.
  const auto add = [&](const Tree& parent, const std::string& path, std::string_view key) {
    if (!parent.child(key)) return false;
    masks.push_back(concat(path, key));
    return true;
  };
  if (add(complete_state, "", "desiredState")) {
    const Tree desired = *complete_state.child("desiredState");
    for (const std::string_view kind : {"workloads", "configs"})
      if (add(desired, "desiredState.", kind))
        entries_of(desired, kind).for_each([&](const std::string& name, const Tree&) {
          masks.push_back(concat("desiredState.", kind, ".", name));
        });
  }
  if (add(complete_state, "", "workloadStates"))
    entries_of(complete_state, "workloadStates")
        .for_each([&](const std::string& agent, const Tree& workloads) {
          masks.push_back(concat("workloadStates.", agent));
          workloads.entries().for_each([&](const std::string& name, const Tree&) {
            masks.push_back(concat("workloadStates.", agent, ".", name));
          });
        });
  if (add(complete_state, "", "agents"))
    entries_of(complete_state, "agents")
        .for_each([&](const std::string& agent, const Tree& attributes) {
          masks.push_back(concat("agents.", agent));
          for (const std::string_view key : {"status", "tags"})
            add(attributes, concat("agents.", agent, "."), key);
        });
  return masks;
}

}  // namespace tiphys::cli
