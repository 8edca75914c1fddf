#include "cli/ank.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "cli/apply.h"
#include "cli/completer.h"
#include "cli/explain.h"
#include "cli/plan_report.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "io/link/security.h"
#include "text/manifest_schema.h"

namespace tiphys::cli {
namespace {

constexpr std::array<const char*, 12> kVariables{
    "ANK_SERVER_URL", "ANK_INSECURE", "ANK_CA_PEM", "ANK_CRT_PEM",
    "ANK_KEY_PEM",    "HOME",         "NO_COLOR",   "TERM",
    "CLICOLOR_FORCE", "COMPLETE",     "_CLAP_IFS",  "_CLAP_COMPLETE_INDEX"};
constexpr const char* kUserConfig = "/.config/ankaios/ank.conf";
constexpr const char* kSystemConfig = "/etc/ankaios/ank.conf";

// Why a command ends before it has talked to anybody, or with what exit code it is done already.
struct Ended {
  int exit_code;
};

template <class T>
using Prepared = tl::expected<T, Ended>;

int print(const Printout& printout, Console& console) {
  switch (printout.kind) {
    case Printout::Kind::kHelp:
      std::signal(SIGPIPE, SIG_IGN);  // nobody needs to read a help text to its end
      console.print(printout.text);
      break;
    case Printout::Kind::kMissingCommand:
      console.print_to_stderr(printout.text);
      break;
    case Printout::Kind::kUsageError:
      console.usage_error(printout.text);
      break;
  }
  return exit_code(printout.kind);
}

// Such a command is answered whatever the settings are, and even if they cannot be read.
bool needs_no_server(const Command& command) {
  return std::holds_alternative<Explain>(command) || std::holds_alternative<Schema>(command);
}

class Preparation {
 public:
  Preparation(const Environment& environment, Console& console)
      : environment_(environment), console_(console) {}

  Prepared<Settings> settings(const GivenOptions& given) {
    ConfigFile file;
    if (const auto path = config_path(given)) {
      const auto text = read_file(*path);
      // The files of the user and of the system need not be there.
      const bool may_be_missing = !given.config_path;
      if (text) {
        auto parsed = parse_config_file(*text, *path);
        if (!parsed) return failed(parsed.error().message);
        file = *std::move(parsed);
      } else if (!may_be_missing || text.error().code != Code::kNotFound) {
        return failed(
            concat("Config file could not be parsed: 'Config file could not have been "
                   "parsed due to: ",
                   *path, ": ", text.error().message, "'"));
      }
    }
    return settings_of(given, file);
  }

  Prepared<std::optional<host::TlsMaterial>> tls(const Settings& settings) {
    // An empty variable would otherwise pass for none, and what was meant to be secure would not be.
    const auto& [insecure, ca, certificate, key] = settings.security;
    for (const auto* pem : {&ca, &certificate, &key})
      if (pem->path && pem->path->empty() && !pem->path_of_config_file)
        return failed(
            "Certificate error: 'Error during opening the given file \"\": No such file or "
            "directory (os error 2)'");
    auto security = link::decide_security(settings.security);
    if (security) {
      for (const auto& warning : security->warnings) console_.warn(warning);
      return std::move(security->tls);
    }
    const link::SecurityError& error = security.error();
    switch (error.kind) {
      case link::SecurityError::Kind::kUnreadable:
        return failed(error.message);
      case link::SecurityError::Kind::kMissing:
        return failed(concat("Missing certificate files: ", error.message));
      case link::SecurityError::Kind::kUnreadableOfConfigFile:
        break;
    }
    return failed(to_string(error));
  }

  Status check_url(const Settings& settings) {
    for (const std::string_view scheme : {"http://", "https://"})
      if (settings.server_url.starts_with(scheme) && settings.server_url.size() > scheme.size())
        return {};
    return fail(Code::kInvalidArgument,
                concat("Cannot connect to server: 'Wrong server address format: '",
                       settings.server_url, "'.'"));
  }

