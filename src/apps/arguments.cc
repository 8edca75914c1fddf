#include "apps/arguments.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/strings.h"
#include "base/version.h"

namespace tiphys::apps {
namespace {

constexpr std::string_view kTrue = "true";
constexpr std::string_view kFalse = "false";
constexpr std::string_view kPossibleValues = "\n  [possible values: true, false]";
constexpr std::size_t kHelpColumn = 34;
constexpr std::size_t kHelpWidth = 100;

// "--address <ADDR>"
std::string shown(const Option& option) {
  return concat("--", option.name, option.value.empty() ? "" : " ", option.value);
}

tl::unexpected<Stop> mistaken(std::string_view offence) {
  return stop(Stop::Kind::kUsage,
              concat("error: ", offence, "\n\nFor more information, try '--help'.\n"));
}

tl::unexpected<Stop> value_required(const Option& option, std::string_view note = "") {
  return mistaken(
      concat("a value is required for '", shown(option), "' but none was supplied", note));
}

const Option* find(const Program& program, std::string_view name) {
  for (const auto* options : {&program.options, &common_options()})
    for (const auto& option : *options)
      if (option.name == name || (!option.hidden_name.empty() && option.hidden_name == name))
        return &option;
  return nullptr;
}

const Option* find(const Program& program, char letter) {
  for (const auto* options : {&program.options, &common_options()})
    for (const auto& option : *options)
      if (letter != 0 && (option.letter == letter || option.hidden_letter == letter))
        return &option;
  return nullptr;
}

// The words of the text in lines, each but the first at the given column.
void append_wrapped(std::string& help, std::string_view text, std::size_t column) {
  std::size_t place = column;
  for (const auto word : split(text, ' ')) {
    if (place > column && place + 1 + word.size() > kHelpWidth) {
      help += concat("\n", std::string(column, ' '));
      place = column;
    } else if (place > column) {
      help += ' ';
      ++place;
    }
    help += word;
    place += word.size();
  }
  help += '\n';
}

void append_row(std::string& help, std::string_view front, std::string_view text) {
  const bool fits = front.size() + 2 <= kHelpColumn;
  help +=
      concat(front, fits ? "" : "\n", std::string(kHelpColumn - (fits ? front.size() : 0), ' '));
  append_wrapped(help, text, kHelpColumn);
}

void append_help(std::string& help, const Option& option) {
  const std::string letter =
      option.letter == 0 ? "    " : concat("-", std::string(1, option.letter), ", ");
  append_row(help, concat("  ", letter, shown(option)),
             concat(option.help, option.repeatable ? " (may be given several times)" : ""));
  std::string notes;
  if (!option.variable.empty()) notes += concat("[env: ", option.variable, "] ");
  if (!option.fallback.empty()) notes += concat("[default: ", option.fallback, "]");
  if (!notes.empty()) append_row(help, "", trim(notes));
}

}  // namespace

class ArgumentReader {
 public:
  ArgumentReader(const Program& program, const std::vector<std::string>& arguments)
      : program_(program), arguments_(arguments) {}

  OrStop<Arguments> read(const host::Environment& environment) {
    while (next_ < arguments_.size()) {
      const std::string& argument = arguments_[next_++];
      auto read = argument.starts_with("--") && argument.size() > 2
                      ? read_long(std::string_view(argument).substr(2))
                  : argument.starts_with('-') && argument.size() > 1 && argument != "--"
                      ? read_letters(std::string_view(argument).substr(1))
                      : unexpected(argument);
      if (!read) return tl::unexpected(std::move(read).error());
    }
    if (auto read = read_environment(environment); !read)
      return tl::unexpected(std::move(read).error());
    return std::move(result_);
  }

 private:
  using Read = OrStop<bool>;

  Read unexpected(std::string_view argument) const {
    return misused(program_, concat("unexpected argument '", argument, "' found"));
  }

  Read read_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Option* option = find(program_, name);
    if (option == nullptr) return unexpected(concat("--", name));
    if (equals == std::string_view::npos) return take(*option, std::nullopt);
    if (option->value.empty())
      return misused(program_,
                     concat("unexpected value '", text.substr(equals + 1), "' for '",
                            shown(*option), "' found; no more were expected"),
                     shown(*option));
    return take(*option, text.substr(equals + 1));
  }

