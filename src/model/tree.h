#pragma once

// The state as people address it: nested maps, lists and scalars below names such as
// desiredState.workloads.nginx.
//
// A Tree never changes; what looks like a change gives a new tree that shares all but the path to
// the changed place. Typed values (a workload, an execution state) stand in a tree as Objects: they
// look like maps, and become maps only where somebody changes a field of one. So a state of 10,000
// workloads is read and changed at the price of one.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/persistent_map.h"

namespace tiphys {

// Does an object show its empty maps and lists? Users never see them; a masked update finds them,
// so that a first tag can be put into the (empty) map of tags.
enum class Empties : std::uint8_t { kOmit, kKeep };

// How many levels a tree may have. Trees are walked, compared and destroyed recursively, so whoever
// makes one from a text or a message of others must refuse what is nested deeper; set() refuses a
// longer path, and read_state() a deeper config item.
inline constexpr std::size_t kMaxTreeDepth = 128;

class Tree {
 public:
  using Map = PersistentMap<std::string, Tree>;
  using List = std::vector<Tree>;

  class Object {
   public:
    virtual ~Object() = default;
    // The field as fields(Empties::kOmit) would show it.
    [[nodiscard]] virtual std::optional<Tree> field(std::string_view key) const = 0;
    [[nodiscard]] virtual Map fields(Empties empties) const = 0;

   protected:
    Object() = default;
    Object(const Object&) = default;
    Object(Object&&) = default;
    Object& operator=(const Object&) = default;
    Object& operator=(Object&&) = default;
  };
  using ObjectPtr = std::shared_ptr<const Object>;

  Tree() = default;  // null
  template <std::same_as<bool> Bool>
  Tree(Bool value) : value_(value) {}
  template <std::unsigned_integral Number>
    requires(!std::same_as<Number, bool>)
  Tree(Number value) : value_(static_cast<std::uint64_t>(value)) {}
  Tree(const char* text) : value_(std::string(text)) {}
  Tree(std::string_view text) : value_(std::string(text)) {}
  Tree(std::string text) : value_(std::move(text)) {}
  Tree(List list) : value_(std::make_shared<const List>(std::move(list))) {}
  Tree(Map map) : value_(std::move(map)) {}
  template <std::derived_from<Object> T>
  Tree(std::shared_ptr<const T> object) : value_(ObjectPtr(std::move(object))) {}

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // True for a map and for an object, which looks like one.
  [[nodiscard]] bool is_map() const {
    return std::holds_alternative<Map>(value_) || std::holds_alternative<ObjectPtr>(value_);
  }

  // The value when it is of that kind, else nullptr.
  [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const std::uint64_t* number() const { return std::get_if<std::uint64_t>(&value_); }
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&value_); }
  [[nodiscard]] const List* list() const;
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> object() const {
    const auto* object = std::get_if<ObjectPtr>(&value_);
    return object == nullptr ? nullptr : std::dynamic_pointer_cast<const T>(*object);
  }

  // The entries of a map or the fields of an object; an empty map for anything else.
  [[nodiscard]] Map entries(Empties empties = Empties::kOmit) const;
  // The entry of a map or the field of an object.
  [[nodiscard]] std::optional<Tree> child(std::string_view key) const;

  // "a string", "a list", …: how an error message calls it.
  [[nodiscard]] std::string_view kind() const;

  // True when both share the same memory or are equal scalars: false says nothing, true costs
  // nothing to find out.
  [[nodiscard]] bool same_as(const Tree& other) const;

  // An object equals a map with the same fields. Two trees that share memory are equal without a
  // look inside.
  friend bool operator==(const Tree& a, const Tree& b);

 private:
  using ListPtr = std::shared_ptr<const List>;
  std::variant<std::monostate, bool, std::uint64_t, std::string, ListPtr, Map, ObjectPtr> value_;
};

}  // namespace tiphys
