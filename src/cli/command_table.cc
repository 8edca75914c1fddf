#include "cli/command_table.h"

#include <algorithm>

#include "base/strings.h"
#include "base/version.h"
#include "cli/paragraphs.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kHelpWidth = 80;  // of paragraphs

constexpr const char* kMask = "OBJECT_FIELD_MASK";
constexpr const char* kWorkload = "WORKLOAD_NAME";
constexpr const char* kMaskHelp = "Parts of the state, such as desiredState.workloads.nginx";

// -- Longer texts; `code` stands in backquotes

constexpr const char* kAnk =
    "Its options stand before the command. What it needs to reach the server may also stand in the "
    "environment or in a config file. Results go to standard output, errors to standard error.";
constexpr const char* kGetState =
    "Without a mask the whole state: what is desired, the states of workloads, and the agents. A "
    "mask names a part of it, such as desiredState.workloads.nginx; '*' stands for any key.";
constexpr const char* kGetWorkload =
    "One line for each workload that runs, ran or shall run: its agent, its runtime, its execution "
    "state, and what there is to say about that.\n\nWith `--watch` the table is shown again with "
    "each change, until the command is ended.";
constexpr const char* kGetAgent =
    "One line for each agent, with the number of its workloads, its load and its free memory.";
constexpr const char* kGetEvents =
    "Each change of the parts that the masks name is shown as one document, until the command is "
    "ended. Without a mask it is each change of the state.";
constexpr const char* kSetState =
    "The masks say which parts of the state are replaced, the file what by: a state as `ank get "
    "state` shows it. What a mask names and the file does not have is deleted.\n\nWaits until the "
    "workloads have reached their states, unless `--no-wait` is given.";
constexpr const char* kDeleteWorkload =
    "Takes them out of the desired state; their agents then end them. Waits until they are gone, "
    "unless `--no-wait` is given.";
constexpr const char* kDeleteConfig =
    "Takes them out of the desired state. The server refuses that for a config that a workload "
    "uses.";
constexpr const char* kApply =
    "Adds the workloads and configs of the manifests to the desired state, or replaces those that "
    "are there; all others are left alone. Then waits until the workloads have reached their "
    "states, unless `--no-wait` is given.\n\nManifests are checked first. Everything that is wrong "
    "with one is named with file, line, column and path, and nothing is sent. `ank explain` "
    "describes the fields.";
constexpr const char* kLogs =
    "Without `--follow` it ends with the last line that there is. With several workloads `--names` "
    "tells their lines apart.";
constexpr const char* kRunWorkload =
    "Adds it to the desired state, or replaces the one of that name. Then waits until it has "
    "reached its state, unless `--no-wait` is given.";
constexpr const char* kExplain =
    "Says of a field what it is for, its type, whether it is required, its default and its values, "
    "with an example. Fields are named by their path; keys that the author of a manifest chooses "
    "may be left out or be any: workload.agent, workloads.web.agent.\n\nNeeds no server.";

// -- Commands

OptionSpec state_format() {
  return {.letter = 'o',
          .name = "",
          .value = "OUTPUT_FORMAT",
          .help = "How to write it",
          .fallback = "yaml",
          .choices = {"yaml", "json"}};
}

OptionSpec agent_of_all() {
  return {.letter = 0,
          .name = "agent",
          .value = "AGENT_NAME",
          .help = "The agent of all workloads in the manifests"};
}
OptionSpec deletes() {
  return {.letter = 'd', .name = "", .help = "Delete what the manifests describe"};
}
OptionSpec detailed_exit_code() {
  return {.letter = 0,
          .name = "detailed-exitcode",
          .help = "End with 0 if nothing would change, 2 if something would, 1 after an error"};
}
ArgumentSpec manifests() {
  return {.label = "MANIFEST",
          .help = "Manifest files, or - for stdin",
          .kind = WordKind::kFile,
          .takes_many = true};
}

