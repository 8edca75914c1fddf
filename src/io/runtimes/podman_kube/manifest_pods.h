#pragma once

// Which pods podman makes of a manifest. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace tiphys::kube {

// The name of each document; none where the manifest cannot be read, of which podman makes nothing.
std::vector<std::string> names_in(std::string_view manifest);

// A Pod is called as its document says; what else makes pods adds `-pod` and, where there are several, a number.
bool may_come_from(const std::vector<std::string>& names, std::string_view pod_name);

}  // namespace tiphys::kube
