#include "text/manifest_fields.h"

#include <algorithm>

#include "base/strings.h"
#include "model/access_rules.h"
#include "model/api_version.h"
#include "model/names.h"
#include "model/workload.h"

namespace tiphys {
namespace {

using Kind = FieldSpec::Kind;

// -- Rules of texts

constexpr std::size_t kMaxLogRuleName = kMaxNameLength + 1;  // the '*' may stand for nothing

// Takes the longest beginning of name characters off the text.
std::size_t skip_name(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && has_only_name_characters(text.substr(size, 1))) ++size;
  text.remove_prefix(size);
  return size;
}

bool skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength && has_only_name_characters(text);
}

// Name characters with any number of {{alias}} or {{alias.field}} between them.
bool is_agent(std::string_view text) {
  while (true) {
    skip_name(text);
    if (text.empty()) return true;
    if (!skip(text, "{{")) return false;
    do {
      if (skip_name(text) == 0) return false;
    } while (skip(text, "."));
    if (!skip(text, "}}")) return false;
  }
}

bool is_filter_mask(std::string_view text) { return check_filter_mask(text).has_value(); }

// A server is stricter by one character where there is no '*'.
bool is_log_rule_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxLogRuleName) return false;
  skip_name(text);
  skip(text, "*");
  return has_only_name_characters(text);
}

constexpr TextRule kName{.noun = "name",
                         .pattern = "^[a-zA-Z0-9_-]+$",
                         .min_length = 1,
                         .max_length = kMaxNameLength,
                         .fits = is_name,
                         .refusal = "'{}' is no name.",
                         .sentence = kNameConstraint};
constexpr TextRule kAgent{
    .noun = "agent name",
    .pattern = R"(^(?:[a-zA-Z0-9_-]*\{\{[a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*\}\})*[a-zA-Z0-9_-]*$)",
    .fits = is_agent,
    .refusal = "'{}' is no agent name.",
    .sentence =
        "Only a-z, A-Z, 0-9 chars, underscore (_), hyphen (-) and templates {{alias}} "
        "allowed."};
constexpr TextRule kFilterMask{.noun = "mask",
                               .pattern = R"(^(?:\*|[a-zA-Z0-9_-]+)(?:\.(?:\*|[a-zA-Z0-9_-]+))*$)",
                               .fits = is_filter_mask,
                               .refusal = "'{}' is no mask; expected",
                               .sentence = "names or '*', joined by '.'"};
constexpr TextRule kLogRuleName{
    .noun = "name",
    .pattern = R"(^(?:\*|[a-zA-Z0-9_-]*\*[a-zA-Z0-9_-]*|[a-zA-Z0-9_-]+)$)",
    .min_length = 1,
    .max_length = kMaxLogRuleName,
    .fits = is_log_rule_name,
    .refusal = "'{}' matches no workload; expected",
    .sentence = "a name with at most one '*'"};

// -- Fields

std::vector<WordSpec> restart_policies() {
  return {{to_string(RestartPolicy::kNever), "it stays ended"},
          {to_string(RestartPolicy::kOnFailure),
           "it is started again if it failed: its exit code was not 0"},
          {to_string(RestartPolicy::kAlways), "it is started again, however it ended"}};
}

std::vector<WordSpec> add_conditions() {
  return {{to_string(AddCondition::kRunning), "the other workload runs"},
          {to_string(AddCondition::kSucceeded), "the other workload has ended with exit code 0"},
          {to_string(AddCondition::kFailed),
           "the other workload has ended with an exit code other than 0"}};
}

std::vector<WordSpec> operations() {
  return {{to_string(Operation::kNothing), "neither of them"},
          {to_string(Operation::kRead), "reading the state, and following its changes"},
          {to_string(Operation::kWrite), "changing the state"},
          {to_string(Operation::kReadWrite), "both of them"}};
}

