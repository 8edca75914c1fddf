#include "io/host/tls_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "base/strings.h"
#include "io/host/descriptor.h"

namespace tiphys::host {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;

enum class Kind : std::uint8_t { kCertificate, kKey };

tl::unexpected<Error> failed_while(std::string_view doing, const std::string& path,
                                   std::string_view reason, Code code = Code::kInvalidArgument) {
  return fail(code, concat("Error during ", doing, " the given file \"", path, "\": ", reason));
}

tl::unexpected<Error> failed_while(std::string_view doing, const std::string& path, int error) {
  const std::string reason =
      concat(std::generic_category().message(error), " (os error ", std::to_string(error), ")");
  return failed_while(doing, path, reason,
                      error == ENOENT   ? Code::kNotFound
                      : error == EACCES ? Code::kPermissionDenied
                                        : Code::kInvalidArgument);
}

bool is_acceptable(Kind kind, mode_t mode) {
  if (kind == Kind::kKey) return mode == 0600 || mode == 0400;
  constexpr mode_t kWrittenByOthers = S_IWGRP | S_IWOTH;
  constexpr mode_t kExecutable = S_IXUSR | S_IXGRP | S_IXOTH;
  return (mode & S_IRUSR) != 0 && (mode & (kWrittenByOthers | kExecutable)) == 0;
}

Status check_mode(Kind kind, const std::string& path, mode_t mode) {
  if (is_acceptable(kind, mode)) return {};
  std::array<char, 8> octal{};
  std::snprintf(octal.data(), octal.size(), "%o", mode);
  const bool is_key = kind == Kind::kKey;
  return fail(Code::kPermissionDenied,
              concat(is_key ? "Private key" : "Certificate", " file \"", path,
                     "\" has insecure permissions ", octal.data(), ". ",
                     is_key ? "Private keys" : "Certificates",
                     " must have permissions 0600 or 0400. Use 'chmod 0600 <file>' to fix this."));
}

Result<std::string> read_file(Kind kind, const std::string& path) {
  if (path.empty()) return std::string();
  // Not blocking, so that a FIFO without a writer is refused below instead of being waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open()) return failed_while("opening", path, errno);
  struct stat about{};
  if (::fstat(file.number(), &about) != 0)
    return failed_while("getting permissions of", path, errno);
  TIPHYS_REQUIRE(check_mode(kind, path, about.st_mode & 0777U));
  if (!S_ISREG(about.st_mode)) return failed_while("reading", path, "it is not a regular file");

  std::string text;
  while (true) {
    std::array<char, 4096> chunk;
    const ssize_t count = ::read(file.number(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed_while("reading", path, errno);
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxBytes)
      return failed_while("reading", path, "it is longer than 1 MiB, which no PEM file needs");
  }
}

}  // namespace

Result<TlsMaterial> read_tls_files(const TlsFiles& files) {
  TlsMaterial material;
  TIPHYS_TRY(material.ca, read_file(Kind::kCertificate, files.ca));
  TIPHYS_TRY(material.certificate, read_file(Kind::kCertificate, files.certificate));
  TIPHYS_TRY(material.key, read_file(Kind::kKey, files.key));
  return material;
}

}  // namespace tiphys::host
