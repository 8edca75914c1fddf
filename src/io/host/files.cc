#include "io/host/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/host/descriptor.h"

namespace tiphys::host {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> failed(std::string_view path, int error) {
  return fail(error == ENOENT                      ? Code::kNotFound
              : error == EACCES || error == EPERM  ? Code::kPermissionDenied
              : error == ENOSPC || error == EDQUOT ? Code::kResourceExhausted
                                                   : Code::kInvalidArgument,
              concat("\"", path, "\": ", system_message(error)));
}

// What is done to a folder is on the disk only once the folder itself is.
Status sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.number()) != 0) return failed(path, errno);
  return {};
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status make_folders(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0)
    return S_ISDIR(about.st_mode) ? Status() : failed(path, ENOTDIR);
  const std::string parent = parent_of(path);
  if (parent != path) TIPHYS_REQUIRE(make_folders(parent));
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return failed(path, errno);
  return sync_folder(parent);
}

Status write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status write_new_file(const std::string& path, const std::string& bytes,
                      const std::string& replaced) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.is_open()) return failed(replaced, errno);
  struct stat about{};
  if (::lstat(replaced.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
      ::fchmod(file.number(), about.st_mode & 07777U) != 0)
    return failed(replaced, errno);
  TIPHYS_REQUIRE(write_all(file.number(), bytes, replaced));
  if (::fsync(file.number()) != 0) return failed(replaced, errno);
  return {};
}

}  // namespace

std::string system_message(int error) {
  return concat(std::generic_category().message(error), " (os error ", std::to_string(error), ")");
}

Result<std::string> read_file(const std::string& path, FileKind kind) {
  const int waits = kind == FileKind::kRegular ? O_NONBLOCK : 0;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waits));
  if (!file.is_open()) return failed(path, errno);
  struct stat about{};
  if (::fstat(file.number(), &about) != 0) return failed(path, errno);
  if (kind == FileKind::kRegular && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
    return fail(Code::kInvalidArgument, concat("\"", path, "\": it is not a regular file"));

  std::string text;
  if (S_ISREG(about.st_mode))
    text.reserve(std::min(static_cast<std::size_t>(about.st_size), kMaxFileBytes));
  while (true) {
    std::array<char, 16384> chunk;
    const ssize_t count = ::read(file.number(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path, errno);
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxFileBytes)
      return fail(Code::kResourceExhausted, concat("\"", path, "\": it is longer than 64 MiB"));
  }
}

Status replace_file(const std::string& path, const std::string& bytes) {
  static std::atomic<std::uint64_t> next_number = 0;
  const std::string folder = parent_of(path);
  const std::string temporary =
      concat(folder, "/.", fs::path(path).filename().string(), ".", std::to_string(::getpid()), "-",
             std::to_string(next_number++), ".new");
  TIPHYS_REQUIRE(make_folders(folder));
  auto written = write_new_file(temporary, bytes, path);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = failed(path, errno);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_folder(folder);
}

Status remove_tree(const std::string& path) {
  try {
    fs::remove_all(path);
    return {};
  } catch (const fs::filesystem_error& error) {
    const std::string where = error.path1().empty() ? path : error.path1().string();
    return failed(where, error.code().value());
  }
}

void DiskFiles::write(std::string path, std::string bytes, std::function<void(Status)> sink) {
  auto result = std::make_shared<Status>();
  workers_.run([result, path = std::move(path),
                bytes = std::move(bytes)] { *result = replace_file(path, bytes); },
               [result, sink = std::move(sink)] { sink(std::move(*result)); });
}

void DiskFiles::read(std::string path, std::function<void(Result<std::string>)> sink) {
  auto result = std::make_shared<Result<std::string>>();
  workers_.run([result, path = std::move(path)] { *result = read_file(path, FileKind::kRegular); },
               [result, sink = std::move(sink)] { sink(std::move(*result)); });
}

void DiskFiles::remove_tree(std::string path, std::function<void(Status)> sink) {
  auto result = std::make_shared<Status>();
  workers_.run([result, path = std::move(path)] { *result = host::remove_tree(path); },
               [result, sink = std::move(sink)] { sink(std::move(*result)); });
}

}  // namespace tiphys::host