  Prepared<Task> task(const Command& command, const Settings& settings) {
    return match(
        command, [](const GetState& c) -> Prepared<Task> { return ShowState{c.format, c.masks}; },
        [](const GetWorkloads& c) -> Prepared<Task> {
          if (c.watch) return WatchWorkloads{c.filter, c.listing};
          return ShowWorkloads{c.filter, c.listing};
        },
        [](const GetAgents& c) -> Prepared<Task> { return ShowAgents{c.listing}; },
        [](const GetConfigs& c) -> Prepared<Task> { return ShowConfigs{c.listing}; },
        [](const GetEvents& c) -> Prepared<Task> { return c; },
        [&](const SetState& c) { return set_state(c); },
        [](const DeleteWorkloads& c) -> Prepared<Task> {
          return ChangeState{"Failed to delete workloads", deletion("workloads", c.names)};
        },
        [](const DeleteConfigs& c) -> Prepared<Task> {
          return RemoveConfigs{deletion("configs", c.names)};
        },
        [](const RunWorkload& c) -> Prepared<Task> { return run_workload(c); },
        [&](const Apply& c) { return apply(c, settings); },
        [&](const Plan& c) { return plan(c, settings); },
        [](const Logs& c) -> Prepared<Task> { return c; },
        [](const WaitFor& c) -> Prepared<Task> { return c; },
        [](const DescribeWorkloads& c) -> Prepared<Task> { return c; },
        [](const DescribeAgents& c) -> Prepared<Task> { return c; },
        [&](const Explain& c) -> Prepared<Task> {
          const auto text = explain(c.field, console_.width());
          return text ? printed(*text) : failed(text.error().message);
        },
        [&](const Schema&) -> Prepared<Task> { return printed(manifest_schema()); });
  }

 private:
  tl::unexpected<Ended> failed(std::string_view text) {
    console_.error(text);
    return tl::unexpected(Ended{1});
  }
  tl::unexpected<Ended> printed(std::string_view text) {
    console_.print(text);
    return tl::unexpected(Ended{0});
  }

  std::optional<std::string> config_path(const GivenOptions& given) {
    if (given.config_path) return given.config_path;
    const auto home = environment_.find("HOME");
    if (home == environment_.end()) {
      console_.warn(
          concat("HOME environment variable not found, continue with searching only "
                 "system config file at '",
                 kSystemConfig, "'."));
      return kSystemConfig;
    }
    std::string path = home->second + kUserConfig;
    const auto user = read_file(path);
    if (!user && user.error().code == Code::kNotFound) return kSystemConfig;
    return path;
  }

  static UpdateStateRequest deletion(std::string_view kind, const std::vector<std::string>& names) {
    UpdateStateRequest request{Tree::Map(), {}};
    for (const auto& name : names)
      request.update_masks.push_back(concat("desiredState.", kind, ".", name));
    return request;
  }

  static Task run_workload(const RunWorkload& command) {
    Tree::Map tags;
    for (const auto& [key, value] : command.tags) tags = tags.set(key, value);
    const auto workload = Tree::Map()
                              .set("agent", command.agent)
                              .set("runtime", command.runtime)
                              .set("runtimeConfig", command.runtime_config)
                              .set("tags", tags);
    const auto state = Tree::Map().set("workloads", Tree::Map().set(command.name, workload));
    return ChangeState{"Failed to run workloads",
                       {Tree::Map().set("desiredState", state),
                        {concat("desiredState.workloads.", command.name)}}};
  }

  Prepared<Task> set_state(const SetState& command) {
    constexpr const char* kWrapper = "Failed to set state";
    const bool is_stdin = command.file == "-";
    const auto text = is_stdin ? console_.read_stdin() : read_file(command.file);
    if (!text)
      return failed(command_error(
          kWrapper,
          concat(is_stdin ? "Could not read the state object from stdin."
                          : concat("Could not read the state object file '", command.file, "'."),
                 "\nError: '", text.error().message, "'")));
    auto state = read_state_object({is_stdin ? "stdin" : command.file, *text});
    if (!state)
      return failed(
          command_error(kWrapper, concat(is_stdin ? "Could not convert stdin input to yaml."
                                                  : "Could not convert state object file to yaml.",
                                         "\nError: '", state.error().message, "'")));
    return ChangeState{kWrapper, {*std::move(state), command.masks}};
  }

  Prepared<std::vector<ManifestText>> manifests(const std::vector<std::string>& files) {
    std::vector<ManifestText> manifests;
    if (files.front() == "-") {
      auto text = console_.read_stdin();
      if (!text)
        return failed(command_error(
            "", concat("Invalid manifest data provided: stdin: ", text.error().message)));
      manifests.push_back({"stdin", *std::move(text)});
      return manifests;
    }
    std::size_t size = 0;
    for (const auto& file : files) {
      auto text = read_file(file);
      if (!text && text.error().code == Code::kNotFound)
        return failed(command_error("", concat("File '", file, "' not found!")));
      if (!text)
        return failed(command_error(
            "", concat("Invalid manifest data provided: ", text.error().message, ": ", file)));
      size += text->size();
      if (size > kMaxInput)
        return failed(command_error(
            "", concat("Invalid manifest data provided: the files are together larger than ",
                       std::to_string(kMaxInput >> 20U), " MiB; apply them one by one")));
      manifests.push_back({file, *std::move(text)});
    }
    return manifests;
  }

