#include "apps/agent_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "apps/config_file.h"
#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::apps {

const Program& agent_program() {
  static const Program kProgram{
      .name = "ank-agent",
      .purpose =
          "Runs the workloads that a server wants on this machine and reports their states. "
          "Speaks the protocol of Ankaios 1.x.",
      .options = {
          {.letter = 'x',
           .name = "agent-config",
           .value = "<PATH>",
           .help = "Config file (TOML)",
           .fallback = "/etc/ankaios/ank-agent.conf if it exists"},
          {.letter = 'n',
           .name = "name",
           .value = "<NAME>",
           .help = "Name of this agent, as workloads say it: letters, digits, '-' and '_'. It has "
                   "to be given here or in the config file"},
          {.letter = 's',
           .name = "server-url",
           .value = "<URL>",
           .help = "Where the server is: http://HOST:PORT or https://HOST:PORT",
           .fallback = "https://127.0.0.1:25551"},
          {.letter = 'r',
           .name = "run-folder",
           .value = "<DIR>",
           .help = "Existing folder for what workloads share with this agent",
           .fallback = "$TMPDIR/ankaios or /tmp/ankaios, made if missing"},
          // [impl->swdd~agent-supports-cli-argument-for-insecure-communication~1]
          {.letter = 'k',
           .name = "insecure",
           .variable = "ANKAGENT_INSECURE",
           .help = "Speak plain text to the server, without TLS and without certificates",
           .fallback = "false"},
          {.letter = 't',
           .name = "tag",
           .value = "<KEY=VALUE>",
           .help = "Tag of this agent; replaces the tags of the config file",
           .repeatable = true},
          // [impl->swdd~agent-supports-pem-file-paths-as-cli-arguments~1]
          {.name = "ca_pem",
           .value = "<PATH>",
           .variable = "ANKAGENT_CA_PEM",
           .help = "Certificate of the authority that signed the server's"},
          {.name = "crt_pem",
           .value = "<PATH>",
           .variable = "ANKAGENT_CRT_PEM",
           .help = "Certificate of this agent, for its name"},
          {.name = "key_pem",
           .value = "<PATH>",
           .variable = "ANKAGENT_KEY_PEM",
           .help = "Its private key; nobody but its owner may have access to the file"},
      }};
  return kProgram;
}

