#pragma once

// What podman prints about manifests, pods and volumes, as values. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/names.h"

namespace tiphys::kube {

// The ids of the pods that `podman kube play` has made.
std::vector<std::string> parse_played_pods(std::string_view output);

// What the label of a volume keeps, from the answer of `podman volume inspect`.
Result<std::string> parse_volume_data(std::string_view output);

// The pods of a workload as its volume keeps them: a JSON list of ids.
std::string write_pods(const std::vector<std::string>& pods);
Result<std::vector<std::string>> parse_pods(std::string_view data);

// The instances of the agent whose config volumes `podman volume ls` names. What else has such a name is left out.
std::vector<InstanceName> parse_config_volumes(std::string_view output, const AgentName& agent);

struct ListedPod {
  std::string id;
  std::string name;

  friend bool operator==(const ListedPod&, const ListedPod&) = default;
};
std::vector<ListedPod> parse_listed_pods(std::string_view output);

// Why a command failed.
bool is_no_such_pod(const Error& error);
bool is_no_such_volume(const Error& error);
// podman neither stops nor removes a paused container unless it is forced to.
bool is_paused(const Error& error);

}  // namespace tiphys::kube