// What the commands that print tables have in common.
std::vector<OptionSpec> with_table_options(std::vector<OptionSpec> options) {
  options.push_back({.letter = 'o',
                     .name = "",
                     .value = "OUTPUT_FORMAT",
                     .help = "How to show them",
                     .fallback = "a table",
                     .choices = {"wide", "name", "json", "yaml"}});
  options.push_back(
      {.letter = 0, .name = "no-headers", .help = "Leave the line with the columns' names out"});
  options.push_back({.letter = 0,
                     .name = "sort-by",
                     .value = "COLUMN",
                     .help = "Sort by this column, such as agent",
                     .fallback = "name"});
  return options;
}

std::vector<OptionSpec> global_options() {
  return {
      {.letter = 'x',
       .name = "ank-config",
       .value = "CONFIG_PATH",
       .help = "Config file",
       .fallback = "~/.config/ankaios/ank.conf, then /etc/ankaios/ank.conf",
       .kind = WordKind::kFile},
      {.letter = 's',
       .name = "server-url",
       .value = "SERVER_URL",
       .help = "URL of the server",
       .fallback = "https://127.0.0.1:25551",
       .variable = "ANK_SERVER_URL"},
      {.letter = 0,
       .name = "response-timeout",
       .value = "RESPONSE_TIMEOUT_MS",
       .help = "Milliseconds to wait for an answer",
       .fallback = "3000"},
      {.letter = 'v', .name = "verbose", .help = "Print what is done"},
      {.letter = 'q', .name = "quiet", .help = "Print results and errors only"},
      {.letter = 0, .name = "no-wait", .help = "Do not wait for workloads to reach their states"},
      {.letter = 'k', .name = "insecure", .help = "Talk without TLS", .variable = "ANK_INSECURE"},
      {.letter = 0,
       .name = "ca_pem",
       .value = "CA_PEM",
       .help = "File with the certificate of the authority",
       .variable = "ANK_CA_PEM",
       .kind = WordKind::kFile},
      {.letter = 0,
       .name = "crt_pem",
       .value = "CRT_PEM",
       .help = "File with the certificate of this client",
       .variable = "ANK_CRT_PEM",
       .kind = WordKind::kFile},
      {.letter = 0,
       .name = "key_pem",
       .value = "KEY_PEM",
       .help = "File with the private key of this client",
       .variable = "ANK_KEY_PEM",
       .kind = WordKind::kFile},
      {.letter = 0,
       .name = "color",
       .value = "WHEN",
       .help = "Whether to use colours; NO_COLOR counts for auto",
       .fallback = "auto",
       .choices = {"auto", "always", "never"}},
  };
}

CommandSpec get_commands() {
  return {.name = "get",
          .summary = "Show the state, or a part of it",
          .commands = {
              {.name = "state",
               .summary = "Show the state",
               .details = kGetState,
               .options = {state_format()},
               .arguments = {{.label = kMask,
                              .help = kMaskHelp,
                              .kind = WordKind::kStateMask,
                              .takes_many = true}},
               .examples = {{"ank get state", "show everything"},
                            {"ank get state -o json desiredState.workloads.nginx",
                             "show one workload as JSON"}}},
              {.name = "workload",
               .alias = "workloads",
               .summary = "Show workloads",
               .details = kGetWorkload,
               .options = with_table_options(
                   {{.letter = 'a',
                     .name = "agent",
                     .value = "AGENT_NAME",
                     .help = "Only those of this agent"},
                    {.letter = 's',
                     .name = "state",
                     .value = "STATE",
                     .help = "Only those in this execution state"},
                    {.letter = 'w', .name = "watch", .help = "Go on showing changes"}}),
               .arguments = {{.label = kWorkload,
                              .help = "Only these workloads",
                              .kind = WordKind::kWorkload,
                              .takes_many = true}},
               .examples = {{"ank get workloads", "show all workloads"},
                            {"ank get workloads -s Failed --sort-by agent",
                             "show what has failed, agent by agent"},
                            {"ank get workloads -w", "show them again with each change"}}},
              {.name = "agent",
               .alias = "agents",
               .summary = "Show the connected agents",
               .details = kGetAgent,
               .options = with_table_options({})},
              {.name = "config",
               .alias = "configs",
               .summary = "Show the names of configs",
               .options = with_table_options({})},
              {.name = "events",
               .summary = "Show changes as they happen",
               .details = kGetEvents,
               .options = {state_format(),
                           {.letter = 'c',
                            .name = "include-current-state",
                            .help = "Show the state of now first"}},
               .arguments = {{.label = kMask,
                              .help = kMaskHelp,
                              .kind = WordKind::kStateMask,
                              .takes_many = true}},
               .examples = {{"ank get events workloadStates",
                             "show how the states of workloads change"}}},
          }};
}