namespace {

constexpr std::string_view kNameRule =
    "It shall contain only regular upper and lowercase characters (a-z and A-Z), numbers and the "
    "symbols '-' and '_'.";
constexpr std::string_view kNameContext = "Error encountered while checking agent name!";
constexpr std::string_view kRunFolderContext =
    "Run folder creation failed. Cannot continue without run folder.";

OrStop<AgentName> read_name(const std::string& name) {
  if (name.empty())
    return fatal(kNameContext, concat("Empty agent name is not allowed. ", kNameRule));
  if (!has_only_name_characters(name))
    return fatal(kNameContext, concat("Agent name '", name, "' is invalid. ", kNameRule));
  return AgentName{name};
}

OrStop<Tags> read_tags(const std::vector<std::string>& given, const ConfigFile& file) {
  const auto table = file.table("tags");
  if (!table) return tl::unexpected(table.error());
  Tags tags;
  if (given.empty() && *table)
    for (const auto& [key, value] : **table) tags[key] = value;
  for (const auto& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      return bad_value(agent_program(), "tag", text,
                       concat("invalid KEY=value: no `=` found in `", text, "`"));
    tags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return tags;
}

// Chooses among those that there are; all, if the file says nothing.
OrStop<std::set<std::string>> read_runtimes(const ConfigFile& file,
                                            const std::vector<std::string>& supported,
                                            std::vector<std::string>& warnings) {
  const auto configured = file.strings("runtimes");
  if (!configured) return tl::unexpected(configured.error());
  if (!*configured) return std::set<std::string>(supported.begin(), supported.end());
  std::set<std::string> chosen;
  for (const auto& runtime : **configured) {
    if (std::ranges::find(supported, runtime) != supported.end())
      chosen.insert(runtime);
    else
      warnings.push_back(concat("Configured runtime '", runtime, "' is not supported."));
  }
  if (chosen.empty())
    return fatal("Invalid runtime configuration",
                 concat("No valid runtimes configured. Supported runtimes: [\"",
                        join(supported, "\", \""), "\"]"));
  return chosen;
}

// Whether a creation that fails is tried again without an end.
OrStop<bool> read_retries(const ConfigFile& file) {
  const auto retries = file.string("retries");
  if (!retries) return tl::unexpected(retries.error());
  const std::string word = retries->value_or("limited");
  if (word != "limited" && word != "unlimited")
    return fatal("Invalid retry configuration",
                 concat("retries is '", word, "', but has to be 'limited' or 'unlimited'."));
  return word == "unlimited";
}

bool is_url(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (text.starts_with(scheme)) return text.size() > scheme.size();
  return false;
}

bool is_folder(const std::string& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

// With its parents.
bool make_folder(const std::string& path) {
  if (is_folder(path)) return true;
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash > 0 && !make_folder(path.substr(0, slash))) return false;
  return ::mkdir(path.c_str(), 0777) == 0 || (errno == EEXIST && is_folder(path));
}

std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

OrStop<AgentOptions> read_agent_options(const std::vector<std::string>& arguments,
                                        const host::Environment& environment,
                                        const std::vector<std::string>& runtimes,
                                        const std::string& default_file) {
  const auto given = read_arguments(agent_program(), arguments, environment);
  if (!given) return tl::unexpected(given.error());
  const auto file = ConfigFile::load(given->value("agent-config"), default_file);
  if (!file) return tl::unexpected(file.error());

  AgentOptions options;
  std::string name;
  for (const auto& [option, key, place] :
       {std::tuple{"name", "name", &name}, {"server-url", "server_url", &options.server_url}}) {
    auto value = file->string(key);
    if (!value) return tl::unexpected(std::move(value).error());
    if (*value) *place = std::move(**value);
    if (auto argument = given->value(option)) *place = std::move(*argument);
  }
  auto run_folder = file->string("run_folder");
  if (!run_folder) return tl::unexpected(std::move(run_folder).error());
  options.run_folder = std::move(*run_folder);
  if (auto argument = given->value("run-folder")) options.run_folder = std::move(argument);

  auto tags = read_tags(given->values("tag"), *file);
  if (!tags) return tl::unexpected(std::move(tags).error());
  options.tags = std::move(*tags);
  auto security = read_security(*given, *file);
  if (!security) return tl::unexpected(std::move(security).error());
  options.security = std::move(*security);

  auto checked_name = read_name(name);
  if (!checked_name) return tl::unexpected(std::move(checked_name).error());
  options.name = std::move(*checked_name);
  auto chosen = read_runtimes(*file, runtimes, options.warnings);
  if (!chosen) return tl::unexpected(std::move(chosen).error());
  options.runtimes = std::move(*chosen);
  const auto retries = read_retries(*file);
  if (!retries) return tl::unexpected(retries.error());
  options.retries_without_end = *retries;
  if (!is_url(options.server_url))
    return fatal("Failed to create communications client.",
                 concat("Wrong server address format: '", options.server_url, "'."));
  return options;
}

std::string default_run_folder(const host::Environment& environment) {
  const auto temporary = environment("TMPDIR");
  const std::string folder =
      temporary && !temporary->empty() ? without_last_slashes(*temporary) : "/tmp";
  return folder == "/" ? "/ankaios" : folder + "/ankaios";
}

bool is_same_folder(const std::string& one, const std::string& other) {
  return without_last_slashes(one) == without_last_slashes(other);
}

OrStop<std::string> prepare_run_folder(const std::string& base_folder, bool is_default,
                                       const AgentName& agent, uid_t user) {
  const std::string base = without_last_slashes(base_folder);
  const auto unusable = [](const std::string& folder, std::string_view why) {
    return fatal(kRunFolderContext, concat("Could not use directory \"", folder, "\": ", why));
  };
  const auto not_made = [](const std::string& folder) {
    return fatal(kRunFolderContext, concat("Could not create directory \"", folder,
                                           "\": ", host::system_message(errno)));
  };
  constexpr std::string_view kRemedy = "; remove it, or name another folder with --run-folder";
  struct stat about{};
  if (is_default && ::lstat(base.c_str(), &about) == 0 && S_ISLNK(about.st_mode) &&
      about.st_uid != user && about.st_uid != 0)
    return unusable(base, concat("it is a symbolic link of another user", kRemedy));
  if (!is_folder(base)) {
    if (!is_default)
      return fatal(kRunFolderContext, concat("Could not find directory \"", base, "\""));
    if (!make_folder(base) || ::chmod(base.c_str(), 0777) != 0) return not_made(base);
  }
  const std::string folder = concat(base, "/", agent.value, "_io");
  if (::lstat(folder.c_str(), &about) == 0 && S_ISLNK(about.st_mode))
    return unusable(folder, concat("it is a symbolic link", kRemedy));
  if (!make_folder(folder)) return not_made(folder);
  if (::lstat(folder.c_str(), &about) != 0) return not_made(folder);
  if (about.st_uid != user)
    return unusable(folder, concat("it belongs to another user (uid ", std::to_string(about.st_uid),
                                   ")", kRemedy));
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return unusable(folder, host::system_message(errno));
  return std::filesystem::absolute(folder).string();
}

}  // namespace tiphys::apps
