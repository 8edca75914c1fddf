#include "text/handlebars/scope.h"

#include <charconv>
#include <span>
#include <string_view>

namespace tiphys::handlebars {

namespace {

std::optional<std::size_t> index_of(std::string_view segment) {
  if (segment.starts_with('+')) segment.remove_prefix(1);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  if (error != std::errc() || end != segment.data() + segment.size()) return std::nullopt;
  return index;
}

Outcome<std::optional<Value>> below(Value value, std::span<const std::string> segments) {
  for (const std::string& segment : segments) {
    if (const auto* map = value.map()) {
      const auto entry = map->find(segment);
      if (entry == map->end()) return std::nullopt;
      value = Value(entry->second);
    } else if (const auto* list = value.list()) {
      const auto index = index_of(segment);
      if (!index) return fails("Cannot access array/vector with string index, " + segment);
      if (*index >= list->size()) return std::nullopt;
      value = Value((*list)[*index]);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

}  // namespace

Outcome<std::optional<Value>> find(const Path& path, const Value& root, const Scopes& scopes) {
  const std::span<const std::string> segments(path.segments);
  if (path.from_root) return below(root, segments);
  if (!segments.empty()) {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (const auto named = scope->names.find(segments[0]); named != scope->names.end())
        return below(named->second, segments.subspan(1));
  }
  // Beyond the outermost block it is the innermost again.
  const std::size_t up = path.up < scopes.size() ? path.up : 0;
  return below(scopes[scopes.size() - 1 - up].context, segments);
}

std::optional<Value> find(const Variable& variable, const Scopes& scopes) {
  if (variable.up >= scopes.size()) return std::nullopt;
  const auto& variables = scopes[scopes.size() - 1 - variable.up].variables;
  const auto found = variables.find(variable.name);
  return found == variables.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tiphys::handlebars
