#include "io/folders/disk_folders.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "core/agent/workload_files.h"
#include "io/host/folder.h"

namespace tiphys::folders {
namespace {

using host::Folder;
using shell::Mount;

Result<Folder> open_agent_folder(const std::string& path) {
  auto folder = Folder::open(path);
  if (folder || folder.error().code != Code::kNotFound) return folder;
  const std::filesystem::path parts(path);
  // The dot lets the base folder be a link: that one is the user's to choose.
  TIPHYS_TRY(const Folder base, Folder::open((parts.parent_path() / ".").string()));
  TIPHYS_REQUIRE(base.make(parts.filename().string()));
  return Folder::open(path);
}

// The folder in which a file stands, made where it is missing. The error is the cause in the words of Ankaios.
Result<Folder> make_folders(const std::string& agent_folder,
                            const std::vector<std::string>& names) {
  const auto not_made = [](const std::string& cause) {
    return fail(Code::kInvalidArgument, concat("Could not create directory ", cause));
  };
  auto folder = open_agent_folder(agent_folder);
  for (std::size_t i = 0; folder && i < names.size(); ++i) {
    auto inner = folder->make(names[i]);
    if (!inner && inner.error().code == Code::kAlreadyExists)
      return not_made(concat("\"", agent_folder, "/", join(names, "/"), "\": ",
                             i + 1 == names.size() ? "entity already exists" : "not a directory"));
    folder = std::move(inner);
  }
  if (!folder) return not_made(folder.error().message);
  return folder;
}

Status write_file(const Folder& folder, const std::string& name, const std::string& bytes) {
  const auto written = folder.write(name, bytes);
  if (written) return {};
  const bool is_folder = written.error().code == Code::kAlreadyExists;
  return fail(Code::kInvalidArgument,
              concat("Could not write to ",
                     is_folder ? concat("\"", folder.path_of(name), "\"  IsADirectory")
                               : written.error().message));
}

Status remove_files(const std::string& agent_folder, const std::string& workload_folder) {
  const auto ours = Folder::open(agent_folder);
  if (!ours) return ours.error().code == Code::kNotFound ? Status() : fail(ours.error());
  const auto folder = ours->enter(workload_folder);
  if (!folder) return folder.error().code == Code::kNotFound ? Status() : fail(folder.error());
  return folder->remove(agent::kFilesFolder);
}

Status remove_all(const std::string& agent_folder, const std::string& workload_folder) {
  const auto ours = Folder::open(agent_folder);
  if (!ours) return ours.error().code == Code::kNotFound ? Status() : fail(ours.error());
  return ours->remove(workload_folder);
}

// One after the other, as they stand in the manifest: of several that have one place, the last one wins.
Result<std::vector<Mount>> write_all(const std::string& agent_folder, const WorkloadSpec& spec) {
  std::map<std::string, std::string> mounted;  // host path -> mount point
  for (const auto& file : spec.workload().files) {
    TIPHYS_TRY(auto names, agent::place_of_file(file.mount_point));
    const std::string name = std::move(names.back());
    names.pop_back();
    names.insert(names.begin(), {agent::folder_name(spec.instance()), agent::kFilesFolder});
    const auto folder = make_folders(agent_folder, names);
    if (!folder)
      return fail(Code::kInvalidArgument,
                  agent::folder_failure(file.mount_point, folder.error().message));
    TIPHYS_TRY(const std::string bytes, agent::content_of_file(file));
    if (const auto written = write_file(*folder, name, bytes); !written)
      return fail(Code::kInvalidArgument,
                  agent::write_failure(file.mount_point, written.error().message));
    mounted[folder->path_of(name)] = file.mount_point;
  }
  std::vector<Mount> mounts;
  mounts.reserve(mounted.size());
  for (auto& [host_path, mount_point] : mounted)
    mounts.push_back({.host_path = host_path, .container_path = mount_point, .read_only = true});
  std::ranges::sort(mounts, {}, &Mount::container_path);
  return mounts;
}

}  // namespace

DiskFolders::DiskFolders(shell::Workers& workers, std::string agent_folder)
    : workers_(workers), agent_folder_(std::move(agent_folder)) {}

void DiskFolders::write_files(WorkloadSpecPtr spec,
                              std::function<void(Result<std::vector<Mount>>)> sink) {
  const std::string folder = agent::folder_name(spec->instance());
  run<Result<std::vector<Mount>>>(
      folder,
      [agent_folder = agent_folder_, folder, spec = std::move(spec)] {
        auto mounts = write_all(agent_folder, *spec);
        // What cannot be cleared now is written over, or goes with the workload.
        if (!mounts) static_cast<void>(folders::remove_files(agent_folder, folder));
        return mounts;
      },
      std::move(sink));
}

void DiskFolders::remove_files(const InstanceName& instance, std::function<void(Status)> sink) {
  const std::string folder = agent::folder_name(instance);
  run<Status>(
      folder,
      [agent_folder = agent_folder_, folder] {
        return folders::remove_files(agent_folder, folder);
      },
      std::move(sink));
}

void DiskFolders::remove(const InstanceName& instance, std::function<void(Status)> sink) {
  const std::string folder = agent::folder_name(instance);
  run<Status>(
      folder, [agent_folder = agent_folder_, folder] { return remove_all(agent_folder, folder); },
      std::move(sink));
}

template <class Answer>
void DiskFolders::run(const std::string& folder, std::function<Answer()> work,
                      std::function<void(Answer)> sink) {
  auto answer = std::make_shared<Answer>();
  auto& jobs = jobs_[folder];
  jobs.push_back({.work = [answer, work = std::move(work)] { *answer = work(); },
                  .done = [answer, sink = std::move(sink)] { sink(std::move(*answer)); }});
  if (jobs.size() == 1) begin(folder);
}

void DiskFolders::begin(const std::string& folder) {
  workers_.run(std::move(jobs_.at(folder).front().work), [this, folder] {
    const auto entry = jobs_.find(folder);
    const auto done = std::move(entry->second.front().done);
    entry->second.pop_front();
    if (entry->second.empty())
      jobs_.erase(entry);
    else
      begin(folder);
    done();
  });
}

}  // namespace tiphys::folders
