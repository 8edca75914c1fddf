#include "cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "base/version.h"

namespace tiphys::cli {
namespace {

// Thrown and caught in this file only, as CLI11 does with its own.
struct UsageError {
  std::string text;
  const CLI::App* app = nullptr;  // whose usage helps; the selected command's if none
};

// -- Before CLI11 sees the words

// The letters and names of all options that take a value; none of them is a flag elsewhere.
constexpr std::string_view kShortWithValue = "xsoatu";
constexpr std::array<std::string_view, 14> kLongWithValue{
    "--ank-config", "--server-url", "--response-timeout", "--ca_pem", "--crt_pem", "--key_pem",
    "--agent",      "--state",      "--runtime",          "--config", "--tags",    "--tail",
    "--since",      "--until"};

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }
bool is_short_cluster(std::string_view word) { return is_option(word) && word[1] != '-'; }

bool awaits_value(std::string_view word) {
  if (is_short_cluster(word)) return word.find_first_of(kShortWithValue) == word.size() - 1;
  return std::find(kLongWithValue.begin(), kLongWithValue.end(), word) != kLongWithValue.end();
}

// CLI11 would take an option for the value of the one before, the '=' of -o=json for a part of the
// value, and the word after --agent= for its value.
void prepare(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].ends_with('=') && awaits_value(words[i].substr(0, words[i].size() - 1))) {
      words[i].pop_back();
      words.emplace(words.begin() + static_cast<std::ptrdiff_t>(++i));
      continue;
    }
    std::string& word = words[i];
    if (awaits_value(word) && i + 1 < words.size() && is_option(words[i + 1]))
      throw UsageError{concat("a value is required for '", word, "' but '", words[i + 1],
                              "' follows\n\n  tip: to pass it as a value, use '", word, "=",
                              words[i + 1], "'")};
    if (awaits_value(word)) ++i;
    if (!is_short_cluster(word)) continue;
    const std::size_t letter = word.find_first_of(kShortWithValue);
    if (letter != std::string::npos && letter + 1 < word.size() && word[letter + 1] == '=')
      word.erase(letter + 1, 1);
  }
}

// -- Suggestions

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// A line that names what was probably meant, or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view what) {
  const std::string* nearest = nullptr;
  std::size_t least = 3;
  for (const auto& candidate : candidates)
    if (const std::size_t distance = edit_distance(word, candidate); distance < least) {
      least = distance;
      nearest = &candidate;
    }
  if (nearest == nullptr || least >= word.size()) return {};
  return concat("\n\n  tip: a similar ", what, " exists: '", *nearest, "'");
}

// -- Reading CLI11's results. Everything is taken as text: what it means is said here.

std::string shown(const CLI::Option& option) {
  const std::string name =
      option.get_lnames().empty() ? "-" + option.get_snames()[0] : "--" + option.get_lnames()[0];
  return option.get_items_expected_max() == 0 ? name
                                              : concat(name, " <", option.get_option_text(), ">");
}

std::optional<std::string> value_of(const CLI::Option& option) {
  if (option.count() == 0) return std::nullopt;
  if (option.count() > 1)
    throw UsageError{concat("the argument '", shown(option), "' cannot be used multiple times")};
  return option.results()[0];
}

bool is_set(const CLI::Option& option) {
  const auto value = value_of(option);
  if (value && *value != "true")
    throw UsageError{concat("unexpected value '", *value, "' for '", shown(option), "' found")};
  return value.has_value();
}

template <class Number>
Number number_of(const std::string& text, const CLI::Option& option) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError{concat("invalid value '", text, "' for '", shown(option),
                            "': expected a number up to ",
                            std::to_string(std::numeric_limits<Number>::max()))};
  return number;
}

OutputFormat format_of(const CLI::Option& option) {
  const std::string text = value_of(option).value_or("yaml");
  if (text == "yaml") return OutputFormat::kYaml;
  if (text == "json") return OutputFormat::kJson;
  throw UsageError{concat("invalid value '", text, "' for '", shown(option),
                          "'\n  [possible values: yaml, json]",
                          suggestion(text, {"yaml", "json"}, "value"))};
}