CommandSpec set_commands() {
  return {.name = "set",
          .summary = "Change the state",
          .commands = {{.name = "state",
                        .summary = "Replace parts of the state",
                        .details = kSetState,
                        .arguments = {{.label = kMask,
                                       .help = "The parts to replace",
                                       .kind = WordKind::kStateMask,
                                       .is_required = true,
                                       .takes_many = true},
                                      {.label = "STATE_OBJECT_FILE",
                                       .help = "A file with the new state, or - for stdin",
                                       .kind = WordKind::kFile,
                                       .is_required = true}},
                        .examples = {{"ank set state desiredState.workloads.nginx state.yaml",
                                      "take one workload from a file"}}}}};
}

CommandSpec delete_commands() {
  return {.name = "delete",
          .summary = "Take workloads or configs away",
          .commands = {{.name = "workload",
                        .alias = "workloads",
                        .summary = "Delete workloads",
                        .details = kDeleteWorkload,
                        .arguments = {{.label = kWorkload,
                                       .help = "The workloads",
                                       .kind = WordKind::kWorkload,
                                       .is_required = true,
                                       .takes_many = true}}},
                       {.name = "config",
                        .alias = "configs",
                        .summary = "Delete configs",
                        .details = kDeleteConfig,
                        .arguments = {{.label = "CONFIG_NAME",
                                       .help = "The configs",
                                       .kind = WordKind::kConfig,
                                       .is_required = true,
                                       .takes_many = true}}}}};
}

CommandSpec run_commands() {
  return {.name = "run",
          .summary = "Add a workload",
          .commands = {
              {.name = "workload",
               .summary = "Add a workload",
               .details = kRunWorkload,
               .options = {{.letter = 0,
                            .name = "runtime",
                            .value = "RUNTIME_NAME",
                            .help = "The runtime, such as podman",
                            .is_required = true},
                           {.letter = 0,
                            .name = "config",
                            .value = "RUNTIME_CONFIG",
                            .help = "What the runtime shall run",
                            .is_required = true},
                           {.letter = 0,
                            .name = "agent",
                            .value = "AGENT_NAME",
                            .help = "The agent that shall run it",
                            .is_required = true},
                           {.letter = 0,
                            .name = "tags",
                            .value = "TAGS",
                            .help = "KEY=value; may be given several times",
                            .may_repeat = true}},
               .arguments = {{.label = kWorkload, .help = "The new workload", .is_required = true}},
               .examples = {{"ank run workload nginx --runtime podman --agent agent_A "
                             "--config 'image: docker.io/library/nginx'",
                             "run a web server on one agent"}}}}};
}

CommandSpec apply_command() {
  return {.name = "apply",
          .summary = "Apply manifests",
          .details = kApply,
          .options = {agent_of_all(),
                      deletes(),
                      {.letter = 0,
                       .name = "dry-run",
                       .help = "Change nothing; show what would change, as ank plan does"},
                      detailed_exit_code()},
          .arguments = {manifests()},
          .examples = {{"ank apply state.yaml", "apply a manifest, wait until all runs"},
                       {"ank apply -d state.yaml", "take all away that the manifest describes"}},
          .shows_help_alone = true};
}

