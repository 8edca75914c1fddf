#pragma once

// What templates compute with: the values of JSON. Copying one is cheap, they share what they hold.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/tree.h"

namespace tiphys::handlebars {

// Integers keep their value, so 1 and 1.0 are two numbers. A negative integer is the std::int64_t.
using Number = std::variant<std::uint64_t, std::int64_t, double>;

class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value, std::less<>>;

  Value() = default;  // null
  explicit Value(bool boolean) : value_(boolean) {}
  explicit Value(Number number) : value_(number) {}
  explicit Value(std::string text) : value_(std::make_shared<const std::string>(std::move(text))) {}
  explicit Value(List list) : value_(std::make_shared<const List>(std::move(list))) {}
  explicit Value(Map map) : value_(std::make_shared<const Map>(std::move(map))) {}
  explicit Value(const Tree& tree);

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // The value when it is of that kind, else nullptr.
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const Number* number() const { return std::get_if<Number>(&value_); }
  [[nodiscard]] const std::string* string() const { return shared<std::string>(); }
  [[nodiscard]] const List* list() const { return shared<List>(); }
  [[nodiscard]] const Map* map() const { return shared<Map>(); }

  // Both are one and the same list, map or string; says nothing when false.
  [[nodiscard]] bool same_as(const Value& other) const;

 private:
  template <class T>
  [[nodiscard]] const T* shared() const {
    const auto* pointer = std::get_if<std::shared_ptr<const T>>(&value_);
    return pointer == nullptr ? nullptr : pointer->get();
  }

  std::variant<std::monostate, bool, Number, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Map>>
      value_;
};

// A condition: not empty, not false, not null, not zero. With include_zero zero counts as well.
bool is_truthy(const Value& value, bool include_zero = false);

// How a value looks in the text: a string as it is, a list as [a, b], a map as [object], null as nothing. Answers false,
// with some of it written, once the text is longer than max_bytes.
bool append_text(const Value& value, std::string& text, std::size_t max_bytes);

// Equal in kind and content. Counts what it compares into steps: maps may share so much that they are far larger than the
// memory they take.
bool equal(const Value& a, const Value& b, std::size_t& steps, std::size_t max_steps);

// Nothing for kinds that have no order. A string that is a number in JSON can be compared with a number.
std::optional<std::partial_ordering> compare(const Value& a, const Value& b);

// A number as JSON writes it, alone in the text.
std::optional<Number> parse_number(std::string_view text);

// A literal of a template as JSON; strings may also stand in single quotes when they are the whole literal.
std::optional<Value> parse_literal(std::string_view text);

}  // namespace tiphys::handlebars