Tags tags_of(const CLI::Option& option) {
  Tags tags;
  for (const auto& text : option.results()) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError{concat("invalid value '", text, "' for '", shown(option),
                              "': invalid KEY=value: no `=` found in `", text, "`")};
    tags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return tags;
}

void require(std::initializer_list<const CLI::Option*> options) {
  std::string missing;
  for (const auto* option : options)
    if (option->count() == 0)
      missing += concat("\n  ", option->get_positional() ? concat("<", option->get_name(true), ">")
                                                         : shown(*option));
  if (!missing.empty())
    throw UsageError{concat("the following required arguments were not provided:", missing)};
}

// -- The command line

constexpr const char* kMask = "OBJECT_FIELD_MASK";
constexpr const char* kWorkload = "WORKLOAD_NAME";

class CommandLine {
 public:
  CommandLine() : app_("Applies manifests to an Ankaios server and shows its state.", "ank") {
    app_.allow_extras();  // what nobody takes is reported by us; all commands inherit it
    app_.require_subcommand(0, 1);
    app_.set_help_flag("-h,--help", "Print help");
    app_.set_version_flag("-V,--version", concat("ank ", kVersion), "Print version");
    add_global_options();
    usages_[&app_] = "ank [OPTIONS] <COMMAND>";
    add_get();
    add_set();
    add_delete();
    add_run();
    add_apply();
    add_logs();
    for (CLI::App* app : groups_) add_help(*app);
    add_help(app_);
  }

  Printout help() {
    return {Printout::Kind::kHelp, selected().help(std::string(path_of(selected())))};
  }
  static Printout version() { return {Printout::Kind::kHelp, concat("ank ", kVersion, "\n")}; }
  Printout usage_error(const std::string& text, const CLI::App* app = nullptr) {
    return {Printout::Kind::kUsageError,
            concat(text, "\n\nUsage: ", usages_[app == nullptr ? &selected() : app],
                   "\n\nFor more information, try '--help'.\n")};
  }

  std::variant<Invocation, Printout> parse(std::vector<std::string> words,
                                           const Environment& environment) {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app_.parse(std::move(words));
    CLI::App& command = selected();
    if (command.get_name() == "help") return help_on_words(command);
    refuse_extras();
    GivenOptions options = given_options(environment);
    const auto read = readers_.find(&command);
    if (read == readers_.end() || is_bare(command))
      return Printout{Printout::Kind::kMissingCommand, command.help(path_of(command))};
    return Invocation{std::move(options), read->second()};
  }

 private:
  using Reader = std::function<Command()>;

