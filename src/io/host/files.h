#pragma once

// The file system behind the files port, and the same functions for whoever may wait. Errors name the path and what the
// system says about it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "shell/files.h"
#include "shell/workers.h"

namespace tiphys::host {

inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20U;

enum class FileKind : std::uint8_t {
  kRegular,  // nothing that could be waited for
  kAny,      // also what a user may name on a command line, such as a pipe
};

// kNotFound, kPermissionDenied, kResourceExhausted (longer than kMaxFileBytes) or kInvalidArgument.
Result<std::string> read_file(const std::string& path, FileKind kind);

// After a crash the file holds the old or the new bytes, and after a failure the old ones. Makes missing folders; keeps
// the permissions of a file that exists; takes the place of a symbolic link instead of following it.
Status replace_file(const std::string& path, const std::string& bytes);

// Symbolic links are removed, never followed. A missing folder counts as removed.
Status remove_tree(const std::string& path);

// "No such file or directory (os error 2)"
std::string system_message(int error);

class DiskFiles final : public shell::Files {
 public:
  explicit DiskFiles(shell::Workers& workers) : workers_(workers) {}

  void write(std::string path, std::string bytes, std::function<void(Status)> sink) override;
  void read(std::string path, std::function<void(Result<std::string>)> sink) override;
  void remove_tree(std::string path, std::function<void(Status)> sink) override;

 private:
  shell::Workers& workers_;
};

}  // namespace tiphys::host
