#include "io/host/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "io/host/files.h"

namespace tiphys::host {
namespace {

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Deeper folders are moved up before they are emptied, so that no depth needs more descriptors or more stack than this.
constexpr int kMaxDepth = 32;
// A folder that is filled while it is emptied is given up after so many times.
constexpr int kMaxPasses = 16;

tl::unexpected<Error> failed(const std::string& path, int error) {
  return fail(error == ENOENT                                       ? Code::kNotFound
              : error == EACCES || error == EPERM || error == EROFS ? Code::kPermissionDenied
              : error == ENOSPC || error == EDQUOT                  ? Code::kResourceExhausted
                                                                    : Code::kInvalidArgument,
              concat("\"", path, "\": ", system_message(error)));
}

tl::unexpected<Error> is_link(const std::string& path) {
  return fail(Code::kFailedPrecondition,
              concat("\"", path, "\": it is a symbolic link, which is not followed; remove it"));
}

Status check_name(const Folder& folder, const std::string& name) {
  if (!name.empty() && name != "." && name != ".." &&
      name.find_first_of(std::string_view("/\0", 2)) == std::string::npos)
    return {};
  return fail(Code::kInvalidArgument,
              concat("\"", name, "\" in \"", folder.path(), "\": it is not the name of a file"));
}

// Why a name could not be opened as a folder or as a file: the system has the same words for links and for other things.
tl::unexpected<Error> in_the_way(int folder, const std::string& name, const std::string& path,
                                 int error) {
  struct stat about{};
  if ((error == ENOTDIR || error == ELOOP || error == EISDIR || error == ENXIO) &&
      ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(about.st_mode)) return is_link(path);
    return fail(Code::kAlreadyExists, concat("\"", path, "\": something else has that name"));
  }
  return failed(path, error);
}

bool is_mount_point(int folder) {
  struct statx about{};
  return ::statx(folder, "", AT_EMPTY_PATH, 0, &about) == 0 &&
         (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Takes away all that one folder holds.
class Emptying {
 public:
  explicit Emptying(const Folder& top) : top_(top) {}

  Status run() {
    for (int pass = 0; pass < kMaxPasses;) {
      changes_ = 0;
      has_moved_ = false;
      TIPHYS_REQUIRE(empty(top_, 0));
      if (changes_ == 0) return {};
      if (!has_moved_) ++pass;
    }
    return failed(top_.path(), ENOTEMPTY);
  }

 private:
  // Names may be passed over while others go; the next pass finds them.
  Status empty(const Folder& folder, int depth) {
    Descriptor again(::openat(folder.number(), ".", kOpenFolder));
    if (!again.is_open()) return failed(folder.path(), errno);
    const std::unique_ptr<DIR, CloseStream> stream(::fdopendir(again.number()));
    if (!stream) return failed(folder.path(), errno);
    static_cast<void>(again.release());  // the stream's from here on
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) return errno == 0 ? Status() : failed(folder.path(), errno);
      const std::string name(entry->d_name);
      if (name == "." || name == "..") continue;
      TIPHYS_REQUIRE(remove_from(folder, name, depth));
      ++changes_;
    }
  }

  Status remove_from(const Folder& folder, const std::string& name, int depth) {
    if (::unlinkat(folder.number(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR) return failed(folder.path_of(name), errno);
    if (depth == kMaxDepth) return move_up(folder, name);
    auto inner = folder.enter(name);
    if (!inner) return inner.error().code == Code::kNotFound ? Status() : fail(inner.error());
    if (is_mount_point(inner->number())) return failed(inner->path(), EBUSY);
    TIPHYS_REQUIRE(empty(*inner, depth + 1));
    // Not empty: the next pass comes back for it.
    if (::unlinkat(folder.number(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT ||
        errno == ENOTEMPTY)
      return {};
    return failed(inner->path(), errno);
  }

  Status move_up(const Folder& folder, const std::string& name) {
    while (true) {
      const std::string other = concat("deep-", std::to_string(last_moved_++));
      if (::renameat2(folder.number(), name.c_str(), top_.number(), other.c_str(),
                      RENAME_NOREPLACE) == 0) {
        has_moved_ = true;
        return {};
      }
      if (errno != EEXIST) return failed(folder.path_of(name), errno);
    }
  }

  const Folder& top_;
  int changes_ = 0;
  bool has_moved_ = false;
  unsigned last_moved_ = 0;
};

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), kOpenFolder));
  if (!descriptor.is_open()) return in_the_way(AT_FDCWD, path, path, errno);
  return Folder(std::move(descriptor), path);
}

std::string Folder::path_of(const std::string& name) const { return concat(path_, "/", name); }

Result<Folder> Folder::enter(const std::string& name) const {
  TIPHYS_REQUIRE(check_name(*this, name));
  Descriptor inner(::openat(number(), name.c_str(), kOpenFolder));
  if (!inner.is_open()) return in_the_way(number(), name, path_of(name), errno);
  return Folder(std::move(inner), path_of(name));
}

Result<Folder> Folder::make(const std::string& name) const {
  TIPHYS_REQUIRE(check_name(*this, name));
  if (::mkdirat(number(), name.c_str(), 0777) != 0 && errno != EEXIST)
    return failed(path_of(name), errno);
  return enter(name);
}

Status Folder::write(const std::string& name, std::string_view bytes) const {
  TIPHYS_REQUIRE(check_name(*this, name));
  const std::string path = path_of(name);
  // Without waiting, because a pipe without a reader would not open at all.
  Descriptor file(::openat(number(), name.c_str(),
                           O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           0666));
  if (!file.is_open()) return in_the_way(number(), name, path, errno);
  struct stat about{};
  if (::fstat(file.number(), &about) != 0) return failed(path, errno);
  if (!S_ISREG(about.st_mode))
    return fail(Code::kAlreadyExists, concat("\"", path, "\": something else has that name"));
  if (::ftruncate(file.number(), 0) != 0) return failed(path, errno);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  // Some file systems find out only now that there is no room.
  if (::close(file.release()) != 0 && errno != EINTR) return failed(path, errno);
  return {};
}

Status Folder::remove(const std::string& name) const {
  TIPHYS_REQUIRE(check_name(*this, name));
  if (::unlinkat(number(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return failed(path_of(name), errno);
  const auto inner = enter(name);
  if (!inner) return inner.error().code == Code::kNotFound ? Status() : fail(inner.error());
  if (is_mount_point(inner->number())) return failed(inner->path(), EBUSY);
  TIPHYS_REQUIRE(Emptying(*inner).run());
  if (::unlinkat(number(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return failed(inner->path(), errno);
}

}  // namespace tiphys::host