  // None when there is nothing to update. `warn` is told what users should know of the manifests.
  template <class Warn>
  Prepared<std::optional<UpdateStateRequest>> update_of(const std::vector<std::string>& files,
                                                        const ApplyOptions& options,
                                                        const Settings& settings, Warn warn) {
    const auto texts = manifests(files);
    if (!texts) return tl::unexpected(texts.error());
    if (settings.verbose)
      for (const auto& manifest : *texts) console_.debug(concat("Checking ", manifest.name));
    ApplyPlan plan = plan_apply(*texts, options);
    if (!settings.quiet)
      for (const auto& warning : plan.warnings) warn(warning + "\n");
    if (!plan.request) return failed(command_error("", plan.request.error().message));
    return *std::move(plan.request);
  }

  Prepared<Task> apply(const Apply& command, const Settings& settings) {
    if (command.dry_run)
      return plan({command.files, command.agent, command.deletes, command.detailed_exit_code,
                   PlanFormat::kText},
                  settings);
    auto request = update_of(command.files, {command.agent, command.deletes}, settings,
                             [this](const std::string& warning) { console_.print(warning); });
    if (!request) return tl::unexpected(request.error());
    if (!*request) {
      if (!settings.quiet) console_.print("Nothing to update.\n");
      return tl::unexpected(Ended{0});
    }
    return ChangeState{"", **std::move(request)};
  }

  // As apply, with a stdout that is for the plan alone.
  Prepared<Task> plan(const Plan& command, const Settings& settings) {
    auto request =
        update_of(command.files, {command.agent, command.deletes}, settings,
                  [this](const std::string& warning) { console_.print_to_stderr(warning); });
    if (!request) return tl::unexpected(request.error());
    if (!*request) {
      console_.print(to_text(UpdateReport{}, command.format, console_.width()));
      return tl::unexpected(Ended{0});
    }
    return PlanUpdate{**std::move(request), command.format, command.detailed_exit_code};
  }

  const Environment& environment_;
  Console& console_;
};

// For completion; the words make no command yet.
std::optional<Tree> state_for(std::vector<std::string> global_words, std::vector<std::string> masks,
                              const Environment& environment) {
  global_words.insert(global_words.end(), {"get", "state"});
  const auto parsed = parse_command_line(global_words, environment);
  if (std::holds_alternative<Printout>(parsed)) return std::nullopt;
  SilentConsole console;
  Preparation preparation(environment, console);
  const auto settings = preparation.settings(std::get<Invocation>(parsed).options);
  if (!settings) return std::nullopt;
  const auto tls = preparation.tls(*settings);
  if (!tls || !preparation.check_url(*settings)) return std::nullopt;
  return fetch_state_quickly(*settings, *tls, std::move(masks));
}

}  // namespace

int run_ank(const std::vector<std::string>& words, const Environment& environment,
            Console& console) {
  const auto state = [&](std::vector<std::string> global_words, std::vector<std::string> masks) {
    return state_for(std::move(global_words), std::move(masks), environment);
  };
  if (const auto completed = run_completion(words, environment, state, console)) return *completed;

  const auto parsed = parse_command_line(words, environment);
  if (const auto* printout = std::get_if<Printout>(&parsed)) return print(*printout, console);
  const auto& [given, command] = std::get<Invocation>(parsed);
  console.choose_colours(given.color);

  Preparation preparation(environment, console);
  if (needs_no_server(command)) return preparation.task(command, {}).error().exit_code;
  const auto settings = preparation.settings(given);
  if (!settings) return settings.error().exit_code;
  const auto tls = preparation.tls(*settings);
  if (!tls) return tls.error().exit_code;
  if (const auto checked = preparation.check_url(*settings); !checked) {
    console.error(checked.error().message);
    return 1;
  }
  const auto task = preparation.task(command, *settings);
  if (!task) return task.error().exit_code;
  return perform(*task, *settings, *tls, console);
}

int run_ank(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // a reader that has gone ends the program quietly
  Environment environment;
  for (const char* name : kVariables)
    if (const char* value = std::getenv(name)) environment[name] = value;
  ProcessConsole console(environment);
  const int code = run_ank({argv + (argc > 0 ? 1 : 0), argv + argc}, environment, console);
  if (console.all_was_printed()) return code;
  // Who keeps the output in a file must not take half of it for all.
  console.error(concat("Cannot write to stdout: ", console.all_was_printed().error().message));
  return code == 0 ? 1 : code;
}

}  // namespace tiphys::cli