std::vector<FieldSpec> rule_fields() {
  return {{.name = kTypeKey,
           .kind = Kind::kWord,
           .summary = "What kind of requests the rule is about",
           .example = "type: StateRule",
           .is_required = true,
           .words = {{"StateRule", "the state: needs `operation` and `filterMasks`"},
                     {"LogRule", "logs of workloads: needs `workloadNames`"}}},
          {.name = "operation",
           .kind = Kind::kWord,
           .summary = "What may, or may not, be done with the parts of the state",
           .example = "operation: Read",
           .definition = "readWriteEnum",
           .is_required = true,
           .words = operations(),
           .of_type = "StateRule"},
          {.name = "filterMasks",
           .kind = Kind::kList,
           .summary = "The parts of the state that the rule is about",
           .details = "A mask names a part of the state and all that is below it: keys joined by "
                      "'.', where '*' stands for any key. A mask that is '*' alone, or begins "
                      "with it, is for everything below.",
           .example = "filterMasks:\n- desiredState.workloads.web\n- workloadStates",
           .is_required = true,
           .below = {{.name = "",
                      .summary = "A mask, such as desiredState.workloads.*.tags",
                      .rule = &kFilterMask}},
           .of_type = "StateRule"},
          {.name = "workloadNames",
           .kind = Kind::kList,
           .summary = "The workloads whose logs the rule is about",
           .details = "Each is the name of a workload; one '*' in it stands for any characters.",
           .example = "workloadNames:\n- web\n- backend-*",
           .is_required = true,
           .below = {{.name = "",
                      .summary = "The name of a workload, with at most one '*'",
                      .rule = &kLogRuleName}},
           .of_type = "LogRule"}};
}

FieldSpec rules(std::string_view name, std::string_view summary, std::string_view details) {
  return {.name = name,
          .kind = Kind::kList,
          .summary = summary,
          .details = details,
          .fallback = "no rules",
          .example = name == "allowRules"
                         ? "allowRules:\n- type: StateRule\n  operation: Read\n  filterMasks:\n"
                           "  - workloadStates\n- type: LogRule\n  workloadNames: ['web*']"
                         : "denyRules:\n- type: StateRule\n  operation: Write\n  filterMasks:\n"
                           "  - desiredState.workloads.watchdog",
          .below = {{.name = "",
                     .kind = Kind::kObject,
                     .summary = "A rule about requests",
                     .definition = "accessRightsRule",
                     .below = rule_fields()}}};
}

FieldSpec control_interface_access() {
  return {.name = "controlInterfaceAccess",
          .kind = Kind::kObject,
          .summary = "What the workload may ask the server for",
          .details =
              "A workload with allow rules finds two pipes in /run/ankaios/control_interface, on "
              "which it can read and change the state and fetch logs. Without them it may do "
              "nothing, and gets no pipes. A request is done if allow rules cover all of it and no "
              "deny rule covers any of it.",
          .fallback = "no access",
          .example =
              "controlInterfaceAccess:\n  allowRules:\n  - type: StateRule\n"
              "    operation: ReadWrite\n    filterMasks:\n    - desiredState.workloads.job",
          .definition = "controlInterfaceAccess",
          .below = {rules("allowRules", "What it may do", "Whatever no rule allows is refused."),
                    rules("denyRules", "What it may not do, even if a rule allows it",
                          "A deny rule wins over every allow rule.")}};
}

FieldSpec files() {
  return {.name = "files",
          .kind = Kind::kList,
          .summary = "Files that the workload finds in its file system",
          .details =
              "The agent writes them before it creates the workload, and mounts each of "
              "them read-only. The runtimes podman and containerd have them.",
          .fallback = "no files",
          .example =
              "files:\n- mountPoint: /etc/nginx/extra.conf\n  data: |\n    gzip on;\n"
              "- mountPoint: /usr/share/logo.png\n  binaryData: iVBORw0KGgo=",
          .below = {{.name = "",
                     .kind = Kind::kObject,
                     .summary = "A file, with either `data` or `binaryData`",
                     .definition = "file",
                     .below = {{.name = "mountPoint",
                                .summary = "Where the workload sees the file",
                                .details = "An absolute path without '..', with a name at its end.",
                                .example = "mountPoint: /etc/nginx/extra.conf",
                                .is_required = true},
                               {.name = "data",
                                .summary = "What is in the file, as text",
                                .details = "Templates in it are rendered. With `binaryData` in the "
                                           "same file, the text counts.",
                                .example = "data: |\n  gzip on;"},
                               {.name = "binaryData",
                                .summary = "What is in the file, as base64",
                                .details = "With padding; white space around lines is allowed. "
                                           "Templates in it are rendered before it is decoded.",
                                .example = "binaryData: iVBORw0KGgo="}},
                     .needs_one_of = {"data", "binaryData"}}}};
}

