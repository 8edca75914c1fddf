#include "cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "base/version.h"
#include "cli/command_table.h"
#include "cli/listing.h"
#include "cli/nearest.h"

namespace tiphys::cli {
namespace {

// Thrown and caught in this file only, as CLI11 does with its own.
struct UsageError {
  std::string text;
  const CLI::App* app = nullptr;  // whose usage helps; the selected command's if none
};

// -- Before CLI11 sees the words

// The letters and names of all options that take a value; none of them is a flag elsewhere.
struct WithValue {
  std::string letters;
  std::vector<std::string> names;  // with dashes

  explicit WithValue(const CommandSpec& command) { collect(command); }

 private:
  void collect(const CommandSpec& command) {
    for (const auto& option : command.options) {
      if (option.value.empty()) continue;
      if (option.letter != 0) letters += option.letter;
      if (!option.name.empty()) names.push_back(concat("--", option.name));
    }
    for (const auto& below : command.commands) collect(below);
  }
};

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }
bool is_short_cluster(std::string_view word) { return is_option(word) && word[1] != '-'; }

bool awaits_value(const WithValue& options, std::string_view word) {
  if (is_short_cluster(word)) return word.find_first_of(options.letters) == word.size() - 1;
  return std::find(options.names.begin(), options.names.end(), word) != options.names.end();
}

// CLI11 would take an option for the value of the one before, the '=' of -o=json for a part of the
// value, and the word after --agent= for its value.
void prepare(std::vector<std::string>& words) {
  const WithValue options(command_table());
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].ends_with('=') &&
        awaits_value(options, std::string_view(words[i]).substr(0, words[i].size() - 1))) {
      words[i].pop_back();
      words.emplace(words.begin() + static_cast<std::ptrdiff_t>(++i));
      continue;
    }
    std::string& word = words[i];
    const bool awaits = awaits_value(options, word);
    if (awaits && i + 1 < words.size() && is_option(words[i + 1]))
      throw UsageError{concat("a value is required for '", word, "' but '", words[i + 1],
                              "' follows\n\n  tip: to pass it as a value, use '", word, "=",
                              words[i + 1], "'")};
    if (awaits) ++i;
    if (!is_short_cluster(word)) continue;
    const std::size_t letter = word.find_first_of(options.letters);
    if (letter != std::string::npos && letter + 1 < word.size() && word[letter + 1] == '=')
      word.erase(letter + 1, 1);
  }
}

// After "--" CLI11 takes words only for an argument that has got none yet: those before it go there, too.
void gather_arguments(std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (end == words.end()) return;
  const WithValue options(command_table());
  const CommandSpec* command = &command_table();
  std::vector<std::string> kept;
  std::vector<std::string> arguments;
  for (auto word = words.begin(); word != end; ++word) {
    const CommandSpec* below = command_below(*command, *word);
    if (below != nullptr) command = below;
    if (below == nullptr && !is_option(*word) && command->commands.empty()) {
      arguments.push_back(std::move(*word));
      continue;
    }
    const bool takes_next = awaits_value(options, *word) && word + 1 != end;
    kept.push_back(std::move(*word));
    if (takes_next) kept.push_back(std::move(*++word));
  }
  kept.emplace_back("--");
  std::move(arguments.begin(), arguments.end(), std::back_inserter(kept));
  std::move(end + 1, words.end(), std::back_inserter(kept));
  words = std::move(kept);
}

// -- Suggestions

// A line that names what was probably meant, or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view what) {
  const auto found = nearest(word, candidates);
  auto meant = found ? candidates.begin() + static_cast<std::ptrdiff_t>(*found) : candidates.end();
  // Whoever cut a word short may be far from its end.
  constexpr std::size_t kShortest = 3;
  if (!found && word.size() >= kShortest && word != "--")
    meant = std::find_if(candidates.begin(), candidates.end(),
                         [&](const std::string& each) { return each.starts_with(word); });
  if (meant == candidates.end()) return {};
  return concat("\n\n  tip: a similar ", what, " exists: '", *meant, "'");
}

// -- What was given for a command. Everything comes as text: what it means is said here.

std::string shown(const OptionSpec& option) {
  const std::string name =
      option.name.empty() ? concat("-", std::string(1, option.letter)) : concat("--", option.name);
  return option.value.empty() ? name : concat(name, " <", option.value, ">");
}

std::string shown(const ArgumentSpec& argument) {
  return concat("<", argument.label, ">", argument.takes_many ? "..." : "");
}

