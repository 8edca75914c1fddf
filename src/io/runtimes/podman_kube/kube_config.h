#pragma once

// What the runtime config of a podman-kube workload says. Pure.
//
//   manifest: |                          mandatory; one or more documents of Kubernetes
//     apiVersion: v1
//     …
//   generalOptions: [--log-level=warn]   before podman's command
//   playOptions: [--network=host]        of `podman kube play`
//   downOptions: [--force]               of `podman kube down`
//   controlInterfaceTarget: pod/main     which container sees the control interface, if the workload has one
//
// Read as leniently as the config of a podman workload.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/runtime.h"
#include "text/parsed.h"

namespace tiphys::kube {

struct KubeConfig {
  std::string manifest;
  std::vector<std::string> general_options;
  std::vector<std::string> play_options;
  std::vector<std::string> down_options;
  std::optional<std::string> control_interface_target;
};

Parsed<KubeConfig> read_kube_config(std::string_view text);

}  // namespace tiphys::kube
