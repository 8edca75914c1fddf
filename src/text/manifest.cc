#include "text/manifest.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "model/access_rules.h"
#include "model/api_version.h"
#include "model/names.h"
#include "model/workload.h"

namespace tiphys {
namespace {

constexpr std::size_t kMaxWarnings = 20;

// A node that offends; its place and path are looked up once it is reported.
struct Offence {
  const YamlNode* node;
  std::string sentence;
};

template <class T>
using Converted = tl::expected<T, Offence>;

tl::unexpected<Offence> offend(const YamlNode& node, std::string sentence) {
  return tl::unexpected<Offence>(Offence{&node, std::move(sentence)});
}

// The path to a node of the document, found by looking for it: only errors pay for that.
bool find_path(const YamlNode& root, const YamlNode& node, Path& path) {
  if (&root == &node) return true;
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    path.segments.push_back(std::to_string(i));
    if (find_path(root.items[i], node, path)) return true;
    path.segments.pop_back();
  }
  for (const auto& entry : root.entries) {
    path.segments.push_back(entry.key);
    if (find_path(entry.value, node, path)) return true;
    path.segments.pop_back();
  }
  return false;
}

TextError locate(const YamlNode& root, const Offence& offence) {
  TextError error{offence.node->position, {}, offence.sentence};
  find_path(root, *offence.node, error.path);
  return error;
}

enum class Part : std::uint8_t { kKey, kValue };

// Where the last key of a path stands, or its value; where the nearest parent does, if the path
// leads nowhere.
Position find_position(const YamlNode& root, const Path& path, Part part) {
  const YamlNode* node = &root;
  Position position = root.position;
  for (const auto& segment : path.segments) {
    const auto entry =
        std::find_if(node->entries.begin(), node->entries.end(),
                     [&](const YamlEntry& candidate) { return candidate.key == segment; });
    std::size_t index = 0;
    while (index < node->items.size() && std::to_string(index) != segment) ++index;
    if (entry != node->entries.end()) {
      node = &entry->value;
      position = part == Part::kKey ? entry->position : node->position;
    } else if (index < node->items.size()) {
      node = &node->items[index];
      position = node->position;
    } else {
      break;
    }
  }
  return position;
}

using Entries = std::vector<std::pair<std::string, Tree>>;

Tree map_of_entries(Entries entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return Tree::Map::of_sorted(std::move(entries));
}

// Turns nodes into the tree that the model reads. It knows which scalars are taken by their source
// text and which fields there are; whether all that must be there is there, the model says.
class Converter {
 public:
  Converter(const YamlNode& root, ApiVersion version) : root_(root), version_(version) {}

  Converted<Tree> state() {
    return map_of_fields(root_, {{"apiVersion", &Converter::text},
                                 {"workloads", &Converter::workloads},
                                 {"configs", &Converter::configs}});
  }

  [[nodiscard]] std::vector<Offence>& remarks() { return remarks_; }

 private:
  using Convert = Converted<Tree> (Converter::*)(const YamlNode&);
  struct Field {
    std::string_view key;
    Convert convert;
  };

  // A node that is not what is wanted becomes something of its kind, for the model to refuse.
  static Tree unwanted(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kList) return Tree::List();
    if (node.kind == YamlNode::Kind::kMap) return Tree::Map();
    switch (resolve(node)) {
      case YamlType::kNull:
        return {};
      case YamlType::kBoolean:
        return true;
      case YamlType::kNumber:
        return 0U;
      case YamlType::kString:
        break;
    }
    return node.text;
  }

  // The source text, whatever a plain scalar looks like.
  Converted<Tree> text(const YamlNode& node) {
    return node.kind == YamlNode::Kind::kScalar ? Tree(node.text) : unwanted(node);
  }

