#pragma once

// The command lines that podman is given for manifests, pods and volumes, without its name. Pure. The order of arguments is
// the one that every Ankaios uses.

#include <string>
#include <string_view>
#include <vector>

#include "io/runtimes/commands/container_arguments.h"
#include "io/runtimes/podman_kube/kube_config.h"
#include "model/names.h"

namespace tiphys::kube {

using commands::Arguments;

// Both read the manifest from their input.
Arguments play_arguments(const KubeConfig& config);
Arguments down_arguments(const std::vector<std::string>& down_options);

// The two volumes of a workload. What is kept stands in a label, because that is there as soon as the volume is.
std::string config_volume(const InstanceName& instance);
std::string pods_volume(const InstanceName& instance);
Arguments create_volume_arguments(const std::string& volume, std::string_view data);
Arguments remove_volume_arguments(const std::string& volume);
Arguments inspect_volume_arguments(const std::string& volume);
// The name of every config volume of the agent, and perhaps of others: podman takes the filter for a pattern.
Arguments list_volumes_arguments(const AgentName& agent);

// One line for each pod there is: its id, a blank and its name.
Arguments list_pods_arguments();
// A pod that is not there is no failure.
Arguments remove_pods_arguments(const std::vector<std::string>& pods);

}  // namespace tiphys::kube
