#include "model/workload.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys {
namespace {

// [impl->swdd~api-supports-restart-policies~1]
constexpr std::array<std::pair<std::string_view, RestartPolicy>, 3> kRestartPolicies{{
    {"NEVER", RestartPolicy::kNever},
    {"ON_FAILURE", RestartPolicy::kOnFailure},
    {"ALWAYS", RestartPolicy::kAlways},
}};

constexpr std::array<std::pair<std::string_view, AddCondition>, 3> kAddConditions{{
    {"ADD_COND_RUNNING", AddCondition::kRunning},
    {"ADD_COND_SUCCEEDED", AddCondition::kSucceeded},
    {"ADD_COND_FAILED", AddCondition::kFailed},
}};

constexpr std::array<std::pair<std::string_view, DeleteCondition>, 2> kDeleteConditions{{
    {"DEL_COND_RUNNING", DeleteCondition::kRunning},
    {"DEL_COND_NOT_PENDING_NOR_RUNNING", DeleteCondition::kNotPendingNorRunning},
}};

template <class Words>
auto parse_word(const Words& words, std::string_view text) -> Result<decltype(words[0].second)> {
  std::string expected;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    expected += concat(expected.empty() ? "" : ", ", word);
  }
  return fail(Code::kInvalidArgument,
              concat("unknown value '", text, "', expected one of ", expected));
}

template <class Value>
Read<Value> read_word(const Tree& tree, const Path& path,
                      Result<Value> (*parse)(std::string_view)) {
  if (const auto* number = tree.number())
    return misread(path, "unknown enumeration value " + std::to_string(*number));
  TIPHYS_READ(const std::string text, read_string(tree, path));
  auto value = parse(text);
  if (!value) return misread(path, value.error().message);
  return *value;
}

Tree tree_of(const std::map<std::string, std::string>& map) {
  Tree::Map entries;
  for (const auto& [key, value] : map) entries = entries.set(key, value);
  return entries;
}

Tree tree_of(const std::map<std::string, AddCondition>& dependencies) {
  Tree::Map entries;
  for (const auto& [name, condition] : dependencies)
    entries = entries.set(name, to_string(condition));
  return entries;
}

Tree tree_of(const std::vector<File>& files) {
  Tree::List list;
  for (const auto& file : files)
    list.emplace_back(
        Tree::Map()
            .set("mountPoint", file.mount_point)
            .set(file.encoding == File::Encoding::kText ? "data" : "binaryData", file.content));
  return list;
}

Tree tree_of(const std::vector<AccessRule>& rules) {
  Tree::List list;
  for (const auto& rule : rules) list.push_back(to_tree(rule));
  return list;
}

Tree tree_of(const ControlInterfaceAccess& access, Empties empties) {
  Tree::Map entries;
  if (empties == Empties::kKeep || !access.allow_rules.empty())
    entries = entries.set("allowRules", tree_of(access.allow_rules));
  if (empties == Empties::kKeep || !access.deny_rules.empty())
    entries = entries.set("denyRules", tree_of(access.deny_rules));
  return entries;
}

// One row per field of a workload: its key, whether it holds nothing, and its value.
struct FieldRow {
  std::string_view key;
  bool (*is_empty)(const Workload&);
  Tree (*value)(const Workload&, Empties);
};

constexpr bool never(const Workload&) { return false; }

constexpr std::array<FieldRow, 9> kFields{{
    {"agent", never, [](const Workload& w, Empties) { return Tree(w.agent); }},
    {"restartPolicy", never,
     [](const Workload& w, Empties) { return Tree(to_string(w.restart_policy)); }},
    {"dependencies", [](const Workload& w) { return w.dependencies.empty(); },
     [](const Workload& w, Empties) { return tree_of(w.dependencies); }},
    {"tags", [](const Workload& w) { return w.tags.empty(); },
     [](const Workload& w, Empties) { return tree_of(w.tags); }},
    {"runtime", never, [](const Workload& w, Empties) { return Tree(w.runtime); }},
    {"runtimeConfig", never, [](const Workload& w, Empties) { return Tree(w.runtime_config); }},
    {"controlInterfaceAccess", [](const Workload& w) { return w.access.empty(); },
     [](const Workload& w, Empties empties) { return tree_of(w.access, empties); }},
    {"configs", [](const Workload& w) { return w.configs.empty(); },
     [](const Workload& w, Empties) { return tree_of(w.configs); }},
    {"files", [](const Workload& w) { return w.files.empty(); },
     [](const Workload& w, Empties) { return tree_of(w.files); }},
}};

