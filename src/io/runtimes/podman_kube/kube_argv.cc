#include "io/runtimes/podman_kube/kube_argv.h"

#include "base/base64.h"
#include "base/strings.h"

namespace tiphys::kube {
namespace {

void append(Arguments& arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

// A workload may be called -odd; its volumes must not be taken for options.
Arguments with_name(Arguments arguments, const std::string& volume) {
  if (volume.starts_with('-')) arguments.emplace_back("--");
  arguments.push_back(volume);
  return arguments;
}

}  // namespace

Arguments play_arguments(const KubeConfig& config) {
  Arguments arguments = config.general_options;
  append(arguments, {"kube", "play", "--quiet"});
  append(arguments, config.play_options);
  arguments.emplace_back("-");
  return arguments;
}

Arguments down_arguments(const std::vector<std::string>& down_options) {
  Arguments arguments = {"kube", "down"};
  append(arguments, down_options);
  arguments.emplace_back("-");
  return arguments;
}

std::string config_volume(const InstanceName& instance) {
  return concat(to_string(instance), ".config");
}

std::string pods_volume(const InstanceName& instance) {
  return concat(to_string(instance), ".pods");
}

Arguments create_volume_arguments(const std::string& volume, std::string_view data) {
  const auto label = concat("--label=data=", base64_encode(data, Base64Padding::kNo));
  return with_name({"volume", "create", label}, volume);
}

Arguments remove_volume_arguments(const std::string& volume) {
  return with_name({"volume", "rm"}, volume);
}

Arguments inspect_volume_arguments(const std::string& volume) {
  return with_name({"volume", "inspect"}, volume);
}

Arguments list_volumes_arguments(const AgentName& agent) {
  return {"volume", "ls", "--filter", concat("name=.", agent.value, ".config$"),
          "--format={{.Name}}"};
}

Arguments list_pods_arguments() {
  return {"pod", "ps", "--no-trunc", "--format={{.ID}} {{.Name}}"};
}

Arguments remove_pods_arguments(const std::vector<std::string>& pods) {
  Arguments arguments = {"pod", "rm", "--force", "--ignore"};
  append(arguments, pods);
  return arguments;
}

}  // namespace tiphys::kube
