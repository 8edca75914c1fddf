#include "io/runtimes/podman_kube/manifest_pods.h"

#include <algorithm>

#include "text/yaml.h"

namespace tiphys::kube {
namespace {

constexpr std::string_view kPodSuffix = "-pod";

// "-pod", "-pod-0", "-pod-12"
bool is_suffix_of_a_pod(std::string_view suffix) {
  if (!suffix.starts_with(kPodSuffix)) return false;
  suffix.remove_prefix(kPodSuffix.size());
  if (suffix.empty()) return true;
  return suffix.size() > 1 && suffix[0] == '-' &&
         suffix.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

std::vector<std::string> names_in(std::string_view manifest) {
  std::vector<std::string> names;
  const auto documents = parse_yaml_documents(manifest);
  if (!documents) return names;
  for (const auto& document : *documents) {
    const YamlNode* metadata = document.find("metadata");
    const YamlNode* name = metadata != nullptr ? metadata->find("name") : nullptr;
    if (name != nullptr && !name->text.empty()) names.push_back(name->text);
  }
  return names;
}

bool may_come_from(const std::vector<std::string>& names, std::string_view pod_name) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return pod_name.starts_with(name) &&
           (pod_name.size() == name.size() || is_suffix_of_a_pod(pod_name.substr(name.size())));
  });
}

}  // namespace tiphys::kube