  // A scalar that looks like something else than a string is not taken for one.
  Converted<Tree> string(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kScalar) return unwanted(node);
    const YamlType type = resolve(node);
    if (type == YamlType::kString) return Tree(node.text);
    if (node.text.empty()) return offend(node, "expected a string, found nothing");
    return offend(node, concat("expected a string, found ", kind(type), " (", node.text,
                               "); quotes make it a string"));
  }

  Converted<Tree> map_of(const YamlNode& node, Convert convert) {
    if (node.kind != YamlNode::Kind::kMap) return unwanted(node);
    Entries entries;
    entries.reserve(node.entries.size());
    for (const auto& entry : node.entries) {
      auto value = (this->*convert)(entry.value);
      if (!value) return value;
      entries.emplace_back(entry.key, *std::move(value));
    }
    return map_of_entries(std::move(entries));
  }

  Converted<Tree> list_of(const YamlNode& node, Convert convert) {
    if (node.kind != YamlNode::Kind::kList) return unwanted(node);
    Tree::List list;
    for (const auto& item : node.items) {
      auto value = (this->*convert)(item);
      if (!value) return value;
      list.push_back(*std::move(value));
    }
    return Tree(std::move(list));
  }

  Converted<Tree> map_of_fields(const YamlNode& node, std::initializer_list<Field> fields) {
    if (node.kind != YamlNode::Kind::kMap) return unwanted(node);
    Entries entries;
    entries.reserve(node.entries.size());
    for (const auto& entry : node.entries) {
      const auto* field = std::find_if(fields.begin(), fields.end(), [&](const Field& candidate) {
        return candidate.key == entry.key;
      });
      if (field == fields.end()) {
        remark(entry.value, "unknown field, ignored");
        continue;
      }
      auto value = (this->*field->convert)(entry.value);
      if (!value) return value;
      entries.emplace_back(entry.key, *std::move(value));
    }
    return map_of_entries(std::move(entries));
  }

  Converted<Tree> workloads(const YamlNode& node) { return map_of(node, &Converter::workload); }
  Converted<Tree> configs(const YamlNode& node) { return map_of(node, &Converter::config_item); }
  Converted<Tree> texts(const YamlNode& node) { return map_of(node, &Converter::text); }
  Converted<Tree> strings(const YamlNode& node) { return list_of(node, &Converter::string); }
  Converted<Tree> files(const YamlNode& node) { return list_of(node, &Converter::file); }
  Converted<Tree> rules(const YamlNode& node) { return list_of(node, &Converter::rule); }

  // Read at once: trees of all workloads side by side would take more memory than all the rest. One that cannot be read
  // stays as it is, for the model to say why in its turn.
  Converted<Tree> workload(const YamlNode& node) {
    auto fields = workload_fields(node);
    if (!fields) return fields;
    auto read = read_workload(*fields, {});
    return read ? Tree(*std::move(read)) : fields;
  }

  Converted<Tree> workload_fields(const YamlNode& node) {
    return map_of_fields(node, {{"agent", &Converter::text},
                                {"runtime", &Converter::text},
                                {"runtimeConfig", &Converter::text},
                                {"restartPolicy", &Converter::text},
                                {"dependencies", &Converter::texts},
                                {"tags", &Converter::tags},
                                {"configs", &Converter::texts},
                                {"files", &Converter::files},
                                {"controlInterfaceAccess", &Converter::access}});
  }

  Converted<Tree> config_item(const YamlNode& node) {
    switch (node.kind) {
      case YamlNode::Kind::kList:
        return list_of(node, &Converter::config_item);
      case YamlNode::Kind::kMap:
        return map_of(node, &Converter::config_item);
      case YamlNode::Kind::kScalar:
        break;
    }
    return string(node);
  }

  Converted<Tree> tags(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kScalar) return Tree::Map();  // only nothing comes this far
    return version_ == ApiVersion::kV1 ? map_of(node, &Converter::string) : tag_list(node);
  }

  Converted<Tree> tag_list(const YamlNode& node) {
    Tree::Map tags;
    for (const auto& item : node.items) {
      const YamlNode* key = item.find("key");
      const YamlNode* value = item.find("value");
      if (key == nullptr || value == nullptr)
        return offend(item, concat("missing field `", key == nullptr ? "key" : "value", "`"));
      auto tag = string(*value);
      if (!tag) return tag;
      if (key->kind != YamlNode::Kind::kScalar || tag->string() == nullptr)
        return offend(item, "expected a tag of two strings, `key` and `value`");
      if (tags.find(key->text) != nullptr)
        return offend(*key, concat("duplicate entry with key \"", key->text, "\""));
      tags = tags.set(key->text, *std::move(tag));
    }
    return Tree(std::move(tags));
  }

  // A file with both kinds of content keeps the text, as peers do.
  Converted<Tree> file(const YamlNode& node) {
    auto file = map_of_fields(node, {{"mountPoint", &Converter::string},
                                     {"data", &Converter::string},
                                     {"binaryData", &Converter::string}});
    const YamlNode* binary = node.find("binaryData");
    if (!file || node.find("data") == nullptr || binary == nullptr) return file;
    remark(*binary, "ignored, because the file has `data`");
    return Tree(file->entries().erase("binaryData"));
  }

  Converted<Tree> access(const YamlNode& node) {
    return map_of_fields(node,
                         {{"allowRules", &Converter::rules}, {"denyRules", &Converter::rules}});
  }

  Converted<Tree> rule(const YamlNode& node) {
    auto rule = map_of_fields(node, {{"type", &Converter::text},
                                     {"operation", &Converter::text},
                                     {"filterMasks", &Converter::strings},
                                     {"filterMask", &Converter::strings},  // of v0.1
                                     {"workloadNames", &Converter::strings}});
    const YamlNode* old = node.find("filterMask");
    if (!rule || old == nullptr) return rule;
    if (node.find("filterMasks") != nullptr)
      return offend(*old, "the same as `filterMasks`, which is there as well");
    const Tree::Map map = rule->entries();
    return Tree(map.erase("filterMask").set("filterMasks", *map.find("filterMask")));
  }

  void remark(const YamlNode& node, std::string sentence) {
    if (remarks_.size() < kMaxWarnings) remarks_.push_back({&node, std::move(sentence)});
  }

  const YamlNode& root_;
  ApiVersion version_;
  std::vector<Offence> remarks_;
};

