#include "model/tree.h"

#include "base/match.h"

namespace tiphys {

const Tree::List* Tree::list() const {
  const auto* list = std::get_if<ListPtr>(&value_);
  return list == nullptr ? nullptr : list->get();
}

Tree::Map Tree::entries(Empties empties) const {
  if (const auto* map = std::get_if<Map>(&value_)) return *map;
  if (const auto* object = std::get_if<ObjectPtr>(&value_)) return (*object)->fields(empties);
  return {};
}

std::optional<Tree> Tree::child(std::string_view key) const {
  if (const auto* object = std::get_if<ObjectPtr>(&value_)) return (*object)->field(key);
  if (const auto* map = std::get_if<Map>(&value_))
    if (const Tree* entry = map->find(key)) return *entry;
  return std::nullopt;
}

std::string_view Tree::kind() const {
  return match(
      value_, [](std::monostate) { return "null"; }, [](bool) { return "a boolean"; },
      [](std::uint64_t) { return "a number"; }, [](const std::string&) { return "a string"; },
      [](const ListPtr&) { return "a list"; }, [](const Map&) { return "a map"; },
      [](const ObjectPtr&) { return "a map"; });
}

bool Tree::same_as(const Tree& other) const {
  const auto* map = std::get_if<Map>(&value_);
  const auto* other_map = std::get_if<Map>(&other.value_);
  if (map != nullptr && other_map != nullptr) return map->same_as(*other_map);
  return value_ == other.value_;  // lists and objects compare as pointers
}

bool operator==(const Tree& a, const Tree& b) {
  const auto* object_a = std::get_if<Tree::ObjectPtr>(&a.value_);
  const auto* object_b = std::get_if<Tree::ObjectPtr>(&b.value_);
  if (object_a != nullptr && object_b != nullptr && *object_a == *object_b) return true;
  if (object_a != nullptr || object_b != nullptr)
    return a.is_map() && b.is_map() && a.entries() == b.entries();
  const auto* list_a = a.list();
  const auto* list_b = b.list();
  if (list_a != nullptr && list_b != nullptr) return list_a == list_b || *list_a == *list_b;
  return a.value_ == b.value_;
}

}  // namespace tiphys