// As CLI11 wants it: "-k,--insecure".
std::string declared(const OptionSpec& option) {
  std::vector<std::string> names;
  if (option.letter != 0) names.push_back(concat("-", std::string(1, option.letter)));
  if (!option.name.empty()) names.push_back(concat("--", option.name));
  return join(names, ",");
}

// An option is asked for by its name, or by its letter where it has no name.
bool is_called(const OptionSpec& option, std::string_view name) {
  return option.name.empty() ? name == std::string_view(&option.letter, 1) : option.name == name;
}

class Given {
 public:
  Given(const CommandSpec& command, const CLI::App& app) : command_(command), app_(app) {}

  // Whatever is wrong with any of the words, before anybody looks at one of them.
  void check() const {
    std::string missing;
    for (const auto& option : command_.options) {
      const auto& results = results_of(option);
      if (results.size() > 1 && !option.may_repeat)
        throw UsageError{
            concat("the argument '", shown(option), "' cannot be used multiple times")};
      if (option.is_required && results.empty()) missing += concat("\n  ", shown(option));
      for (const auto& value : results) check_value(option, value);
    }
    const std::vector<std::string> given = words();
    std::size_t needed = 0;
    for (const auto& argument : command_.arguments)
      if (argument.is_required && given.size() < ++needed)
        missing += concat("\n  ", shown(argument));
    if (!missing.empty())
      throw UsageError{concat("the following required arguments were not provided:", missing)};
  }

  [[nodiscard]] std::optional<std::string> value(std::string_view name) const {
    const auto& results = results_of(option(name));
    return results.empty() ? std::nullopt : std::optional(results.front());
  }
  [[nodiscard]] std::vector<std::string> values(std::string_view name) const {
    return results_of(option(name));
  }
  [[nodiscard]] bool is_set(std::string_view name) const {
    return !results_of(option(name)).empty();
  }
  // All arguments; none that was not given.
  [[nodiscard]] std::vector<std::string> words() const {
    if (command_.arguments.empty()) return {};
    return app_.get_option(std::string(command_.arguments.front().label))->results();
  }
  [[nodiscard]] std::string word() const {
    const auto given = words();
    return given.empty() ? std::string() : given.front();
  }

  template <class Number>
  [[nodiscard]] std::optional<Number> number(std::string_view name) const {
    const auto text = value(name);
    if (!text) return std::nullopt;
    Number number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc() || end != text->data() + text->size())
      throw invalid(
          name, *text,
          concat("expected a number up to ", std::to_string(std::numeric_limits<Number>::max())));
    return number;
  }

  // Of a wrong value, for what only its command can judge.
  [[nodiscard]] UsageError invalid(std::string_view name, const std::string& value,
                                   const std::string& why) const {
    return {concat("invalid value '", value, "' for '", shown(option(name)), "': ", why)};
  }

 private:
  [[nodiscard]] const OptionSpec& option(std::string_view name) const {
    const auto found =
        std::find_if(command_.options.begin(), command_.options.end(),
                     [&](const OptionSpec& candidate) { return is_called(candidate, name); });
    TIPHYS_CHECK(found != command_.options.end(), "readers ask for options of the table");
    return *found;
  }
  [[nodiscard]] const CLI::results_t& results_of(const OptionSpec& option) const {
    return app_
        .get_option(option.name.empty() ? concat("-", std::string(1, option.letter))
                                        : concat("--", option.name))
        ->results();
  }

  static void check_value(const OptionSpec& option, const std::string& value) {
    if (option.value.empty()) {
      if (value != "true")
        throw UsageError{concat("unexpected value '", value, "' for '", shown(option), "' found")};
      return;
    }
    const auto& choices = option.choices;
    if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end())
      return;
    const std::vector<std::string> possible(choices.begin(), choices.end());
    throw UsageError{concat("invalid value '", value, "' for '", shown(option),
                            "'\n  [possible values: ", join(possible, ", "), "]",
                            suggestion(value, possible, "value"))};
  }

  const CommandSpec& command_;
  const CLI::App& app_;
};

// -- Commands by their paths

OutputFormat state_format(const Given& given) {
  return given.value("o") == "json" ? OutputFormat::kJson : OutputFormat::kYaml;
}