  static CLI::Option* value(CLI::App& app, const char* names, const char* label,
                            const std::string& description) {
    return app.add_option(names, description)
        ->option_text(label)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  static CLI::Option* flag(CLI::App& app, const char* names, const std::string& description) {
    return app.add_flag(names, description)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  static CLI::Option* many(CLI::App& app, const char* label, const std::string& description) {
    return app.add_option(label, description)->option_text("...")->expected(-1)->take_all();
  }

  CLI::App& group(const char* name, const char* description) {
    CLI::App& app = *app_.add_subcommand(name, description);
    app.require_subcommand(0, 1);
    usages_[&app] = concat("ank ", name, " <COMMAND>");
    groups_.push_back(&app);
    return app;
  }
  CLI::App& leaf(CLI::App& parent, const char* name, const char* description, const char* usage) {
    CLI::App& app = *parent.add_subcommand(name, description);
    usages_[&app] = usage;
    return app;
  }
  static void add_help(CLI::App& app) {
    many(*app.add_subcommand("help", "Print help of a command"), "COMMAND", "The command");
  }

  void add_global_options() {
    config_ = value(app_, "-x,--ank-config", "CONFIG_PATH",
                    "Config file [default: ~/.config/ankaios/ank.conf, /etc/ankaios/ank.conf]");
    server_url_ =
        value(app_, "-s,--server-url", "SERVER_URL",
              "URL of the server [env: ANK_SERVER_URL] [default: https://127.0.0.1:25551]");
    timeout_ = value(app_, "--response-timeout", "RESPONSE_TIMEOUT_MS",
                     "Milliseconds to wait for an answer [default: 3000]");
    verbose_ = flag(app_, "-v,--verbose", "Print what is done");
    quiet_ = flag(app_, "-q,--quiet", "Print results and errors only");
    no_wait_ = flag(app_, "--no-wait", "Do not wait for workloads to reach their states");
    insecure_ = flag(app_, "-k,--insecure", "Talk without TLS [env: ANK_INSECURE]");
    ca_pem_ = value(app_, "--ca_pem", "CA_PEM", "Certificate of the authority [env: ANK_CA_PEM]");
    crt_pem_ = value(app_, "--crt_pem", "CRT_PEM", "Own certificate [env: ANK_CRT_PEM]");
    key_pem_ = value(app_, "--key_pem", "KEY_PEM", "Own private key [env: ANK_KEY_PEM]");
  }

  void add_get() {
    CLI::App& get = group("get", "Show the state, or a part of it");
    {
      CLI::App& app =
          leaf(get, "state", "Show the state", "ank get state [OPTIONS] [OBJECT_FIELD_MASK]...");
      auto* format = value(app, "-o", "OUTPUT_FORMAT", "yaml or json [default: yaml]");
      auto* masks = many(app, kMask, "The parts to show");
      readers_[&app] = [=] { return GetState{format_of(*format), masks->results()}; };
    }
    {
      CLI::App& app =
          leaf(get, "workload", "Show workloads", "ank get workload [OPTIONS] [WORKLOAD_NAME]...");
      app.alias("workloads");
      auto* agent = value(app, "-a,--agent", "AGENT_NAME", "Only those of this agent");
      auto* state = value(app, "-s,--state", "STATE", "Only those in this execution state");
      auto* watch = flag(app, "-w,--watch", "Go on showing changes");
      auto* names = many(app, kWorkload, "Only these");
      readers_[&app] = [=] {
        return GetWorkloads{{value_of(*agent), value_of(*state), names->results()}, is_set(*watch)};
      };
    }
    {
      CLI::App& app = leaf(get, "agent", "Show the connected agents", "ank get agent");
      app.alias("agents");
      readers_[&app] = [] { return GetAgents{}; };
    }
    {
      CLI::App& app = leaf(get, "config", "Show the names of configs", "ank get config");
      app.alias("configs");
      readers_[&app] = [] { return GetConfigs{}; };
    }
    {
      CLI::App& app = leaf(get, "events", "Show changes as they happen",
                           "ank get events [OPTIONS] [OBJECT_FIELD_MASK]...");
      auto* format = value(app, "-o", "OUTPUT_FORMAT", "yaml or json [default: yaml]");
      auto* current = flag(app, "-c,--include-current-state", "Show the state of now first");
      auto* masks = many(app, kMask, "The parts to watch");
      readers_[&app] = [=] {
        return GetEvents{format_of(*format), is_set(*current), masks->results()};
      };
    }
  }

  void add_set() {
    CLI::App& app = leaf(group("set", "Change the state"), "state", "Replace parts of the state",
                         "ank set state <OBJECT_FIELD_MASK>... <STATE_OBJECT_FILE>");
    auto* words = many(app, "OBJECT_FIELD_MASK... STATE_OBJECT_FILE",
                       "The parts to replace, then a file with the new state, or - for stdin");
    readers_[&app] = [=] {
      require({words});
      SetState command{words->results(), {}};
      command.file = command.masks.back();
      command.masks.pop_back();
      if (command.masks.empty())
        throw UsageError{
            "the following required arguments were not provided:\n  <OBJECT_FIELD_MASK>..."};
      return command;
    };
  }

  void add_delete() {
    CLI::App& group_app = group("delete", "Take workloads or configs away");
    {
      CLI::App& app =
          leaf(group_app, "workload", "Delete workloads", "ank delete workload <WORKLOAD_NAME>...");
      app.alias("workloads");
      auto* names = many(app, kWorkload, "The workloads");
      readers_[&app] = [=] {
        require({names});
        return DeleteWorkloads{names->results()};
      };
    }
    {
      CLI::App& app =
          leaf(group_app, "config", "Delete configs", "ank delete config <CONFIG_NAME>...");
      app.alias("configs");
      auto* names = many(app, "CONFIG_NAME", "The configs");
      readers_[&app] = [=] {
        require({names});
        return DeleteConfigs{names->results()};
      };
    }
  }

  void add_run() {
    CLI::App& app = leaf(group("run", "Add a workload"), "workload", "Add a workload",
                         "ank run workload [OPTIONS] --runtime <RUNTIME_NAME> --config "
                         "<RUNTIME_CONFIG> --agent <AGENT_NAME> <WORKLOAD_NAME>");
    auto* name = app.add_option(kWorkload, "The new workload")->option_text(" ");
    auto* runtime = value(app, "--runtime", "RUNTIME_NAME", "The runtime, such as podman");
    auto* config = value(app, "--config", "RUNTIME_CONFIG", "What the runtime shall run");
    auto* agent = value(app, "--agent", "AGENT_NAME", "The agent that shall run it");
    auto* tags = value(app, "--tags", "TAGS", "KEY=value; may be given several times");
    readers_[&app] = [=] {
      require({runtime, config, agent, name});
      return RunWorkload{*value_of(*name), *value_of(*runtime), *value_of(*config),
                         *value_of(*agent), tags_of(*tags)};
    };
  }

  void add_apply() {
    CLI::App& app = leaf(app_, "apply", "Apply manifests",
                         "ank apply [OPTIONS] [Ankaios manifest file(s) or '-' for stdin]...");
    auto* agent = value(app, "--agent", "AGENT_NAME", "The agent of all workloads");
    auto* deletes = flag(app, "-d", "Delete what the manifests describe");
    auto* files = many(app, "MANIFEST", "Manifest files, or - for stdin");
    readers_[&app] = [=] { return Apply{files->results(), value_of(*agent), is_set(*deletes)}; };
    needs_words_[&app] = files;
  }

  void add_logs() {
    CLI::App& app =
        leaf(app_, "logs", "Show the logs of workloads", "ank logs [OPTIONS] <WORKLOAD_NAME>...");
    auto* follow = flag(app, "-f,--follow", "Go on showing logs");
    auto* tail =
        value(app, "-t,--tail", "TAIL", "Only so many lines at the end [default: -1, all]");
    auto* shows_names = flag(app, "-n,--names", "Begin each line with the workload's name");
    auto* since = value(app, "-s,--since", "SINCE", "Only from this time on (RFC 3339)");
    auto* until = value(app, "-u,--until", "UNTIL", "Only up to this time (RFC 3339)");
    auto* names = many(app, kWorkload, "The workloads");
    readers_[&app] = [=] {
      const auto lines = value_of(*tail);
      return Logs{names->results(),     is_set(*follow),
                  is_set(*shows_names), lines ? number_of<std::int32_t>(*lines, *tail) : -1,
                  value_of(*since),     value_of(*until)};
    };
    needs_words_[&app] = names;
  }

  // The command that was named last.
  CLI::App& selected() {
    CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return *app;
  }
  static std::string path_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? std::string() : prefixed(*app.get_parent());
  }
  static std::string prefixed(const CLI::App& app) {
    const std::string before = path_of(app);
    return before.empty() ? app.get_name() : concat(before, " ", app.get_name());
  }

  // Stock prints help instead of an error when these stand alone.
  bool is_bare(const CLI::App& app) const {
    const auto words = needs_words_.find(&app);
    return words != needs_words_.end() && words->second->count() == 0;
  }

  Printout help_on_words(CLI::App& help) {
    CLI::App* target = help.get_parent();
    for (const auto& word : help.get_option("COMMAND")->results()) {
      CLI::App* next = nullptr;
      for (auto* candidate : target->get_subcommands([](CLI::App*) { return true; }))
        if (candidate->check_name(word)) next = candidate;
      if (next == nullptr) throw UsageError{concat("unrecognized subcommand '", word, "'")};
      target = next;
    }
    const std::string path = path_of(*target);
    app_.clear();  // else the help of what was selected would be shown
    return {Printout::Kind::kHelp, target->help(path)};
  }

  void refuse_extras() {
    for (CLI::App* app = &app_;;) {
      auto extras = app->remaining();
      extras.erase(std::remove(extras.begin(), extras.end(), "--"), extras.end());
      if (!extras.empty()) throw UsageError{describe(extras.front(), *app), app};
      if (app->get_subcommands().empty()) return;
      app = app->get_subcommands().front();
    }
  }

  static std::string describe(const std::string& extra, CLI::App& app) {
    std::vector<std::string> commands;
    for (const auto* command : app.get_subcommands([](CLI::App*) { return true; }))
      commands.push_back(command->get_name());
    if (!is_option(extra) && !commands.empty())
      return concat("unrecognized subcommand '", extra, "'",
                    suggestion(extra, commands, "subcommand"));
    std::vector<std::string> options;
    for (const auto* option : app.get_options())
      for (const auto& name : option->get_lnames()) options.push_back("--" + name);
    return concat("unexpected argument '", extra, "' found",
                  is_option(extra) ? suggestion(extra, options, "argument") : std::string());
  }

  GivenOptions given_options(const Environment& environment) {
    const auto or_variable = [&](const CLI::Option* option, const char* name) {
      auto given = value_of(*option);
      const auto variable = environment.find(name);
      if (!given && variable != environment.end()) given = variable->second;
      return given;
    };
    GivenOptions options;
    options.config_path = value_of(*config_);
    options.server_url = or_variable(server_url_, "ANK_SERVER_URL");
    if (const auto text = value_of(*timeout_))
      options.response_timeout_ms = number_of<std::uint64_t>(*text, *timeout_);
    options.verbose = is_set(*verbose_);
    options.quiet = is_set(*quiet_);
    options.no_wait = is_set(*no_wait_);
    if (is_set(*insecure_)) {
      options.insecure = true;
    } else if (const auto text = or_variable(insecure_, "ANK_INSECURE")) {
      if (text->empty())
        throw UsageError{
            "a value is required for '--insecure' but none was supplied\n"
            "  [possible values: true, false]"};
      if (*text != "true" && *text != "false")
        throw UsageError{concat("invalid value '", *text,
                                "' for '--insecure'\n  [possible values: true, false]")};
      options.insecure = *text == "true";
    }
    options.ca_pem = or_variable(ca_pem_, "ANK_CA_PEM");
    options.crt_pem = or_variable(crt_pem_, "ANK_CRT_PEM");
    options.key_pem = or_variable(key_pem_, "ANK_KEY_PEM");
    return options;
  }

  CLI::App app_;
  CLI::Option* config_ = nullptr;
  CLI::Option* server_url_ = nullptr;
  CLI::Option* timeout_ = nullptr;
  CLI::Option* verbose_ = nullptr;
  CLI::Option* quiet_ = nullptr;
  CLI::Option* no_wait_ = nullptr;
  CLI::Option* insecure_ = nullptr;
  CLI::Option* ca_pem_ = nullptr;
  CLI::Option* crt_pem_ = nullptr;
  CLI::Option* key_pem_ = nullptr;
  std::vector<CLI::App*> groups_;  // have commands below them
  std::map<const CLI::App*, std::string> usages_;
  std::map<const CLI::App*, Reader> readers_;
  std::map<const CLI::App*, const CLI::Option*> needs_words_;  // print help without any
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
