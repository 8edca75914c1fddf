#pragma once

// The files that a workload brings with it: where each stands below the workload's folder, which bytes it holds, and the
// words in which a workload's state says that one could not be made. Pure; whoever writes them is told here what and where.
//
// All errors are the whole text for the state of the workload.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/workload.h"

namespace tiphys::agent {

// The folder below that of the workload which holds all files.
inline constexpr const char* kFilesFolder = "files";

// The name of a workload's folder in that of its agent: <workload>.<id>
std::string folder_name(const InstanceName& instance);

// The parts of the path below kFilesFolder, at least one; none is empty, `.` or `..`.
Result<std::vector<std::string>> place_of_file(std::string_view mount_point);

// Base64 may be broken into lines with white space around them.
Result<std::string> content_of_file(const File& file);

// Why a file is not there: its folders could not be made, or it could not be written.
std::string folder_failure(std::string_view mount_point, std::string_view cause);
std::string write_failure(std::string_view mount_point, std::string_view cause);

}  // namespace tiphys::agent