CommandSpec plan_command() {
  return {.name = "plan",
          .summary = "Show what applying manifests would change",
          .details =
              "The server is asked what would become of each workload: created, replaced, updated, "
              "deleted or unchanged, and why. Nothing is changed.\n\n"
              "A server of Ankaios does not know this request; the command then says so and ends "
              "with 1.",
          .options = {agent_of_all(),
                      deletes(),
                      detailed_exit_code(),
                      {.letter = 'o',
                       .name = "",
                       .value = "OUTPUT_FORMAT",
                       .help = "How to show it",
                       .fallback = "text",
                       .choices = {"json", "yaml"}}},
          .arguments = {manifests()},
          .examples = {{"ank plan state.yaml", "see what ank apply state.yaml would do"},
                       {"ank plan --detailed-exitcode state.yaml || ank apply state.yaml",
                        "apply a manifest only where it changes something"}},
          .shows_help_alone = true};
}

CommandSpec logs_command() {
  return {.name = "logs",
          .summary = "Show the logs of workloads",
          .details = kLogs,
          .options = {{.letter = 'f', .name = "follow", .help = "Go on showing logs"},
                      {.letter = 't',
                       .name = "tail",
                       .value = "TAIL",
                       .help = "Only so many lines at the end",
                       .fallback = "-1, all"},
                      {.letter = 'n',
                       .name = "names",
                       .help = "Begin each line with the workload's name"},
                      {.letter = 's',
                       .name = "since",
                       .value = "SINCE",
                       .help = "Only from this time on (RFC 3339)"},
                      {.letter = 'u',
                       .name = "until",
                       .value = "UNTIL",
                       .help = "Only up to this time (RFC 3339)"}},
          .arguments = {{.label = kWorkload,
                         .help = "The workloads",
                         .kind = WordKind::kWorkload,
                         .is_required = true,
                         .takes_many = true}},
          .examples = {{"ank logs -f --tail 10 nginx", "show the last ten lines, and what comes"}},
          .shows_help_alone = true};
}

CommandSpec wait_commands() {
  return {.name = "wait",
          .summary = "Wait for workloads",
          .commands = {{.name = "workload",
                        .alias = "workloads",
                        .summary = "Wait until workloads are in a state",
                        .details = "Ends with 0 once all of them are there, and with 1 when the "
                                   "time is over; what is missing is then said.",
                        .options = {{.letter = 0,
                                     .name = "for",
                                     .value = "STATE",
                                     .help = "What to wait for",
                                     .choices = {"running", "succeeded", "failed", "removed"},
                                     .is_required = true},
                                    {.letter = 0,
                                     .name = "timeout",
                                     .value = "DURATION",
                                     .help = "Give up after this time, such as 500ms, 30s or 5m",
                                     .fallback = "never"}},
                        .arguments = {{.label = kWorkload,
                                       .help = "The workloads",
                                       .kind = WordKind::kWorkload,
                                       .is_required = true,
                                       .takes_many = true}},
                        .examples = {{"ank wait workload --for=running --timeout 30s nginx",
                                      "wait until it runs"}}}}};
}

CommandSpec describe_commands() {
  return {.name = "describe",
          .summary = "Show all about workloads or agents",
          .commands = {{.name = "workload",
                        .alias = "workloads",
                        .summary = "Show what a workload shall be, what it is, and why",
                        .arguments = {{.label = kWorkload,
                                       .help = "The workloads",
                                       .kind = WordKind::kWorkload,
                                       .is_required = true,
                                       .takes_many = true}}},
                       {.name = "agent",
                        .alias = "agents",
                        .summary = "Show an agent and its workloads",
                        .arguments = {{.label = "AGENT_NAME",
                                       .help = "The agents",
                                       .kind = WordKind::kAgent,
                                       .is_required = true,
                                       .takes_many = true}}}}};
}

CommandSpec explain_command() {
  return {.name = "explain",
          .summary = "Explain a field of manifests",
          .details = kExplain,
          .arguments = {{.label = "FIELD",
                         .help = "The field, such as workload.restartPolicy; none for the whole",
                         .kind = WordKind::kManifestField}},
          .examples = {{"ank explain", "see the top level of manifests"},
                       {"ank explain workload", "see the fields of a workload"},
                       {"ank explain workload.dependencies", "read about one field"}}};
}

