#include "io/runtimes/nerdctl/nerdctl_argv.h"

namespace tiphys::nerdctl {

Arguments stop_arguments(const shell::ContainerId& container) { return {"stop", container.value}; }

Arguments rm_arguments(const shell::ContainerId& container) { return {"rm", container.value}; }

Arguments ps_arguments() { return {"ps", "--all", "--no-trunc", "--format=json"}; }

Arguments inspect_arguments(std::span<const shell::ContainerId> containers) {
  Arguments arguments{"inspect"};
  for (const auto& container : containers) arguments.push_back(container.value);
  return arguments;
}

}  // namespace tiphys::nerdctl
