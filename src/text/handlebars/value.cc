#include "text/handlebars/value.h"

#include <algorithm>
#include <cmath>

#include "base/match.h"
#include "text/handlebars/number.h"

namespace tiphys::handlebars {

namespace {

Value::Map map_of(const Tree& tree) {
  Value::Map map;
  tree.entries(Empties::kKeep).for_each([&](const std::string& key, const Tree& entry) {
    map.emplace_hint(map.end(), key, entry);
  });
  return map;
}

Value::List list_of(const Tree::List& trees) {
  Value::List list;
  list.reserve(trees.size());
  for (const Tree& tree : trees) list.emplace_back(tree);
  return list;
}

}  // namespace

Value::Value(const Tree& tree) {
  if (const auto* boolean = tree.boolean())
    *this = Value(*boolean);
  else if (const auto* number = tree.number())
    *this = Value(Number(*number));
  else if (const auto* text = tree.string())
    *this = Value(*text);
  else if (const auto* list = tree.list())
    *this = Value(list_of(*list));
  else if (tree.is_map())
    *this = Value(map_of(tree));
}

bool Value::same_as(const Value& other) const {
  return !is_null() && boolean() == nullptr && number() == nullptr && value_ == other.value_;
}

bool is_truthy(const Value& value, bool include_zero) {
  if (const auto* boolean = value.boolean()) return *boolean;
  if (const auto* number = value.number())
    return include_zero ||
           std::visit([](auto n) { return std::isnormal(static_cast<double>(n)); }, *number);
  if (const auto* text = value.string()) return !text->empty();
  if (const auto* list = value.list()) return !list->empty();
  if (const auto* map = value.map()) return !map->empty();
  return false;
}

bool append_text(const Value& value, std::string& text, std::size_t max_bytes) {
  if (const auto* string = value.string()) {
    if (text.size() + string->size() > max_bytes) return false;
    text += *string;
  } else if (const auto* boolean = value.boolean()) {
    text += *boolean ? "true" : "false";
  } else if (const auto* number = value.number()) {
    text += to_string(*number);
  } else if (const auto* list = value.list()) {
    text += '[';
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (i > 0) text += ", ";
      if (!append_text((*list)[i], text, max_bytes)) return false;
    }
    text += ']';
  } else if (value.map() != nullptr) {
    text += "[object]";
  }
  return text.size() <= max_bytes;
}

bool equal(const Value& a, const Value& b, std::size_t& steps, std::size_t max_steps) {
  if (a.same_as(b)) return true;
  if (++steps > max_steps) return false;
  if (const auto* text = a.string()) return b.string() != nullptr && *text == *b.string();
  if (const auto* boolean = a.boolean()) return b.boolean() != nullptr && *boolean == *b.boolean();
  if (const auto* number = a.number()) return b.number() != nullptr && *number == *b.number();
  if (const auto* list = a.list()) {
    return b.list() != nullptr &&
           std::ranges::equal(*list, *b.list(), [&](const Value& x, const Value& y) {
             return equal(x, y, steps, max_steps);
           });
  }
  if (const auto* map = a.map()) {
    return b.map() != nullptr && map->size() == b.map()->size() &&
           std::ranges::equal(*map, *b.map(), [&](const auto& x, const auto& y) {
             return x.first == y.first && equal(x.second, y.second, steps, max_steps);
           });
  }
  return b.is_null();
}

std::optional<std::partial_ordering> compare(const Value& a, const Value& b) {
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() <=> *b.string();
  if (a.boolean() != nullptr && b.boolean() != nullptr) return *a.boolean() <=> *b.boolean();
  const auto number_of = [](const Value& value) -> std::optional<Number> {
    if (value.number() != nullptr) return *value.number();
    return value.string() == nullptr ? std::nullopt : parse_number(*value.string());
  };
  const auto left = number_of(a);
  const auto right = number_of(b);
  if (!left || !right) return std::nullopt;
  return compare(*left, *right);
}

}  // namespace tiphys::handlebars
