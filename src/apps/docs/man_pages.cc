#include "apps/docs/man_pages.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "apps/agent_options.h"
#include "apps/arguments.h"
#include "apps/docs/config_keys.h"
#include "apps/docs/roff.h"
#include "apps/server_options.h"
#include "base/strings.h"
#include "base/version.h"
#include "cli/command_table.h"
#include "text/manifest_fields.h"

namespace tiphys::apps {
namespace {

using cli::CommandSpec;
using Words = std::vector<std::string>;

constexpr const char* kManifestPage = "ank-manifest";

Words words_of(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

// A summary goes on where a name ended.
std::string continued(std::string_view summary) {
  std::string text(summary);
  const bool is_acronym = text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1])) != 0;
  if (!is_acronym) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// A sentence of the pieces that are there.
std::string sentence(std::string_view text) {
  return concat(text, text.ends_with('.') || text.empty() ? "" : ".");
}

class Writer {
 public:
  explicit Writer(std::string_view date) : date_(date) {}

  std::vector<ManPage> write() && {
    add_command(cli::command_table(), "ank", nullptr);
    add_program(server_program(), {"ank-server.conf(5)", "ank-agent(8)", "ank(1)"},
                kServerConfigFile);
    add_program(agent_program(), {"ank-agent.conf(5)", "ank-server(8)", "ank(1)"},
                kAgentConfigFile);
    add_manifest();
    for (const auto* format : {&ank_config(), &server_config(), &agent_config()})
      add_config(*format);
    return std::move(pages_);
  }

 private:
  [[nodiscard]] Roff begin(std::string_view name, int section, std::string_view summary) const {
    Roff page({name, section, date_, kVersion});
    page.section("NAME").name(name, summary);
    return page;
  }

  void finish(Roff page, std::string_view name, int section, Words see_also) {
    std::sort(see_also.begin(), see_also.end());
    for (auto& other : see_also)
      other = concat("`", other.substr(0, other.find('(')), "`", other.substr(other.find('(')));
    page.section("SEE ALSO").text(join(see_also, ", "));
    pages_.push_back({std::string(name), section, page.page()});
  }

  // -- Commands of ank

  static std::string page_name(std::string_view path) {
    std::string name(path);
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
  }

  void add_command(const CommandSpec& command, const std::string& path, const CommandSpec* parent) {
    const std::string name = page_name(path);
    const bool is_root = parent == nullptr;
    Roff page = begin(name, 1, continued(command.summary));
    const std::string usage = cli::usage_of(path, command);
    page.section("SYNOPSIS").command(path, trim(usage.substr(path.size())));
    page.section("DESCRIPTION").text(sentence(command.summary));
    page.text(command.details);
    if (!command.alias.empty())
      page.text(concat("`", path.substr(0, path.size() - command.name.size()), command.alias,
                       "` is the same."));
    if (!command.commands.empty()) page.section("COMMANDS");
    for (const auto& below : command.commands)
      page.entry(concat(page_name(concat(path, " ", below.name)), "(1)"), sentence(below.summary));
    if (!command.arguments.empty()) page.section("ARGUMENTS");
    for (const auto& argument : command.arguments)
      page.entry(concat(argument.label, argument.takes_many ? "..." : ""),
                 sentence(with_choices(argument.help, argument.choices)));
    page.section("OPTIONS");
    for (const auto& option : command.options) page.entry(spelled(option), explained(option));
    page.entry("-h, --help", "Print help.");
    if (is_root) page.entry("-V, --version", "Print version.");
    if (is_root)
      page.text("These options stand before the command, and count for all commands.");
    else
      page.text("The options of `ank`(1) stand before the command.");
    if (is_root) add_surroundings(page, command);
    page.section("EXIT STATUS");
    page.entry("0", "Done.");
    page.entry("1", "Failed; standard error says why.");
    page.entry("2", has_detailed_exit_code(command)
                        ? "The words make no command; with `--detailed-exitcode`, something would "
                          "change."
                        : "The words make no command.");
    if (!command.examples.empty()) page.section("EXAMPLES");
    for (const auto& [words, what] : command.examples) page.text(upper(what) + ":").example(words);
    finish(std::move(page), name, 1, related(command, path, is_root));
    for (const auto& below : command.commands)
      add_command(below, concat(path, " ", below.name), &command);
  }

  static bool has_detailed_exit_code(const CommandSpec& command) {
    return std::any_of(command.options.begin(), command.options.end(),
                       [](const auto& option) { return option.name == "detailed-exitcode"; });
  }

  static std::string upper(std::string_view text) {
    std::string result(text);
    result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
    return result;
  }

