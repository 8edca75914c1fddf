#include "core/agent/workload_files.h"

#include <algorithm>

#include "base/base64.h"
#include "base/strings.h"

namespace tiphys::agent {
namespace {

std::string failure(std::string_view what, std::string_view mount_point, std::string_view cause) {
  return concat("Failed to create workload file: '", what, " '", mount_point, "': '", cause, "''");
}

tl::unexpected<Error> bad_mount_point(std::string_view mount_point, std::string_view offence) {
  return fail(Code::kInvalidArgument, failure("invalid mount point", mount_point, offence));
}

}  // namespace

std::string folder_name(const InstanceName& instance) {
  return concat(instance.workload.value, ".", instance.id.value);
}

Result<std::vector<std::string>> place_of_file(std::string_view mount_point) {
  const auto is_a_directory = [&] {
    return bad_mount_point(mount_point,
                           concat("'", mount_point, "' is a directory, expected a file"));
  };
  if (mount_point.ends_with('/')) return is_a_directory();
  if (!mount_point.starts_with('/'))
    return bad_mount_point(mount_point,
                           concat("path '", mount_point, "' is relative, expected absolute path"));
  const auto pieces = split(mount_point, '/');
  if (std::ranges::find(pieces, "..") != pieces.end() ||
      mount_point.find('\0') != std::string_view::npos)
    return bad_mount_point(mount_point,
                           concat("path '", mount_point, "' contains invalid path components"));
  std::vector<std::string> place;
  for (const auto piece : pieces)
    if (!piece.empty() && piece != ".") place.emplace_back(piece);
  if (place.empty()) return is_a_directory();
  return place;
}

Result<std::string> content_of_file(const File& file) {
  if (file.encoding == File::Encoding::kText) return file.content;
  std::string joined;
  joined.reserve(file.content.size());
  for (const auto line : split(file.content, '\n')) joined.append(trim(line));
  auto bytes = base64_decode(joined, Base64Padding::kYes);
  if (!bytes)
    return fail(Code::kInvalidArgument,
                failure("invalid base64 data in", file.mount_point, bytes.error().message));
  return bytes;
}

std::string folder_failure(std::string_view mount_point, std::string_view cause) {
  return failure("failed to create workload file directory structure for", mount_point, cause);
}

std::string write_failure(std::string_view mount_point, std::string_view cause) {
  return failure("write failed for", mount_point, cause);
}

}  // namespace tiphys::agent
