#include "shell/outfitter.h"

#include <utility>
#include <vector>

namespace tiphys::shell {

void Outfitter::prepare(const WorkloadSpecPtr& spec, std::function<void(Result<Equipment>)> sink) {
  if (spec->workload().files.empty()) return sink(Equipment{});
  folders_.write_files(spec, [sink = std::move(sink)](Result<std::vector<Mount>> mounts) {
    if (!mounts) return sink(fail(std::move(mounts).error()));
    sink(Equipment{.control_interface = {}, .files = *std::move(mounts)});
  });
}

void Outfitter::clear_files(const InstanceName& instance, std::function<void()> done) {
  folders_.remove_files(instance, warned(instance, std::move(done)));
}

void Outfitter::clear_all(const InstanceName& instance, std::function<void()> done) {
  folders_.remove(instance, warned(instance, std::move(done)));
}

std::function<void(Status)> Outfitter::warned(const InstanceName& instance,
                                              std::function<void()> done) {
  return [this, instance, done = std::move(done)](const Status& status) {
    if (!status)
      log_.warn("What was put beside a workload could not be removed",
                {{"workload", to_string(instance)}, {"reason", status.error().message}});
    done();
  };
}

}  // namespace tiphys::shell