// The one mistake that everybody makes who comes from the other version has its own words.
std::optional<Offence> find_misformed_tags(const YamlNode& root, std::string_view version) {
  const YamlNode* workloads = root.find("workloads");
  const bool wants_map = version == to_string(ApiVersion::kV1);
  if (workloads == nullptr || (!wants_map && version != to_string(ApiVersion::kV01)))
    return std::nullopt;
  const auto wanted = wants_map ? YamlNode::Kind::kMap : YamlNode::Kind::kList;
  for (const auto& workload : workloads->entries) {
    const YamlNode* tags = workload.value.find("tags");
    if (tags == nullptr || tags->kind == wanted) continue;
    if (tags->kind == YamlNode::Kind::kScalar && resolve(*tags) == YamlType::kNull) continue;
    constexpr std::array<std::string_view, 3> kFound{"scalar", "sequence", "mapping"};
    return Offence{tags, concat("For API version '", version, "', tags must be specified as a ",
                                wants_map ? "mapping (key-value pairs)"
                                          : "sequence (list of key-value entries)",
                                ". Found tags as ", kFound[static_cast<std::size_t>(tags->kind)],
                                " for workload '", workload.key, "'.")};
  }
  return std::nullopt;
}

// The first key below a config item that makes the model refuse it, if it is not the item's own.
const YamlEntry* find_misnamed(const YamlNode& node, const std::string& sentence) {
  for (const auto& item : node.items)
    if (const auto* entry = find_misnamed(item, sentence)) return entry;
  for (const auto& entry : node.entries) {
    if (const Status status = check_config_item_key(entry.key);
        !status && status.error().message == sentence)
      return &entry;
    if (const auto* inner = find_misnamed(entry.value, sentence)) return inner;
  }
  return nullptr;
}

// Goes through the rules that the model has for content, in the order in which a server would, and
// says where the first offence is.
class Checker {
 public:
  Checker(const YamlNode& root, const State& state) : root_(root), state_(state) {}

  std::optional<TextError> check() {
    check_config_items();
    for_each_mapping([&](const auto& name, const auto& alias, const auto&) {
      require(check_config_alias(alias), {"workloads", name, "configs", alias}, Part::kKey);
    });
    for_each_mapping([&](const auto& name, const auto& alias, const auto& key) {
      require(check_config_reference(key), {"workloads", name, "configs", alias}, Part::kValue);
    });
    state_.workloads.for_each([&](const std::string& name, const Tree& tree) {
      check_workload(name, *tree.object<Workload>());
    });
    return std::move(error_);
  }

 private:
  void check_config_items() {
    state_.configs.for_each([&](const std::string& key, const Tree& item) {
      State alone;
      alone.configs = alone.configs.set(key, item);
      if (const Status status = check_config_names(alone); !status && !error_)
        refuse_config_item(key, status.error().message);
    });
  }