Listing listing_of(const Given& given, ListKind kind) {
  Listing listing;
  const auto format = given.value("o");
  if (format == "wide") listing.format = ListFormat::kWide;
  if (format == "name") listing.format = ListFormat::kName;
  if (format == "json") listing.format = ListFormat::kJson;
  if (format == "yaml") listing.format = ListFormat::kYaml;
  listing.has_headers = !given.is_set("no-headers");
  listing.sort_by = given.value("sort-by");
  if (listing.sort_by && !is_column(kind, *listing.sort_by)) {
    const auto columns = column_names(kind);
    throw UsageError{concat("invalid value '", *listing.sort_by,
                            "' for '--sort-by <COLUMN>'\n  [columns: ", join(columns, ", "), "]",
                            suggestion(column_name(*listing.sort_by), columns, "column"))};
  }
  return listing;
}

Tags tags_of(const Given& given) {
  Tags tags;
  for (const auto& text : given.values("tags")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw given.invalid("tags", text, concat("invalid KEY=value: no `=` found in `", text, "`"));
    tags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return tags;
}

std::optional<std::chrono::milliseconds> timeout_of(const Given& given) {
  const auto text = given.value("timeout");
  if (!text) return std::nullopt;
  constexpr std::int64_t kLongest = std::int64_t{1000} * 60 * 60 * 24 * 365;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  const std::string_view unit(end, static_cast<std::size_t>(text->data() + text->size() - end));
  std::int64_t factor = 0;
  if (unit == "ms") factor = 1;
  if (unit == "s") factor = 1000;
  if (unit == "m") factor = std::int64_t{1000} * 60;
  if (unit == "h") factor = std::int64_t{1000} * 60 * 60;
  if (error != std::errc() || factor == 0 || count < 0 || count > kLongest / factor)
    throw given.invalid("timeout", *text, "expected a number and a unit, such as 500ms, 30s or 5m");
  return std::chrono::milliseconds(count * factor);
}

WaitFor::Goal goal_of(const Given& given) {
  const auto goal = given.value("for");
  if (goal == "running") return WaitFor::Goal::kRunning;
  if (goal == "succeeded") return WaitFor::Goal::kSucceeded;
  if (goal == "failed") return WaitFor::Goal::kFailed;
  return WaitFor::Goal::kRemoved;
}

Command get_workloads(const Given& given) {
  GetWorkloads command{{given.value("agent"), given.value("state"), given.words()},
                       given.is_set("watch"),
                       listing_of(given, ListKind::kWorkloads)};
  const ListFormat format = command.listing.format;
  if (command.watch && format != ListFormat::kTable && format != ListFormat::kWide)
    throw UsageError{concat("the argument '--watch' cannot be used with '-o ", *given.value("o"),
                            "'\n\n  tip: 'ank get events workloadStates' prints changes as YAML "
                            "or JSON")};
  return command;
}

Command apply(const Given& given) {
  Apply command{given.words(), given.value("agent"), given.is_set("d"), given.is_set("dry-run"),
                given.is_set("detailed-exitcode")};
  if (command.detailed_exit_code && !command.dry_run)
    throw UsageError{"the argument '--detailed-exitcode' needs '--dry-run'"};
  return command;
}

Command set_state(const Given& given) {
  SetState command{given.words(), {}};
  command.file = command.masks.back();
  command.masks.pop_back();
  return command;
}

PlanFormat plan_format(const Given& given) {
  const auto format = given.value("o");
  if (!format) return PlanFormat::kText;
  return *format == "json" ? PlanFormat::kJson : PlanFormat::kYaml;
}

struct Reader {
  std::string_view path;
  Command (*read)(const Given& given);
};

constexpr Reader kReaders[] = {
    {"ank get state",
     [](const Given& g) -> Command { return GetState{state_format(g), g.words()}; }},
    {"ank get workload", get_workloads},
    {"ank get agent",
     [](const Given& g) -> Command { return GetAgents{listing_of(g, ListKind::kAgents)}; }},
    {"ank get config",
     [](const Given& g) -> Command { return GetConfigs{listing_of(g, ListKind::kConfigs)}; }},
    {"ank get events",
     [](const Given& g) -> Command {
       return GetEvents{state_format(g), g.is_set("include-current-state"), g.words()};
     }},
    {"ank set state", set_state},
    {"ank delete workload", [](const Given& g) -> Command { return DeleteWorkloads{g.words()}; }},
    {"ank delete config", [](const Given& g) -> Command { return DeleteConfigs{g.words()}; }},
    {"ank run workload",
     [](const Given& g) -> Command {
       return RunWorkload{g.word(), *g.value("runtime"), *g.value("config"), *g.value("agent"),
                          tags_of(g)};
     }},
    {"ank apply", apply},
    {"ank plan",
     [](const Given& g) -> Command {
       return Plan{g.words(), g.value("agent"), g.is_set("d"), g.is_set("detailed-exitcode"),
                   plan_format(g)};
     }},
    {"ank logs",
     [](const Given& g) -> Command {
       return Logs{g.words(),         g.is_set("follow"),
                   g.is_set("names"), g.number<std::int32_t>("tail").value_or(-1),
                   g.value("since"),  g.value("until")};
     }},
    {"ank wait workload",
     [](const Given& g) -> Command { return WaitFor{g.words(), goal_of(g), timeout_of(g)}; }},
    {"ank describe workload",
     [](const Given& g) -> Command { return DescribeWorkloads{g.words()}; }},
    {"ank describe agent", [](const Given& g) -> Command { return DescribeAgents{g.words()}; }},
    {"ank explain", [](const Given& g) -> Command { return Explain{g.word()}; }},
    {"ank schema", [](const Given&) -> Command { return Schema{}; }},
};

GivenOptions given_options(const Given& given, const Environment& environment) {
  const auto or_variable = [&](std::string_view name, const char* variable) {
    auto value = given.value(name);
    const auto found = environment.find(variable);
    if (!value && found != environment.end()) value = found->second;
    return value;
  };
  GivenOptions options;
  options.config_path = given.value("ank-config");
  options.server_url = or_variable("server-url", "ANK_SERVER_URL");
  options.response_timeout_ms = given.number<std::uint64_t>("response-timeout");
  options.verbose = given.is_set("verbose");
  options.quiet = given.is_set("quiet");
  options.no_wait = given.is_set("no-wait");
  if (given.is_set("insecure")) {
    options.insecure = true;
  } else if (const auto text = or_variable("insecure", "ANK_INSECURE")) {
    if (text->empty())
      throw UsageError{
          "a value is required for '--insecure' but none was supplied\n"
          "  [possible values: true, false]"};
    if (*text != "true" && *text != "false")
      throw UsageError{
          concat("invalid value '", *text, "' for '--insecure'\n  [possible values: true, false]")};
    options.insecure = *text == "true";
  }
  options.ca_pem = or_variable("ca_pem", "ANK_CA_PEM");
  options.crt_pem = or_variable("crt_pem", "ANK_CRT_PEM");
  options.key_pem = or_variable("key_pem", "ANK_KEY_PEM");
  const auto color = given.value("color");
  if (color == "always") options.color = Colours::kAlways;
  if (color == "never") options.color = Colours::kNever;
  return options;
}

// -- The command line

constexpr const char* kHelpWords = "COMMAND";

class CommandLine {
 public:
  CommandLine() : app_("", "ank") {
    app_.allow_extras();  // what nobody takes is reported by us; all commands inherit it
    app_.set_version_flag("-V,--version", "");
    declare(command_table(), app_, "ank");
  }

  Printout help() { return help_on(selected()); }
  static Printout version() { return {Printout::Kind::kHelp, concat("ank ", kVersion, "\n")}; }
  Printout usage_error(const std::string& text, const CLI::App* app = nullptr) {
    const Known& known = known_.at(app == nullptr ? &selected() : app);
    return {Printout::Kind::kUsageError,
            concat(text, "\n\nUsage: ", usage_of(known.path, *known.command),
                   "\n\nFor more information, try '--help'.\n")};
  }

  std::variant<Invocation, Printout> parse(std::vector<std::string> words,
                                           const Environment& environment) {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app_.parse(std::move(words));
    if (const CLI::App& last = last_named(); last.get_name() == "help") return help_on_words(last);
    refuse_extras();
    const Given global(command_table(), app_);
    global.check();
    GivenOptions options = given_options(global, environment);
    const CLI::App& app = selected();
    const auto& [path, command] = known_.at(&app);
    const Given given(*command, app);
    if (!command->commands.empty() || (command->shows_help_alone && given.words().empty()))
      return Printout{Printout::Kind::kMissingCommand, help_of(path, *command)};
    given.check();
    const auto* reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                      [&](const Reader& each) { return each.path == path; });
    TIPHYS_CHECK(reader != std::end(kReaders), "every command of the table has a reader");
    return Invocation{std::move(options), reader->read(given)};
  }

 private:
  struct Known {
    std::string path;
    const CommandSpec* command;
  };

  void declare(const CommandSpec& command, CLI::App& app, const std::string& path) {
    known_[&app] = {path, &command};
    app.set_help_flag("-h,--help", "");
    for (const auto& option : command.options)
      (option.value.empty() ? app.add_flag(declared(option)) : app.add_option(declared(option)))
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    // The first takes the words of all: which is whose depends on how many there are.
    if (!command.arguments.empty()) {
      auto* words = app.add_option(std::string(command.arguments.front().label));
      const auto& arguments = command.arguments;
      if (std::any_of(arguments.begin(), arguments.end(),
                      [](const ArgumentSpec& argument) { return argument.takes_many; }))
        words->expected(-1)->take_all();
    }
    if (command.commands.empty()) return;
    app.require_subcommand(0, 1);
    for (const auto& below : command.commands) {
      CLI::App& app_below = *app.add_subcommand(std::string(below.name));
      if (!below.alias.empty()) app_below.alias(std::string(below.alias));
      declare(below, app_below, concat(path, " ", below.name));
    }
    CLI::App& help = *app.add_subcommand("help");
    help.add_option(kHelpWords)->expected(-1)->take_all();
  }

  Printout help_on(const CLI::App& app) {
    const Known& known = known_.at(&app);
    return {Printout::Kind::kHelp, help_of(known.path, *known.command)};
  }

  CLI::App& last_named() {
    CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return *app;
  }
  // The command that was named last; help is none.
  CLI::App& selected() {
    CLI::App& app = last_named();
    return known_.contains(&app) ? app : *app.get_parent();
  }

  Printout help_on_words(const CLI::App& help) {
    const CLI::App* target = help.get_parent();
    for (const auto& word : help.get_option(kHelpWords)->results()) {
      if (word == "help") break;  // help on help is the same
      const CLI::App* next = nullptr;
      for (const auto* candidate : target->get_subcommands([](const CLI::App*) { return true; }))
        if (candidate->check_name(word) && known_.contains(candidate)) next = candidate;
      if (next == nullptr) throw UsageError{describe(word, *known_.at(target).command), target};
      target = next;
    }
    return help_on(*target);
  }

  void refuse_extras() {
    for (CLI::App* app = &app_;;) {
      auto extras = app->remaining();
      extras.erase(std::remove(extras.begin(), extras.end(), "--"), extras.end());
      if (!extras.empty()) throw UsageError{describe(extras.front(), *known_.at(app).command), app};
      if (app->get_subcommands().empty()) return;
      app = app->get_subcommands().front();
    }
  }

  static std::string describe(const std::string& extra, const CommandSpec& command) {
    if (!is_option(extra) && !command.commands.empty()) {
      std::vector<std::string> names;
      for (const auto& below : command.commands) {
        names.emplace_back(below.name);
        if (!below.alias.empty()) names.emplace_back(below.alias);
      }
      return concat("unrecognized subcommand '", extra, "'",
                    suggestion(extra, names, "subcommand"));
    }
    return concat(
        "unexpected argument '", extra, "' found",
        is_option(extra) ? option_tip(extra.substr(0, extra.find('=')), command) : std::string());
  }

  static std::string option_tip(const std::string& word, const CommandSpec& command) {
    const auto is_meant = [&](const OptionSpec& option) {
      return word == concat("--", option.name) ||
             (option.letter != 0 && word == concat("-", std::string(1, option.letter)));
    };
    const auto& global = command_table().options;
    if (&command != &command_table() && std::any_of(global.begin(), global.end(), is_meant))
      return concat("\n\n  tip: '", word, "' stands before the command: 'ank ", word, " ...'");
    std::vector<std::string> options{"--help"};
    for (const auto& option : command.options)
      if (!option.name.empty()) options.push_back(concat("--", option.name));
    return suggestion(word, options, "argument");
  }

  CLI::App app_;
  std::map<const CLI::App*, Known> known_;
};

// "--agent: 1 required TEXT missing", in our words.
std::string describe(const CLI::ParseError& error) {
  std::string text = error.what();
  if (error.get_name() != "ArgumentMismatch") return text;
  return concat("a value is required for '", text.substr(0, text.find(':')),
                "' but none was supplied");
}

}  // namespace

std::variant<Invocation, Printout> parse_command_line(std::vector<std::string> words,
                                                      const Environment& environment) {
  CommandLine line;
  try {
    prepare(words);
    gather_arguments(words);
    return line.parse(std::move(words), environment);
  } catch (const UsageError& error) {
    return line.usage_error(error.text, error.app);
  } catch (const CLI::CallForHelp&) {
    return line.help();
  } catch (const CLI::CallForVersion&) {
    return CommandLine::version();
  } catch (const CLI::ParseError& error) {
    return line.usage_error(describe(error));
  }
}

}  // namespace tiphys::cli