  Read read_letters(std::string_view text) {
    while (!text.empty()) {
      const Option* option = find(program_, text.front());
      if (option == nullptr) return unexpected(concat("-", text.substr(0, 1)));
      text.remove_prefix(1);
      if (!option->value.empty() && !text.empty())
        return take(*option, text.front() == '=' ? text.substr(1) : text);
      if (auto taken = take(*option, std::nullopt); !taken) return taken;
    }
    return true;
  }

  Read take(const Option& option, std::optional<std::string_view> value) {
    if (option.name == "help") return stop(Stop::Kind::kAnswer, help_text(program_));
    if (option.name == "version")
      return stop(Stop::Kind::kAnswer, concat(program_.name, " ", kVersion, "\n"));
    if (option.value.empty()) {
      value = kTrue;
    } else if (!value) {
      if (next_ == arguments_.size() || is_option(arguments_[next_])) return value_required(option);
      value = arguments_[next_++];
    }
    auto& values = result_.given_[std::string(option.name)];
    if (!values.empty() && !option.repeatable)
      return misused(program_,
                     concat("the argument '", shown(option), "' cannot be used multiple times"));
    values.emplace_back(*value);
    return true;
  }

  static bool is_option(std::string_view argument) {
    return argument.size() > 1 && argument.starts_with('-');
  }

  Read read_environment(const host::Environment& environment) {
    for (const auto& option : program_.options) {
      if (option.variable.empty() || result_.given_.contains(option.name)) continue;
      const auto value = environment(std::string(option.variable).c_str());
      if (!value) continue;
      const bool is_switch = option.value.empty();
      if (value->empty() && is_switch) return value_required(option, kPossibleValues);
      if (value->empty()) continue;
      if (is_switch && *value != kTrue && *value != kFalse)
        return mistaken(
            concat("invalid value '", *value, "' for '", shown(option), "'", kPossibleValues));
      result_.given_[std::string(option.name)] = {*value};
    }
    return true;
  }

  const Program& program_;
  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  Arguments result_;
};

const std::vector<Option>& common_options() {
  static const std::vector<Option> kOptions{
      {.letter = 'h', .name = "help", .help = "Print this help"},
      {.letter = 'V', .name = "version", .help = "Print the version"}};
  return kOptions;
}

const std::vector<Variable>& common_variables() {
  static const std::vector<Variable> kVariables{
      {"TIPHYS_LOG",
       "Which lines are logged: off, error, warn, info, debug or trace, for all or by target "
       "(warn,ank_server=debug). RUST_LOG counts when it is not set [default: info]"},
      {"NO_COLOR", "Log without colours, as RUST_LOG_STYLE=never does"}};
  return kVariables;
}

int exit_code(Stop::Kind kind) {
  switch (kind) {
    case Stop::Kind::kAnswer:
      return 0;
    case Stop::Kind::kUsage:
      return 2;
    case Stop::Kind::kFatal:
      return 1;
  }
  return 1;
}

tl::unexpected<Stop> fatal(std::string_view context, std::string_view detail) {
  return stop(Stop::Kind::kFatal, concat(context, ": '", detail, "'"));
}

std::optional<std::string> Arguments::value(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::optional<std::string>() : found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::vector<std::string>() : found->second;
}

std::optional<bool> Arguments::is_on(std::string_view name) const {
  const auto text = value(name);
  return text ? std::optional<bool>(*text == kTrue) : std::nullopt;
}

OrStop<Arguments> read_arguments(const Program& program, const std::vector<std::string>& arguments,
                                 const host::Environment& environment) {
  return ArgumentReader(program, arguments).read(environment);
}

std::string help_text(const Program& program) {
  std::string help;
  append_wrapped(help, program.purpose, 0);
  help += concat("\nUsage: ", program.name, " [OPTIONS]\n\nOptions:\n");
  for (const auto* options : {&program.options, &common_options()})
    for (const auto& option : *options) append_help(help, option);
  help += "\nEnvironment:\n";
  for (const auto& [name, meaning] : common_variables())
    append_row(help, concat("  ", name), meaning);
  return help;
}

tl::unexpected<Stop> misused(const Program& program, std::string_view offence,
                             std::string_view usage) {
  return mistaken(concat(offence, "\n\nUsage: ", program.name, " ", usage));
}

tl::unexpected<Stop> bad_value(const Program& program, std::string_view option,
                               std::string_view value, std::string_view why) {
  const Option* known = find(program, option);
  return mistaken(concat("invalid value '", value, "' for '",
                         known == nullptr ? std::string(option) : shown(*known), "': ", why));
}

}  // namespace tiphys::apps
