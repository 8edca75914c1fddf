#pragma once

// How typed values are read out of a Tree. A failure carries the path to the offending field, so
// that whoever knows where that field was written (a line of a manifest, a message) can say so.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/path.h"
#include "model/tree.h"

namespace tiphys {

struct FieldError {
  Path path;
  std::string offence;

  friend bool operator==(const FieldError&, const FieldError&) = default;
};

template <class T>
using Read = tl::expected<T, FieldError>;

inline tl::unexpected<FieldError> misread(Path path, std::string offence) {
  return tl::unexpected<FieldError>(FieldError{std::move(path), std::move(offence)});
}

// What was read of a field, by itself, as a part of its parent: so paths are put together for errors only.
template <class T>
Read<T> at(const Path& parent, std::string_view key, Read<T> read) {
  if (!read) read.error().path = parent.child(std::string(key)).child(read.error().path);
  return read;
}

// "desiredState.workloads.w: missing field `agent`"
std::string to_string(const FieldError& error);

Read<std::string> read_string(const Tree& tree, const Path& path);
Read<std::vector<std::string>> read_strings(const Tree& tree, const Path& path);
Read<std::string> read_required_string(const Tree& parent, const Path& path, std::string_view key);

}  // namespace tiphys

// As TIPHYS_TRY, for Read results.
#define TIPHYS_READ(declaration, expression) \
  TIPHYS_READ_(TIPHYS_CONCAT(tiphys_read_, __LINE__), declaration, expression)
#define TIPHYS_READ_(result, declaration, expression)                                  \
  auto result = (expression);                                                          \
  if (!result) return tl::unexpected<::tiphys::FieldError>(std::move(result).error()); \
  declaration = std::move(*result)
