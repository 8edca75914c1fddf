#pragma once

// The two pipes of a control interface on disk: `input` for the workload to read and `output` for it to write. A workload
// can do in their folder what it likes, so nothing there is followed or trusted to be a pipe.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/host/descriptor.h"
#include "model/names.h"

namespace tiphys::control {

inline constexpr const char* kInput = "input";
inline constexpr const char* kOutput = "output";

// `<run folder>/<workload>.<id>/control_interface`
std::string folder_of(const std::string& run_folder, const InstanceName& instance);

// Makes what is not there. After an error there is no control_interface folder.
Status make_pipes(const std::string& run_folder, const InstanceName& instance);

// The folder may hold more than the pipes, and how much nobody knows; then it is put aside under the name that is told, for
// somebody to remove who has the time. The number makes that name unique.
Result<std::string> remove_pipes(const std::string& folder, std::uint64_t number);

// Without blocking. The error is that of the system, EINVAL when it is no pipe.
tl::expected<host::Descriptor, int> open_pipe(const std::string& path, int access);

}  // namespace tiphys::control
