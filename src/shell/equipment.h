#pragma once

// What the agent puts beside a workload for its container to see.

#include <optional>
#include <string>
#include <vector>

namespace tiphys::shell {

struct Mount {
  std::string host_path;
  std::string container_path;
  bool read_only = false;

  friend bool operator==(const Mount&, const Mount&) = default;
};

// Where every Ankaios shows a workload its control interface.
inline constexpr const char* kControlInterfaceMountPoint = "/run/ankaios/control_interface";

struct Equipment {
  std::optional<std::string> control_interface;  // its folder on this machine
  std::vector<Mount> files;                      // by mount point

  friend bool operator==(const Equipment&, const Equipment&) = default;
};

}  // namespace tiphys::shell
