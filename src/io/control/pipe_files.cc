#include "io/control/pipe_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::control {
namespace {

constexpr const char* kFolder = "control_interface";
constexpr mode_t kPipeMode = 0700;
constexpr mode_t kFolderMode = 0777;

tl::unexpected<Error> failed(std::string_view path, std::string_view what) {
  return fail(Code::kFailedPrecondition, concat("\"", path, "\": ", what));
}
tl::unexpected<Error> failed(std::string_view path, int error) {
  return failed(path, host::system_message(error));
}

std::string workload_folder_of(const InstanceName& instance) {
  return concat(instance.workload.value, ".", instance.id.value);
}

// The folder with that name, made if it is not there; a link to one is none.
Result<host::Descriptor> make_folder(const host::Descriptor& parent, const char* name,
                                     std::string_view path) {
  if (::mkdirat(parent.number(), name, kFolderMode) != 0 && errno != EEXIST)
    return failed(path, errno);
  host::Descriptor folder(
      ::openat(parent.number(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.is_open()) return folder;
  return errno == ENOTDIR || errno == ELOOP ? failed(path, "it is not a folder")
                                            : failed(path, errno);
}

// [impl->swdd~agent-control-interface-creates-two-pipes-per-workload~1]
Status make_pipe(const host::Descriptor& folder, const char* name, std::string_view path) {
  if (::mkfifoat(folder.number(), name, kPipeMode) == 0) return {};
  const int error = errno;
  struct stat about{};
  if (error != EEXIST) return failed(concat(path, "/", name), error);
  if (::fstatat(folder.number(), name, &about, AT_SYMLINK_NOFOLLOW) != 0)
    return failed(concat(path, "/", name), errno);
  if (!S_ISFIFO(about.st_mode)) return failed(concat(path, "/", name), "it is not a FIFO");
  return {};
}

Status make_both_pipes(const host::Descriptor& folder, std::string_view path) {
  TIPHYS_REQUIRE(make_pipe(folder, kInput, path));
  return make_pipe(folder, kOutput, path);
}

}  // namespace

// [impl->swdd~agent-control-interface-pipes-path-naming~1]
std::string folder_of(const std::string& run_folder, const InstanceName& instance) {
  return concat(run_folder, "/", workload_folder_of(instance), "/", kFolder);
}

Status make_pipes(const std::string& run_folder, const InstanceName& instance) {
  const std::string workload_folder = workload_folder_of(instance);
  // A name is checked when it comes, but an id is the server's own.
  if (workload_folder.find('/') != std::string::npos ||
      workload_folder.find('\0') != std::string::npos)
    return failed(workload_folder, "the id of the workload cannot be the name of a folder");
  const host::Descriptor run(::open(run_folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!run.is_open()) return failed(run_folder, errno);
  TIPHYS_TRY(const host::Descriptor workload,
             make_folder(run, workload_folder.c_str(), concat(run_folder, "/", workload_folder)));
  const std::string path = folder_of(run_folder, instance);
  TIPHYS_TRY(const host::Descriptor folder, make_folder(workload, kFolder, path));
  auto made = make_both_pipes(folder, path);
  if (made) return made;
  if (const auto removed = host::remove_tree(path); !removed)
    made.error().message += concat("; and ", removed.error().message);
  return made;
}

Result<std::string> remove_pipes(const std::string& folder, std::uint64_t number) {
  for (const auto* name : {kInput, kOutput})
    if (const auto path = concat(folder, "/", name);
        ::unlink(path.c_str()) != 0 && errno != ENOENT && errno != EISDIR)
      return failed(path, errno);
  if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return failed(folder, errno);
  std::string aside = concat(folder, ".", std::to_string(::getpid()), "-", std::to_string(number));
  if (::rename(folder.c_str(), aside.c_str()) != 0) return failed(folder, errno);
  return aside;
}

tl::expected<host::Descriptor, int> open_pipe(const std::string& path, int access) {
  // First a look that does nothing: a device would already do something when it is opened.
  const host::Descriptor found(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat about{};
  if (!found.is_open() || ::fstat(found.number(), &about) != 0) return tl::unexpected(errno);
  if (!S_ISFIFO(about.st_mode)) return tl::unexpected(EINVAL);
  const std::string same = concat("/proc/self/fd/", std::to_string(found.number()));
  host::Descriptor pipe(::open(same.c_str(), access | O_NONBLOCK | O_CLOEXEC));
  if (!pipe.is_open()) return tl::unexpected(errno);
  return pipe;
}

}  // namespace tiphys::control
