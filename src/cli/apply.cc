#include "cli/apply.h"

#include <cstdint>
#include <set>
#include <utility>

#include "base/strings.h"
#include "cli/manifest_check.h"
#include "model/api_version.h"
#include "model/names.h"
#include "text/yaml.h"

namespace tiphys::cli {
namespace {

// A tree is walked recursively, and peers refuse messages that nest deeper than a hundred levels.
constexpr YamlLimits kLimits{.max_depth = 90};

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// The sentence, then where: " (manifest.yaml:4:5)".
tl::unexpected<Error> invalid_at(const std::string& file, Position position,
                                 std::string_view sentence) {
  return invalid(concat(sentence, " (", file, ":", std::to_string(position.line), ":",
                        std::to_string(position.column), ")"));
}

ApiVersion version_of(const YamlNode& root) {
  const YamlNode* version = root.find("apiVersion");
  const bool is_old = version != nullptr && version->kind == YamlNode::Kind::kScalar &&
                      version->text == to_string(ApiVersion::kV01);
  return is_old ? ApiVersion::kV01 : ApiVersion::kV1;
}

// What stock refuses as a key, at any depth: all but words and numbers.
bool is_misnamed(const YamlEntry& entry) {
  const bool may_be = entry.key_type == YamlType::kString || entry.key_type == YamlType::kNumber;
  return !may_be || !has_only_name_characters(entry.key);
}

const YamlEntry* find_misnamed_key(const YamlNode& node) {
  for (const auto& item : node.items)
    if (const auto* found = find_misnamed_key(item)) return found;
  for (const auto& entry : node.entries) {
    if (is_misnamed(entry)) return &entry;
    if (const auto* found = find_misnamed_key(entry.value)) return found;
  }
  return nullptr;
}

std::string complaint_about(const YamlEntry& key) {
  if (!has_only_name_characters(key.key))
    return concat("Invalid mapping key '", key.key,
                  "': Expected to have characters in [a-zA-Z0-9_-].");
  return concat("Unsupported mapping key '", key.key, "': expected a string, found ",
                kind(key.key_type), "; quotes make it a string.");
}

// -- To trees. What has no place in a message is left out later, when the message is made.

enum class Scalars : std::uint8_t { kAsText, kAsTheyLook };

Tree tree_of(const YamlNode& node, Scalars scalars);

Tree tree_of_scalar(const YamlNode& node, Scalars scalars) {
  switch (resolve(node)) {
    case YamlType::kNull:
      return {};
    case YamlType::kString:
      return node.text;
    case YamlType::kBoolean:
    case YamlType::kNumber:
      break;
  }
  if (scalars == Scalars::kAsText) return node.text;
  const auto number = to_tree(node);
  return number ? *number : Tree();
}

Tree tree_of(const YamlNode& node, Scalars scalars) {
  if (node.kind == YamlNode::Kind::kScalar) return tree_of_scalar(node, scalars);
  if (node.kind == YamlNode::Kind::kList) {
    Tree::List list;
    for (const auto& item : node.items) list.push_back(tree_of(item, scalars));
    return list;
  }
  Tree::Map map;
  for (const auto& entry : node.entries) map = map.set(entry.key, tree_of(entry.value, scalars));
  return map;
}

// The list of key and value of v0.1, as the map of v1.
Tree tags_of_list(const Tree::List& list) {
  Tree::Map tags;
  for (const auto& item : list) {
    const auto key = item.child("key");
    const auto value = item.child("value");
    if (key && key->string() != nullptr && value) tags = tags.set(*key->string(), *value);
  }
  return tags;
}

Tree::List rules_of_v01(const Tree::List& rules) {
  Tree::List renamed;
  for (const auto& rule : rules) {
    const Tree::Map fields = rule.entries();
    const Tree* masks = fields.find("filterMask");
    renamed.push_back(
        masks == nullptr ? rule : Tree(fields.erase("filterMask").set("filterMasks", *masks)));
  }
  return renamed;
}

Tree workload_of_v01(const Tree& workload) {
  Tree::Map fields = workload.entries();
  if (const Tree* tags = fields.find("tags"); tags != nullptr && tags->list() != nullptr)
    fields = fields.set("tags", tags_of_list(*tags->list()));
  if (const Tree* access = fields.find("controlInterfaceAccess"); access != nullptr) {
    Tree::Map lists = access->entries();
    for (const char* key : {"allowRules", "denyRules"})
      if (const Tree* rules = lists.find(key); rules != nullptr && rules->list() != nullptr)
        lists = lists.set(key, rules_of_v01(*rules->list()));
    fields = fields.set("controlInterfaceAccess", lists);
  }
  return fields;
}

// -- One manifest after the other

class Planner {
 public:
  explicit Planner(const ApplyOptions& options) : options_(options) {}

  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  Status add(const ManifestText& manifest) {
    const auto parsed = parse_yaml(manifest.text, kLimits);
    if (!parsed)
      return invalid(
          concat("Invalid manifest data provided: ", to_string(parsed.error(), manifest.name)));
    const YamlNode& root = *parsed;
    const ApiVersion version = version_of(root);
    if (version == ApiVersion::kV01)
      warnings_.push_back(
          concat("Warning: The manifest API version '", to_string(version),
                 "' is deprecated and support will be removed in future releases. Please update to "
                 "the latest API version '",
                 kCurrentApiVersion, "'."));
    TIPHYS_REQUIRE(check(root, version, manifest.name));
    TIPHYS_REQUIRE(add_entries(root, "workloads", version, manifest.name));
    return add_entries(root, "configs", version, manifest.name);
  }