  static Words related(const CommandSpec& command, const std::string& path, bool is_root) {
    Words pages;
    if (is_root) {
      pages = {"ank.conf(5)", "ank-server(8)", "ank-agent(8)"};
    } else {
      const std::string above = path.substr(0, path.rfind(' '));
      pages = {"ank(1)"};
      if (above != "ank") pages.push_back(concat(page_name(above), "(1)"));
    }
    for (const auto& below : command.commands)
      pages.push_back(concat(page_name(concat(path, " ", below.name)), "(1)"));
    const bool is_about_manifests =
        is_root ||
        std::any_of(command.arguments.begin(), command.arguments.end(), [](const auto& a) {
          return a.kind == cli::WordKind::kFile || a.kind == cli::WordKind::kManifestField;
        });
    if (is_about_manifests || command.name == "schema")
      pages.push_back(concat(kManifestPage, "(5)"));
    return pages;
  }

  static std::string spelled(const cli::OptionSpec& option) {
    Words names;
    if (option.letter != 0) names.push_back(concat("-", std::string(1, option.letter)));
    if (!option.name.empty()) names.push_back(concat("--", option.name));
    return concat(join(names, ", "), option.value.empty() ? "" : " ", option.value);
  }

  static std::string with_choices(std::string_view help,
                                  const std::vector<std::string_view>& choices) {
    if (choices.empty()) return std::string(help);
    return concat(sentence(help), " One of `", join(words_of(choices), "`, `"), "`");
  }

  static std::string explained(const cli::OptionSpec& option) {
    std::string text = sentence(with_choices(option.help, option.choices));
    if (option.is_required) text += " It has to be given.";
    if (option.may_repeat) text += " May be given several times.";
    if (!option.fallback.empty()) text += concat(" Default: ", option.fallback, ".");
    if (!option.variable.empty()) text += concat(" Environment: `", option.variable, "`.");
    return text;
  }

  static void add_surroundings(Roff& page, const CommandSpec& root) {
    page.section("ENVIRONMENT");
    for (const auto& option : root.options)
      if (!option.variable.empty())
        page.entry(option.variable, concat("Counts when `--", option.name, "` is not given."));
    page.entry("NO_COLOR",
               "If it is set and not empty, nothing is coloured, unless `--color` says so. Without "
               "it, and without `--color`, colours are used on terminals only.");
    page.entry("CLICOLOR_FORCE",
               "If it is set, neither empty nor `0`, and NO_COLOR is not set, complaints about the "
               "words of a command are coloured everywhere.");
    page.entry("COMPLETE",
               "Names a shell, one of `bash`, `elvish`, `fish`, `powershell` and `zsh`: instead of "
               "any command, what that shell needs to complete words is printed.");
    page.section("FILES");
    for (const auto file : ank_config().files)
      page.entry(file, concat("The config file, if there is no other: see `", ank_config().name,
                              "`(5). The first that exists counts."));
  }

  // -- Programs without commands

  void add_program(const Program& program, Words see_also, std::string_view config_file) {
    constexpr int kSection = 8;
    const std::string purpose(program.purpose);
    const std::string first = purpose.substr(0, purpose.find('.'));
    Roff page = begin(program.name, kSection, continued(first));
    page.section("SYNOPSIS").command(program.name, "[OPTIONS]");
    page.section("DESCRIPTION").text(purpose);
    page.text(
        "An option wins over a variable of the environment, and that over the config file. Lines "
        "about what happens go to standard error. SIGTERM and SIGINT end the program.");
    page.section("OPTIONS");
    for (const auto* options : {&program.options, &common_options()})
      for (const auto& option : *options) page.entry(spelled(option), explained(option));
    page.section("ENVIRONMENT");
    for (const auto& option : program.options)
      if (!option.variable.empty())
        page.entry(option.variable, concat("Counts when `--", option.name, "` is not given."));
    for (const auto& [name, meaning] : common_variables()) page.entry(name, sentence(meaning));
    page.section("FILES").entry(config_file, "The config file, if there is no other.");
    page.section("EXIT STATUS");
    page.entry(std::to_string(exit_code(Stop::Kind::kAnswer)), "It was told to end.");
    page.entry(std::to_string(exit_code(Stop::Kind::kFatal)), "It cannot go on; its log says why.");
    page.entry(std::to_string(exit_code(Stop::Kind::kUsage)), "It was called wrongly.");
    see_also.push_back(concat(kManifestPage, "(5)"));
    finish(std::move(page), program.name, kSection, std::move(see_also));
  }

  static std::string spelled(const Option& option) {
    std::string text = option.letter == 0 ? "" : concat("-", std::string(1, option.letter), ", ");
    text += concat("--", option.name, option.value.empty() ? "" : " ", option.value);
    return text;
  }

