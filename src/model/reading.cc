#include "model/reading.h"

#include "base/strings.h"

namespace tiphys {

std::string to_string(const FieldError& error) {
  return error.path.empty() ? error.offence : concat(to_string(error.path), ": ", error.offence);
}

Read<std::string> read_string(const Tree& tree, const Path& path) {
  if (const auto* text = tree.string()) return *text;
  return misread(path, concat("expected a string, found ", tree.kind()));
}

Read<std::vector<std::string>> read_strings(const Tree& tree, const Path& path) {
  const auto* list = tree.list();
  if (list == nullptr) return misread(path, concat("expected a list, found ", tree.kind()));
  std::vector<std::string> strings;
  for (const auto& item : *list) {
    TIPHYS_READ(std::string text, read_string(item, path.child(std::to_string(strings.size()))));
    strings.push_back(std::move(text));
  }
  return strings;
}

Read<std::string> read_required_string(const Tree& parent, const Path& path, std::string_view key) {
  const Tree::Map fields = parent.entries();
  const Tree* value = fields.find(key);
  if (value == nullptr) return misread(path, concat("missing field `", key, "`"));
  return at(path, key, read_string(*value, {}));
}

}  // namespace tiphys