  [[nodiscard]] std::optional<UpdateStateRequest> request() const {
    if (masks_.empty()) return std::nullopt;
    UpdateStateRequest request{Tree::Map(), {masks_.begin(), masks_.end()}};
    if (options_.deletes) return request;
    auto state = Tree::Map().set("apiVersion", kCurrentApiVersion);
    if (!workloads_.empty()) state = state.set("workloads", workloads_);
    if (!configs_.empty()) state = state.set("configs", configs_);
    request.new_state = Tree::Map().set("desiredState", state);
    return request;
  }

 private:
  static Status check(const YamlNode& root, ApiVersion version, const std::string& file) {
    const auto violations = find_violations(root, version);
    if (!violations.empty() && version == ApiVersion::kV01)
      return invalid(concat("Invalid manifest data provided: ", to_string(violations[0], file)));
    if (!violations.empty()) {
      std::string message = "Manifest schema validation failed:";
      for (const auto& violation : violations) message += concat("\n", to_string(violation, file));
      return invalid(std::move(message));
    }
    if (const auto* entry = find_misnamed_key(root))
      return invalid_at(file, entry->position, complaint_about(*entry));
    return version == ApiVersion::kV01 ? check_tag_lists(root, file) : Status();
  }

  static Status check_tag_lists(const YamlNode& root, const std::string& file) {
    const YamlNode* workloads = root.find("workloads");
    if (workloads == nullptr) return {};
    for (const auto& workload : workloads->entries)
      if (const YamlNode* tags = workload.value.find("tags");
          tags != nullptr && tags->kind == YamlNode::Kind::kMap)
        return invalid_at(
            file, tags->position,
            concat("For API version 'v0.1', tags must be specified as a sequence (list "
                   "of key-value entries). Found tags as mapping for workload '",
                   workload.key, "'."));
    return {};
  }

  Status add_entries(const YamlNode& root, const std::string& kind, ApiVersion version,
                     const std::string& file) {
    const YamlNode* map = root.find(kind);
    if (map == nullptr) return {};
    for (const auto& entry : map->entries) {
      if (entry.key_type == YamlType::kNumber)
        return invalid_at(file, entry.position,
                          concat("The provided path does not exist! The name ", entry.key,
                                 " is a number; quotes make it a string."));
      if (!masks_.insert(concat("desiredState.", kind, ".", entry.key)).second)
        return invalid_at(file, entry.position,
                          concat("Multiple workloads with the same name '", entry.key, "' found!"));
      if (options_.deletes) continue;
      if (kind == "configs")
        add_config(entry);
      else
        TIPHYS_REQUIRE(add_workload(entry, version, file));
    }
    return {};
  }

  Status add_workload(const YamlEntry& entry, ApiVersion version, const std::string& file) {
    if (!options_.agent && entry.value.find("agent") == nullptr)
      return invalid_at(file, entry.position,
                        "No agent name specified -> use '--agent' option to specify!");
    Tree workload = tree_of(entry.value, Scalars::kAsText);
    if (version == ApiVersion::kV01) workload = workload_of_v01(workload);
    if (options_.agent) workload = Tree(workload.entries().set("agent", *options_.agent));
    workloads_ = workloads_.set(entry.key, std::move(workload));
    return {};
  }

  // In v0.1 an item of another type is no item: its mask then stands for nothing.
  void add_config(const YamlEntry& entry) {
    Tree item = tree_of(entry.value, Scalars::kAsTheyLook);
    if (item.string() != nullptr || item.list() != nullptr || item.is_map())
      configs_ = configs_.set(entry.key, std::move(item));
  }

  const ApplyOptions& options_;
  std::vector<std::string> warnings_;
  std::set<std::string> masks_;
  Tree::Map workloads_;
  Tree::Map configs_;
};

// The fields of a workload that a peer would not take for absent when they are of the wrong type.
Status check_state_workloads(const YamlNode& workloads, const std::string& file) {
  for (const auto& workload : workloads.entries)
    for (const char* key : {"agent", "runtime", "runtimeConfig", "restartPolicy"}) {
      const YamlNode* value = workload.value.find(key);
      if (value == nullptr) continue;
      const bool is_text =
          value->kind == YamlNode::Kind::kScalar && resolve(*value) == YamlType::kString;
      if (!is_text)
        return invalid(to_string(TextError{value->position,
                                           {{"desiredState", "workloads", workload.key, key}},
                                           concat("expected a string, found ", kind(*value))},
                                 file));
    }
  return {};
}

}  // namespace

ApplyPlan plan_apply(const std::vector<ManifestText>& manifests, const ApplyOptions& options) {
  Planner planner(options);
  Status status;
  for (const auto& manifest : manifests) {
    status = planner.add(manifest);
    if (!status) break;
  }
  if (!status) return {planner.warnings(), fail(status.error())};
  return {planner.warnings(), planner.request()};
}

Result<Tree> read_state_object(const ManifestText& text) {
  const auto parsed = parse_yaml(text.text, kLimits);
  if (!parsed) return invalid(to_string(parsed.error(), text.name));
  const YamlNode& root = *parsed;
  if (root.kind == YamlNode::Kind::kScalar && resolve(root) == YamlType::kNull) return Tree::Map();
  if (root.kind != YamlNode::Kind::kMap)
    return invalid(to_string(
        TextError{root.position, {}, concat("expected a map, found ", kind(root))}, text.name));
  if (const YamlNode* state = root.find("desiredState"); state != nullptr) {
    if (state->find("apiVersion") == nullptr)
      return invalid(to_string(
          TextError{state->position, {{"desiredState"}}, "missing field `apiVersion`"}, text.name));
    if (const YamlNode* workloads = state->find("workloads"))
      TIPHYS_REQUIRE(check_state_workloads(*workloads, text.name));
  }
  return tree_of(root, Scalars::kAsTheyLook);
}

}  // namespace tiphys::cli
