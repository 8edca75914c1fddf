#pragma once

// `ank explain`: what is to be known about a field of manifests. Pure; needs no server.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tiphys::cli {

// The documentation of a field, for a terminal of that width; of the whole manifest, if the field is empty.
//
// A field is named by its path (workloads.web.restartPolicy), whatever the keys are that the author of a manifest
// chooses, and with or without them: workload.restartPolicy, workloads.<any>.files[0].data. An error names what is not there, what was
// probably meant, and what there is.
Result<std::string> explain(std::string_view field, std::size_t width);

}  // namespace tiphys::cli
