#include "io/runtimes/podman/podman_argv.h"

namespace tiphys::podman {

Arguments stop_arguments(const shell::ContainerId& container) {
  return {"stop", "--ignore", container.value};
}

Arguments rm_arguments(const shell::ContainerId& container) {
  return {"rm", "--ignore", container.value};
}

Arguments ps_arguments() { return {"ps", "--all", "--format=json"}; }

}  // namespace tiphys::podman
