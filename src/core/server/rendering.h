#pragma once

// From a workload with templates and the config items that it names to the workload that an agent gets.

#include <vector>

#include "base/result.h"
#include "model/workload.h"
#include "text/handlebars/handlebars.h"

namespace tiphys::server {

struct RenderedWorkload {
  WorkloadPtr workload;
  std::vector<handlebars::LogLine> log;  // what its templates wrote to the log
};

// A workload that names no config item is handed out as it is, whatever its text looks like.
Result<RenderedWorkload> render_workload(const WorkloadPtr& workload, const Tree::Map& configs);

}  // namespace tiphys::server