  void refuse_config_item(const std::string& key, const std::string& sentence) {
    const YamlEntry* entry = nullptr;
    if (check_config_item_key(key))
      entry = find_misnamed(*root_.find("configs")->find(key), sentence);
    Path path{{"configs", key}};
    if (entry != nullptr) {
      path.segments.clear();
      find_path(root_, entry->value, path);
    }
    error_ = TextError{find_position(root_, path, Part::kKey), path, sentence};
  }

  template <class Visit>
  void for_each_mapping(Visit visit) {
    state_.workloads.for_each([&](const std::string& name, const Tree& tree) {
      for (const auto& [alias, key] : tree.object<Workload>()->configs) visit(name, alias, key);
    });
  }

  void check_workload(const std::string& name, const Workload& workload) {
    require(parse_workload_name(name), {"workloads", name}, Part::kKey);
    // With configs the agent is a template, of which nothing is known before it is rendered.
    if (workload.configs.empty())
      require(parse_agent_name(workload.agent), {"workloads", name, "agent"}, Part::kValue);
    check_rules(name, "allowRules", workload.access->allow_rules);
    check_rules(name, "denyRules", workload.access->deny_rules);
  }

  void check_rules(const std::string& name, std::string_view list,
                   const std::vector<AccessRule>& rules) {
    for (std::size_t i = 0; i < rules.size(); ++i)
      require(check_access_rules({{rules[i]}, {}}),
              {"workloads", name, "controlInterfaceAccess", list, std::to_string(i)}, Part::kValue);
  }

  template <class Checked>
  void require(const Checked& checked, std::initializer_list<std::string_view> segments,
               Part part) {
    if (checked || error_) return;
    const Path path{{segments.begin(), segments.end()}};
    error_ = TextError{find_position(root_, path, part), path, checked.error().message};
  }

  const YamlNode& root_;
  const State& state_;
  std::optional<TextError> error_;
};

// The warnings in the order of the text, each with its place.
std::vector<std::string> warnings_of(const YamlNode& root, const std::vector<Offence>& remarks,
                                     ApiVersion version, std::string_view file_name) {
  std::vector<std::string> warnings;
  if (std::string warning = deprecation_warning(version); !warning.empty())
    warnings.push_back(std::move(warning));
  for (const auto& remark : remarks) warnings.push_back(to_string(locate(root, remark), file_name));
  return warnings;
}

}  // namespace

std::string to_string(const ManifestError& error) {
  return to_string(error.error, error.file_name);
}

// [impl->swdd~stored-workload-spec-parses-yaml~1]
// [impl->swdd~stored-workload-spec-checks-unique-name~1]
tl::expected<Manifest, ManifestError> parse_manifest(std::string_view text,
                                                     std::string_view file_name,
                                                     const YamlLimits& limits) {
  using Stage = ManifestError::Stage;
  const auto refuse = [&](Stage stage, TextError error) {
    return tl::unexpected<ManifestError>({stage, std::string(file_name), std::move(error)});
  };

  auto parsed = parse_yaml(text, limits);
  if (!parsed) return refuse(Stage::kSyntax, std::move(parsed).error());
  YamlNode root = *std::move(parsed);
  // An empty file is a state without fields.
  if (root.kind == YamlNode::Kind::kScalar && resolve(root) == YamlType::kNull)
    root.kind = YamlNode::Kind::kMap;

  ApiVersion version = ApiVersion::kV1;
  if (const YamlNode* node = root.find("apiVersion");
      node != nullptr && node->kind == YamlNode::Kind::kScalar) {
    if (const auto offence = find_misformed_tags(root, node->text))
      return refuse(Stage::kTags, locate(root, *offence));
    const auto known = parse_api_version(node->text);
    if (!known) return refuse(Stage::kContent, locate(root, {node, known.error().message}));
    version = *known;
  }

  Converter converter(root, version);
  const auto tree = converter.state();
  if (!tree) return refuse(Stage::kFields, locate(root, tree.error()));
  auto state = read_state(*tree, Path{});
  if (!state) {
    FieldError error = std::move(state).error();
    const Position position = find_position(root, error.path, Part::kValue);
    return refuse(Stage::kFields, {position, std::move(error.path), std::move(error.offence)});
  }
  if (auto error = Checker(root, *state).check()) return refuse(Stage::kContent, *std::move(error));
  auto warnings = warnings_of(root, converter.remarks(), version, file_name);
  return Manifest{*std::move(state), std::move(warnings)};
}

}  // namespace tiphys