FieldSpec workload() {
  return {
      .name = "<workload>",
      .kind = Kind::kObject,
      .summary = "A workload: a container, a pod or whatever its runtime runs",
      .details =
          "Its key is its name, which is the same in tables, commands, logs and the "
          "dependencies of others.",
      .example =
          "web:\n  agent: agent_A\n  runtime: podman\n  restartPolicy: ALWAYS\n"
          "  runtimeConfig: |\n    image: docker.io/library/nginx:latest",
      .definition = "workload",
      .below = {
          {.name = "agent",
           .summary = "The agent that runs it",
           .details =
               "The name that the agent was started with. A workload of an agent that is not "
               "connected waits for it; one whose agent is the empty string is kept and not run. "
               "`ank apply --agent` gives all workloads of a manifest the same agent; without that "
               "option `ank apply` wants the field.\n\n"
               "A workload with `configs` may write {{alias}} here.",
           .fallback = "the agent of ank apply --agent",
           .example = "agent: agent_A",
           .rule = &kAgent},
          {.name = "runtime",
           .summary = "What runs it",
           .details = "`podman` and `containerd` run a container, `podman-kube` a Kubernetes "
                      "manifest in podman. The agent has to have the runtime.",
           .example = "runtime: podman",
           .is_required = true},
          {.name = "runtimeConfig",
           .summary = "What the runtime shall run, in the runtime's own words",
           .details =
               "A text, for podman and containerd with the keys `image`, `generalOptions`, "
               "`commandOptions` and `commandArgs`. White space at both ends does not count. A "
               "change of it replaces the workload.\n\n"
               "A workload with `configs` may use templates here.",
           .example = "runtimeConfig: |\n  image: docker.io/library/nginx:latest\n"
                      "  commandOptions: [\"-p\", \"8080:80\"]",
           .is_required = true},
          {.name = "restartPolicy",
           .kind = Kind::kWord,
           .summary = "What happens when it ends by itself",
           .details = "Ending it with `ank delete`, or replacing it, is not that.",
           .fallback = to_string(RestartPolicy::kNever),
           .example = "restartPolicy: ON_FAILURE",
           .definition = "restartPolicy",
           .words = restart_policies()},
          {.name = "dependencies",
           .kind = Kind::kMap,
           .summary = "Which other workloads it waits for before it is created",
           .details = "The key names the other workload, which may run on another agent and need "
                      "not exist yet; the value says what it has to have reached. Only the start "
                      "waits: what happens to the other one later changes nothing. Workloads that "
                      "wait for each other in a circle are refused.",
           .fallback = "it waits for none",
           .example =
               "dependencies:\n  database: ADD_COND_RUNNING\n  migration: ADD_COND_SUCCEEDED",
           .below = {{.name = "<workload>",
                      .kind = Kind::kWord,
                      .summary = "What the other workload has to have reached",
                      .definition = "addCondition",
                      .words = add_conditions()}}},
          {.name = "tags",
           .kind = Kind::kMap,
           .summary = "Words of your own about it",
           .details = "Any keys with any strings; nothing is made of them. A number or a boolean "
                      "needs quotes.",
           .fallback = "no tags",
           .example = "tags:\n  owner: Team A\n  level: '5'",
           .below = {{.name = "<key>", .summary = "The value of a tag"}}},
          {.name = "configs",
           .kind = Kind::kMap,
           .summary = "Which config items its templates use, and under which names",
           .details =
               "The key is an alias, the value the name of an entry of the manifest's `configs`. "
               "With {{alias}}, `agent`, `runtimeConfig` and the contents of `files` then take the "
               "value in; without this field they are taken as they are. A config item that "
               "changes replaces the workloads whose rendered fields it changes.",
           .fallback = "no templates",
           .example = "configs:\n  port: web_port",
           .rule = &kName,
           .below = {{.name = "<alias>", .summary = "The name of a config item", .rule = &kName}}},
          files(),
          control_interface_access()}};
}

}  // namespace

