#include "io/runtimes/podman_kube/kube_config.h"

#include <utility>

#include "io/runtimes/commands/config_reading.h"

namespace tiphys::kube {

Parsed<KubeConfig> read_kube_config(std::string_view text) {
  const auto node = commands::read_config(text, "manifest");
  if (!node) return misparsed(node.error());
  KubeConfig config;
  auto manifest = commands::read_text(*node, "manifest");
  if (!manifest) return misparsed(std::move(manifest).error());
  config.manifest = **std::move(manifest);
  for (const auto& [key, list] : {std::pair{"generalOptions", &config.general_options},
                                  {"playOptions", &config.play_options},
                                  {"downOptions", &config.down_options}}) {
    auto texts = commands::read_texts(*node, key);
    if (!texts) return misparsed(std::move(texts).error());
    *list = *std::move(texts);
  }
  auto target = commands::read_text(*node, "controlInterfaceTarget");
  if (!target) return misparsed(std::move(target).error());
  config.control_interface_target = *std::move(target);
  return config;
}

}  // namespace tiphys::kube