Read<std::map<std::string, std::string>> read_string_map(const Tree& tree, const Path& path) {
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  std::map<std::string, std::string> map;
  std::optional<FieldError> error;
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    auto text = at(path, key, read_string(value, {}));
    if (text)
      map.emplace_hint(map.end(), key, *std::move(text));
    else if (!error)
      error = std::move(text).error();
  });
  if (error) return tl::unexpected<FieldError>(*std::move(error));
  return map;
}

Read<std::map<std::string, AddCondition>> read_dependencies(const Tree& tree, const Path& path) {
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  std::map<std::string, AddCondition> dependencies;
  std::optional<FieldError> error;
  tree.entries().for_each([&](const std::string& name, const Tree& value) {
    auto condition = read_word(value, path.child(name), parse_add_condition);
    if (condition)
      dependencies.emplace_hint(dependencies.end(), name, *condition);
    else if (!error)
      error = std::move(condition).error();
  });
  if (error) return tl::unexpected<FieldError>(*std::move(error));
  return dependencies;
}

Read<File> read_file(const Tree& tree, const Path& path) {
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  File file;
  TIPHYS_READ(file.mount_point, read_required_string(tree, path, "mountPoint"));
  const auto data = tree.child("data");
  const auto binary = tree.child("binaryData");
  if (data.has_value() == binary.has_value())
    return misread(path, data ? "both `data` and `binaryData` are given, expected one of them"
                              : "data did not match any variant of untagged enum FileContentSpec");
  file.encoding = data ? File::Encoding::kText : File::Encoding::kBase64;
  TIPHYS_READ(file.content, data ? read_string(*data, path.child("data"))
                                 : read_string(*binary, path.child("binaryData")));
  return file;
}

template <class Item>
Read<std::vector<Item>> read_list(const Tree& tree, const Path& path,
                                  Read<Item> (*read)(const Tree&, const Path&)) {
  const auto* list = tree.list();
  if (list == nullptr) return misread(path, concat("expected a list, found ", tree.kind()));
  std::vector<Item> items;
  for (const auto& element : *list) {
    TIPHYS_READ(Item item, read(element, path.child(std::to_string(items.size()))));
    items.push_back(std::move(item));
  }
  return items;
}

Read<ControlInterfaceAccess> read_access(const Tree& tree, const Path& path) {
  ControlInterfaceAccess access;
  if (tree.is_null()) return access;
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  if (const auto rules = tree.child("allowRules")) {
    TIPHYS_READ(access.allow_rules, read_list(*rules, path.child("allowRules"), read_access_rule));
  }
  if (const auto rules = tree.child("denyRules")) {
    TIPHYS_READ(access.deny_rules, read_list(*rules, path.child("denyRules"), read_access_rule));
  }
  return access;
}

}  // namespace

std::string_view to_string(RestartPolicy policy) {
  return kRestartPolicies[static_cast<std::size_t>(policy)].first;
}
Result<RestartPolicy> parse_restart_policy(std::string_view text) {
  return parse_word(kRestartPolicies, text);
}

std::string_view to_string(AddCondition condition) {
  return kAddConditions[static_cast<std::size_t>(condition)].first;
}
Result<AddCondition> parse_add_condition(std::string_view text) {
  return parse_word(kAddConditions, text);
}

std::string_view to_string(DeleteCondition condition) {
  return kDeleteConditions[static_cast<std::size_t>(condition)].first;
}

// [impl->swdd~api-add-conditions-for-dependencies~1]
bool is_fulfilled(AddCondition condition, Phase dependency) {
  constexpr std::array<Phase, 3> kAwaited{Phase::kRunningOk, Phase::kSucceededOk,
                                          Phase::kFailedExecFailed};
  return kAwaited[static_cast<std::size_t>(condition)] == dependency;
}

// [impl->swdd~api-delete-conditions-for-dependencies~1]
bool is_fulfilled(DeleteCondition condition, Phase dependent) {
  if (dependent == Phase::kPendingWaitingToStart) return true;
  const bool running = dependent == Phase::kRunningOk;
  return condition == DeleteCondition::kRunning ? running : !running && !is_pending(dependent);
}