  static std::string explained(const Option& option) {
    std::string text = sentence(option.help);
    if (option.repeatable) text += " May be given several times.";
    if (!option.fallback.empty()) text += concat(" Default: ", option.fallback, ".");
    if (!option.variable.empty()) text += concat(" Environment: `", option.variable, "`.");
    return text;
  }

  // -- File formats

  void add_manifest() {
    constexpr int kSection = 5;
    const FieldSpec& manifest = manifest_fields();
    Roff page = begin(kManifestPage, kSection, "the workloads and configs that shall be");
    page.section("DESCRIPTION").text(sentence(manifest.summary)).text(manifest.details);
    page.text(
        "`ank explain` shows the same field by field, and `ank schema` prints a JSON Schema for "
        "editors.");
    page.section("FIELDS");
    add_fields(page, manifest, "");
    page.section("EXAMPLE").example(manifest.example);
    finish(std::move(page), kManifestPage, kSection,
           {"ank(1)", "ank-apply(1)", "ank-explain(1)", "ank-schema(1)", "ank-server(8)"});
  }

  // Those of an object, then of the objects in it, each with the path to it above.
  void add_fields(Roff& page, const FieldSpec& object, const std::string& path) {
    page.subsection(path.empty() ? "The manifest" : path);
    for (const auto& field : object.below) page.entry(field.name, about(field, object));
    for (const auto& field : object.below) {
      std::string inner_path =
          path.empty() ? std::string(field.name) : concat(path, ".", field.name);
      const FieldSpec* inner = &field;
      while (inner->kind == FieldSpec::Kind::kMap || inner->kind == FieldSpec::Kind::kList) {
        inner = &inner->below.front();
        inner_path += inner->name.empty() ? "[]" : concat(".", inner->name);
      }
      const auto known = described_.find(inner->definition);
      if (!inner->definition.empty() && known != described_.end()) {
        page.subsection(inner_path).text(concat("As `", known->second, "`."));
        continue;
      }
      described_[inner->definition] = inner_path;
      if (inner->kind == FieldSpec::Kind::kObject) add_fields(page, *inner, inner_path);
      if (inner->kind == FieldSpec::Kind::kItem)
        page.subsection(inner_path).text(concat(sentence(inner->summary), " ", inner->details));
    }
  }

  static std::string about(const FieldSpec& field, const FieldSpec& object) {
    const std::string required = requirement_of(field, &object);
    std::string text = concat(field.summary, " (", type_of(field));
    if (required.starts_with("yes")) text += concat(", required", required.substr(3));
    if (required.starts_with("this")) text += concat(", ", required);
    if (!field.fallback.empty()) text += concat("; default: ", field.fallback);
    text += ").";
    if (!field.details.empty()) text += concat("\n\n", field.details);
    const bool holds_others =
        field.kind == FieldSpec::Kind::kMap || field.kind == FieldSpec::Kind::kList;
    const FieldSpec& inner = holds_others ? field.below.front() : field;
    for (const auto& [word, meaning] : inner.words)
      text += concat("\n\n`", word, "`: ", meaning, ".");
    if (field.kind == FieldSpec::Kind::kMap && field.rule != nullptr)
      text += concat("\n\nKeys: ", field.rule->sentence);
    if (inner.kind == FieldSpec::Kind::kText && inner.rule != nullptr)
      text += concat("\n\nForm: ", sentence(inner.rule->sentence));
    return text;
  }

  void add_config(const ConfigFormat& format) {
    constexpr int kSection = 5;
    Roff page = begin(format.name, kSection, format.summary);
    page.section("DESCRIPTION").text(format.details);
    page.section("KEYS");
    std::string_view table;
    for (const auto& key : format.keys) {
      if (key.table != std::exchange(table, key.table))
        page.subsection(concat("In each ", key.table));
      std::string text = concat(upper(key.type), ". ");
      if (key.is_required) text += "Required. ";
      if (!key.fallback.empty()) text += concat("Default: ", key.fallback, ". ");
      page.entry(key.name, text + sentence(key.meaning));
    }
    page.section("FILES");
    for (const auto file : format.files)
      page.entry(file, "Read if no other file is named on the command line.");
    page.section("EXAMPLE").example(format.example);
    finish(std::move(page), format.name, kSection, {std::string(format.program)});
  }

  const std::string_view date_;
  std::vector<ManPage> pages_;
  std::map<std::string_view, std::string> described_;  // definition of an object -> its first path
};

}  // namespace

std::string file_name(const ManPage& page) {
  return concat(page.name, ".", std::to_string(page.section));
}

std::vector<ManPage> man_pages(std::string_view date) { return Writer(date).write(); }

}  // namespace tiphys::apps
