#include "sim/fake_folders.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "core/agent/workload_files.h"

namespace tiphys::sim {

using shell::Mount;

void FakeFolders::attach(Process* process) {
  process_ = process;
  busy_until_.clear();
}

bool FakeFolders::has_files(const InstanceName& instance) const {
  return with_files_.contains(agent::folder_name(instance));
}

bool FakeFolders::ever_failed(const InstanceName& instance) const {
  return failed_.contains(agent::folder_name(instance));
}

void FakeFolders::write_files(WorkloadSpecPtr spec,
                              std::function<void(Result<std::vector<Mount>>)> sink) {
  const std::string folder = agent::folder_name(spec->instance());
  later(folder, [this, folder, spec = std::move(spec), sink = std::move(sink)] {
    folders_.insert(folder);
    if (world_.fault("disk full", 1, 10)) {
      failed_.insert(folder);
      with_files_.erase(folder);
      return sink(
          tiphys::fail(Code::kResourceExhausted,
                       agent::write_failure(spec->workload().files->front().mount_point, "full")));
    }
    with_files_.insert(folder);
    std::vector<Mount> mounts;
    for (const auto& file : spec->workload().files)
      mounts.push_back({concat("/", node_, "/", folder, file.mount_point), file.mount_point, true});
    std::ranges::sort(mounts, {}, &Mount::container_path);
    sink(std::move(mounts));
  });
}

void FakeFolders::remove_files(const InstanceName& instance, std::function<void(Status)> sink) {
  const std::string folder = agent::folder_name(instance);
  later(folder, [this, folder, sink = std::move(sink)] {
    if (world_.fault("files not removed", 1, 20))
      return sink(tiphys::fail(Code::kPermissionDenied, "no"));
    with_files_.erase(folder);
    sink({});
  });
}

void FakeFolders::remove(const InstanceName& instance, std::function<void(Status)> sink) {
  const std::string folder = agent::folder_name(instance);
  later(folder, [this, folder, sink = std::move(sink)] {
    if (world_.fault("folder not removed", 1, 20))
      return sink(tiphys::fail(Code::kPermissionDenied, "no"));
    with_files_.erase(folder);
    folders_.erase(folder);
    sink({});
  });
}

void FakeFolders::later(const std::string& folder, std::function<void()> task) {
  TIPHYS_CHECK(process_ != nullptr, "a dead agent asks for nothing");
  const Duration wait = world_.fault("disk slow", 1, 10)
                            ? world_.draw(milliseconds(100), seconds(10))
                            : world_.draw(milliseconds(0), milliseconds(5));
  Instant& busy = busy_until_[folder];
  busy = std::max(busy, world_.now() + wait);
  world_.at(busy, process_->guarded(std::move(task)));
}

}  // namespace tiphys::sim