CommandSpec schema_command() {
  return {.name = "schema",
          .summary = "Print the JSON Schema of manifests",
          .details = "Draft 07, for editors and other tools. Needs no server.",
          .examples = {{"ank schema > ankaios.schema.json", "keep it in a file"}}};
}

// -- Texts

std::string spelled(const OptionSpec& option) {
  std::string text = option.letter == 0 ? "    " : concat("-", std::string(1, option.letter));
  if (!option.name.empty()) text += concat(option.letter == 0 ? "--" : ", --", option.name);
  if (!option.value.empty()) text += concat(" <", option.value, ">");
  return text;
}

std::string spelled(const ArgumentSpec& argument) {
  return concat(argument.is_required ? "<" : "[", argument.label, argument.is_required ? ">" : "]",
                argument.takes_many ? "..." : "");
}

std::string explained(const OptionSpec& option) {
  std::string text(option.help);
  if (!option.choices.empty())
    text += concat(
        " [possible values: ",
        join(std::vector<std::string>(option.choices.begin(), option.choices.end()), ", "), "]");
  if (!option.variable.empty()) text += concat(" [env: ", option.variable, "]");
  if (!option.fallback.empty()) text += concat(" [default: ", option.fallback, "]");
  return text;
}

// One entry of a list: a name, and what it means beside it or below.
std::string entry(std::string_view name, std::string_view help) {
  std::string line = concat("  ", name);
  if (line.size() + 2 > kHelpColumn)
    line += "\n" + std::string(kHelpColumn, ' ');
  else
    line.resize(kHelpColumn, ' ');
  return concat(line, help, "\n");
}

}  // namespace

const CommandSpec& command_table() {
  static const CommandSpec kTable{
      .name = "ank",
      .summary = "Applies manifests to an Ankaios server and shows its state",
      .details = kAnk,
      .options = global_options(),
      .commands = {get_commands(), set_commands(), delete_commands(), run_commands(),
                   apply_command(), logs_command(), plan_command(), wait_commands(),
                   describe_commands(), explain_command(), schema_command()}};
  return kTable;
}

const CommandSpec* command_below(const CommandSpec& command, std::string_view word) {
  for (const auto& below : command.commands)
    if (word == below.name || (!below.alias.empty() && word == below.alias)) return &below;
  return nullptr;
}

std::string usage_of(std::string_view path, const CommandSpec& command) {
  std::string usage(path);
  const auto is_optional = [](const OptionSpec& option) { return !option.is_required; };
  if (std::any_of(command.options.begin(), command.options.end(), is_optional))
    usage += " [OPTIONS]";
  for (const auto& option : command.options)
    if (option.is_required) usage += concat(" --", option.name, " <", option.value, ">");
  for (const auto& argument : command.arguments) usage += concat(" ", spelled(argument));
  if (!command.commands.empty()) usage += " <COMMAND>";
  return usage;
}

std::string help_of(std::string_view path, const CommandSpec& command) {
  std::string text = concat(command.summary, "\n");
  if (!command.details.empty()) text += "\n" + indented(command.details, 0, kHelpWidth);
  text += concat("\nUsage: ", usage_of(path, command), "\n");
  if (!command.commands.empty()) {
    text += "\nCommands:\n";
    for (const auto& below : command.commands) text += entry(below.name, below.summary);
    text += entry("help", "Print help of a command");
  }
  if (!command.arguments.empty()) {
    text += "\nArguments:\n";
    for (const auto& argument : command.arguments) text += entry(spelled(argument), argument.help);
  }
  text += "\nOptions:\n";
  for (const auto& option : command.options) text += entry(spelled(option), explained(option));
  text += entry("-h, --help", "Print help");
  if (&command == &command_table()) text += entry("-V, --version", "Print version");
  if (!command.examples.empty()) {
    text += "\nExamples:\n";
    for (const auto& example : command.examples)
      text += concat("  ", example.words, "\n      ", example.what, "\n");
  }
  return text;
}

}  // namespace tiphys::cli