std::optional<Tree> Workload::field(std::string_view key) const {
  for (const auto& row : kFields)
    if (row.key == key)
      return row.is_empty(*this) ? std::nullopt : std::optional(row.value(*this, Empties::kOmit));
  return std::nullopt;
}

Tree::Map Workload::fields(Empties empties) const {
  Tree::Map map;
  for (const auto& row : kFields)
    if (empties == Empties::kKeep || !row.is_empty(*this))
      map = map.set(std::string(row.key), row.value(*this, empties));
  return map;
}

bool operator==(const Workload& a, const Workload& b) {
  return a.agent == b.agent && a.runtime == b.runtime && a.runtime_config == b.runtime_config &&
         a.restart_policy == b.restart_policy && a.dependencies == b.dependencies &&
         a.tags == b.tags && a.configs == b.configs && a.files == b.files && a.access == b.access;
}

Read<WorkloadPtr> read_workload(const Tree& tree, const Path& path) {
  if (auto workload = tree.object<Workload>()) return workload;
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  auto workload = std::make_shared<Workload>();
  TIPHYS_READ(workload->agent, read_required_string(tree, path, "agent"));
  TIPHYS_READ(workload->runtime, read_required_string(tree, path, "runtime"));
  TIPHYS_READ(const std::string runtime_config, read_required_string(tree, path, "runtimeConfig"));
  workload->runtime_config = trim(runtime_config);
  const Tree::Map fields = tree.entries();
  if (const Tree* value = fields.find("restartPolicy")) {
    TIPHYS_READ(workload->restart_policy,
                at(path, "restartPolicy", read_word(*value, {}, parse_restart_policy)));
  }
  if (const Tree* value = fields.find("dependencies")) {
    TIPHYS_READ(workload->dependencies, at(path, "dependencies", read_dependencies(*value, {})));
  }
  if (const Tree* value = fields.find("tags"); value != nullptr && !value->is_null()) {
    TIPHYS_READ(workload->tags, at(path, "tags", read_string_map(*value, {})));
  }
  if (const Tree* value = fields.find("configs")) {
    TIPHYS_READ(workload->configs, at(path, "configs", read_string_map(*value, {})));
  }
  if (const Tree* value = fields.find("files")) {
    TIPHYS_READ(workload->files, at(path, "files", read_list(*value, {}, read_file)));
  }
  if (const Tree* value = fields.find("controlInterfaceAccess")) {
    TIPHYS_READ(workload->access, at(path, "controlInterfaceAccess", read_access(*value, {})));
  }
  return workload;
}

// [impl->swdd~api-workload-needs-control-interface~1]
bool needs_control_interface(const Workload& workload) {
  return !workload.access->allow_rules.empty();
}

Result<WorkloadSpecPtr> WorkloadSpec::make(std::string_view name, WorkloadPtr rendered) {
  TIPHYS_CHECK(rendered != nullptr, "a spec is made of a workload");
  InstanceName instance;
  TIPHYS_TRY(instance.workload, parse_workload_name(name));
  TIPHYS_TRY(instance.agent, parse_agent_name(rendered->agent));
  TIPHYS_REQUIRE(check_access_rules(rendered->access));
  instance.id = workload_id_of(rendered->runtime_config);
  return WorkloadSpecPtr(new WorkloadSpec(std::move(instance), std::move(rendered)));
}

Result<WorkloadSpecPtr> WorkloadSpec::received(InstanceName instance, WorkloadPtr workload) {
  TIPHYS_CHECK(workload != nullptr, "a spec is made of a workload");
  TIPHYS_REQUIRE(parse_instance_name(to_string(instance)));
  TIPHYS_REQUIRE(check_access_rules(workload->access));
  return WorkloadSpecPtr(new WorkloadSpec(std::move(instance), std::move(workload)));
}

WorkloadSpecPtr WorkloadSpec::unchecked(InstanceName instance, WorkloadPtr workload) {
  TIPHYS_CHECK(workload != nullptr, "a spec is made of a workload");
  return WorkloadSpecPtr(new WorkloadSpec(std::move(instance), std::move(workload)));
}

}  // namespace tiphys