std::string complaint(const TextRule& rule, std::string_view text) {
  if (text.empty()) return concat("a ", rule.noun, " must not be empty");
  const std::size_t gap = rule.refusal.find("{}");
  return concat(rule.refusal.substr(0, gap), text, rule.refusal.substr(gap + 2), " ",
                rule.sentence);
}

const FieldSpec* FieldSpec::find(std::string_view key) const {
  const auto found = std::find_if(below.begin(), below.end(),
                                  [&](const FieldSpec& field) { return field.name == key; });
  return kind == Kind::kObject && found != below.end() ? &*found : nullptr;
}

const FieldSpec& manifest_fields() {
  static const FieldSpec kManifest{
      .name = "",
      .kind = Kind::kObject,
      .summary = "A manifest: the workloads and configs that shall be",
      .details =
          "YAML or JSON. `ank apply` adds or replaces the workloads and configs that it "
          "names and leaves all others alone. Keys that are not listed here are allowed and "
          "mean nothing.\n\n"
          "Files of the older version v0.1 are still read; in them `tags` is a list of "
          "`key` and `value`, and a rule has `filterMask` in place of `filterMasks`.",
      .example =
          "apiVersion: v1\nworkloads:\n  web:\n    agent: agent_A\n    runtime: podman\n"
          "    runtimeConfig: |\n      image: docker.io/library/nginx:latest",
      .below = {{.name = "apiVersion",
                 .kind = Kind::kWord,
                 .summary = "The version of the format",
                 .example = "apiVersion: v1",
                 .is_required = true,
                 .words = {{kCurrentApiVersion, "the current version"}}},
                {.name = "workloads",
                 .kind = Kind::kMap,
                 .summary = "What shall run, by name",
                 .fallback = "no workloads",
                 .example = "workloads:\n  web:\n    agent: agent_A\n    runtime: podman\n"
                            "    runtimeConfig: |\n      image: docker.io/library/nginx:latest",
                 .definition = "workloadMap",
                 .may_be_null = true,
                 .rule = &kName,
                 .below = {workload()}},
                {.name = "configs",
                 .kind = Kind::kMap,
                 .summary = "Values that workloads share, by name",
                 .details = "A workload takes them in with its own `configs` and templates.",
                 .fallback = "no configs",
                 .example = "configs:\n  web_port: '8080'\n  hosts: [alpha, beta]\n  database:\n"
                            "    user: app\n    name: orders",
                 .definition = "configMap",
                 .may_be_null = true,
                 .rule = &kName,
                 .below = {{.name = "<config>",
                            .kind = Kind::kItem,
                            .summary = "A string, or a list or a map of such items, nested freely",
                            .details = "Keys of maps are names too. A number or a boolean needs "
                                       "quotes.",
                            .example = "database:\n  user: app\n  ports: ['5432', '5433']",
                            .definition = "configItem",
                            .rule = &kName}}}}};
  return kManifest;
}

const std::vector<FieldSpec>& fields_within(const FieldSpec& field) {
  const FieldSpec* inner = &field;
  while (inner->kind == Kind::kMap || inner->kind == Kind::kList) inner = &inner->below.front();
  return inner->below;
}

std::string type_of(const FieldSpec& field) {
  const auto of_many = [&](std::string_view what) {
    return concat(what, " of ", type_of(field.below.front()), "s");
  };
  switch (field.kind) {
    case Kind::kText:
    case Kind::kWord:
      return "string";
    case Kind::kObject:
      return "map";
    case Kind::kMap:
      return field.below.front().kind == Kind::kItem ? "map of config items" : of_many("map");
    case Kind::kList:
      return of_many("list");
    case Kind::kItem:
      break;
  }
  return "string, list or map";
}

std::string requirement_of(const FieldSpec& field, const FieldSpec* parent) {
  if (field.is_required)
    return field.of_type.empty() ? "yes" : concat("yes, with type ", field.of_type);
  if (parent == nullptr) return "no";
  const auto& choices = parent->needs_one_of;
  std::vector<std::string> others;
  for (const auto key : choices)
    if (key != field.name) others.push_back(concat("`", key, "`"));
  const bool is_choice = others.size() < choices.size();
  return is_choice ? concat("this or ", join(others, " or ")) : "no";
}

}  // namespace tiphys
