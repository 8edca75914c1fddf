#include "io/runtimes/podman_kube/manifest_injection.h"

#include <utility>
#include <vector>

#include "base/strings.h"
#include "shell/equipment.h"
#include "text/yaml.h"
#include "text/yaml_writer.h"

namespace tiphys::kube {
namespace {

constexpr const char* kVolume = "control-interface-volume";

struct Target {
  std::string pod;
  std::string container;
};

tl::unexpected<Error> refuse(std::string why) {
  return fail(Code::kInvalidArgument, std::move(why));
}

Result<Target> parse_target(const std::optional<std::string>& text) {
  if (!text) return refuse("Control interface target not specified in runtime config.");
  const auto parts = split(*text, '/');
  if (parts.size() != 2)
    return refuse(concat("Invalid control interface target format: '", *text,
                         "'. Expected format: '<pod_name>/<container_name>'"));
  return Target{std::string(parts[0]), std::string(parts[1])};
}

YamlNode* find(YamlNode* map, std::string_view key) {
  if (map == nullptr) return nullptr;
  for (auto& entry : map->entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

bool is_null(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && resolve(node) == YamlType::kNull;
}

// Nothing when it is no string.
const std::string* text_of(const YamlNode* node) {
  const bool is_text = node != nullptr && node->kind == YamlNode::Kind::kScalar &&
                       resolve(*node) == YamlType::kString;
  return is_text ? &node->text : nullptr;
}

Result<bool> makes_pod(YamlNode& document, std::string_view pod) {
  const auto* kind = text_of(find(&document, "kind"));
  if (kind == nullptr) return refuse("Manifest missing 'kind' field");
  const auto* name = text_of(find(find(&document, "metadata"), "name"));
  if (name == nullptr) return refuse("Manifest missing metadata.name");
  return (*kind == "Pod" && *name == pod) ||
         (*kind == "Deployment" && concat(*name, "-pod") == pod);
}

// What holds the containers: the spec, or that of the pod's template.
YamlNode* pod_spec_of(YamlNode& document) {
  YamlNode* spec = find(&document, "spec");
  for (YamlNode* candidate : {spec, find(find(spec, "template"), "spec")})
    if (const auto* containers = find(candidate, "containers");
        containers != nullptr && containers->kind == YamlNode::Kind::kList)
      return candidate;
  return nullptr;
}

Result<YamlNode*> find_container(YamlNode& pod_spec, std::string_view name) {
  for (auto& container : find(&pod_spec, "containers")->items) {
    const auto* own_name = text_of(find(&container, "name"));
    if (own_name == nullptr) return refuse("Container missing name field");
    if (*own_name == name) return &container;
  }
  return refuse(concat("Cannot add Control Interface. Target container '", name, "' not found."));
}

YamlNode text_node(std::string text) {
  YamlNode node;
  node.style = YamlNode::Style::kQuoted;
  node.text = std::move(text);
  return node;
}

YamlNode map_node(std::vector<std::pair<std::string, YamlNode>> entries) {
  YamlNode node;
  node.kind = YamlNode::Kind::kMap;
  for (auto& [key, value] : entries) node.entries.push_back({std::move(key), {}, std::move(value)});
  return node;
}

Status append(YamlNode& map, const std::string& key, YamlNode item) {
  YamlNode* list = find(&map, key);
  if (list == nullptr) list = &map.entries.emplace_back(YamlEntry{key, {}, {}}).value;
  if (is_null(*list)) list->kind = YamlNode::Kind::kList;
  if (list->kind != YamlNode::Kind::kList)
    return refuse(concat("Cannot add Control Interface. '", key, "' in ", to_string(list->position),
                         " of the manifest is not a list."));
  list->items.push_back(std::move(item));
  return {};
}

Status inject(YamlNode& document, const Target& target, const std::string& folder) {
  YamlNode* pod_spec = pod_spec_of(document);
  if (pod_spec == nullptr) return refuse("Manifest missing spec.containers");
  TIPHYS_TRY(YamlNode * container, find_container(*pod_spec, target.container));
  TIPHYS_REQUIRE(append(*container, "volumeMounts",
                        map_node({{"name", text_node(kVolume)},
                                  {"mountPath", text_node(shell::kControlInterfaceMountPoint)}})));
  return append(*pod_spec, "volumes",
                map_node({{"name", text_node(kVolume)},
                          {"hostPath", map_node({{"path", text_node(folder)},
                                                 {"type", text_node("Directory")}})}}));
}

}  // namespace

Result<std::string> inject_control_interface(std::string_view manifest,
                                             const std::optional<std::string>& target_text,
                                             const std::string& folder) {
  TIPHYS_TRY(const Target target, parse_target(target_text));
  auto documents = parse_yaml_documents(manifest);
  if (!documents)
    return refuse(concat("Failed to parse YAML manifest: ", to_string(documents.error())));
  std::erase_if(*documents, is_null);  // what stands between two separators, or behind the last
  for (auto& document : *documents) {
    TIPHYS_TRY(const bool is_target, makes_pod(document, target.pod));
    if (!is_target) continue;
    TIPHYS_REQUIRE(inject(document, target, folder));
    std::vector<std::string> written;
    for (const auto& each : *documents) written.push_back(write_yaml(each));
    return join(written, "---\n");
  }
  return refuse(concat("Cannot add Control Interface. Target pod not found '", target.pod, "'"));
}

}  // namespace tiphys::kube
