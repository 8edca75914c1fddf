#pragma once

// A sorted map that never changes: set() and erase() give a new map that shares all but the path to
// the changed entry with the old one. Copying a map copies one pointer, so a snapshot is free.
//
// The map is a treap whose priorities are a hash of the keys. Maps with equal keys therefore have
// equal shapes however they came about, and equality and difference skip every subtree that two
// maps share: their cost follows the change, not the size. Expected depth is logarithmic; iteration
// is in ascending order of the keys.
//
// The standard library compares strings byte by byte, and so do we: the order is the same on every
// machine.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tiphys {

template <class Key, class Value>
class PersistentMap {
 public:
  PersistentMap() = default;

  [[nodiscard]] bool empty() const { return root_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_of(root_); }

  // The value of the key, or nullptr. It lives as long as any map that shares it.
  template <class Lookup>
  [[nodiscard]] const Value* find(const Lookup& key) const {
    const Node* node = root_.get();
    while (node != nullptr) {
      const int order = compare(key, node->key);
      if (order == 0) return &node->value;
      node = order < 0 ? node->left.get() : node->right.get();
    }
    return nullptr;
  }

  [[nodiscard]] PersistentMap set(Key key, Value value) const {
    const std::uint64_t priority = priority_of(key);
    return PersistentMap(insert(root_, std::move(key), std::move(value), priority));
  }

  // The map without the key; itself when the key is not there.
  template <class Lookup>
  [[nodiscard]] PersistentMap erase(const Lookup& key) const {
    return find(key) == nullptr ? *this : PersistentMap(erase(root_, key));
  }

  // Calls visit(key, value) in ascending order of the keys.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each(root_.get(), visit);
  }

  // Calls visit(key, old_value, new_value) in ascending order for every key whose value differs; a
  // value that one side does not have is nullptr.
  template <class Visit>
  static void difference(const PersistentMap& before, const PersistentMap& after, Visit&& visit) {
    difference(before.root_, after.root_, visit);
  }

  friend bool operator==(const PersistentMap& a, const PersistentMap& b) {
    return equal(a.root_, b.root_);
  }

  // True when both are the same map in memory, which costs nothing to ask.
  [[nodiscard]] bool same_as(const PersistentMap& other) const { return root_ == other.root_; }

 private:
  struct Node;
  using NodePtr = std::shared_ptr<const Node>;

  struct Node {
    Key key;
    Value value;
    NodePtr left;
    NodePtr right;
    std::size_t size;
    std::uint64_t priority;
  };

  // What is left of a tree on both sides of a key.
  struct Split {
    NodePtr less;
    NodePtr greater;
  };

  explicit PersistentMap(NodePtr root) : root_(std::move(root)) {}

  static std::size_t size_of(const NodePtr& node) { return node == nullptr ? 0 : node->size; }

  static NodePtr make(const Key& key, const Value& value, std::uint64_t priority, NodePtr left,
                      NodePtr right) {
    const std::size_t size = size_of(left) + size_of(right) + 1;
    return std::make_shared<const Node>(
        Node{key, value, std::move(left), std::move(right), size, priority});
  }
  static NodePtr remake(const Node& node, NodePtr left, NodePtr right) {
    return make(node.key, node.value, node.priority, std::move(left), std::move(right));
  }

  template <class A, class B>
  static int compare(const A& a, const B& b) {
    if constexpr (std::is_convertible_v<const A&, std::string_view> &&
                  std::is_convertible_v<const B&, std::string_view>) {
      return std::string_view(a).compare(std::string_view(b));
    } else {
      return a < b ? -1 : (b < a ? 1 : 0);
    }
  }

  static std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
  }

  static std::uint64_t priority_of(const Key& key) {
    std::uint64_t hash = 0;
    if constexpr (std::is_convertible_v<const Key&, std::string_view>)
      hash = hash_of(std::string_view(key));
    else if constexpr (requires { key.value; })
      hash = hash_of(key.value);
    else
      hash = static_cast<std::uint64_t>(key);
    hash ^= hash >> 33U;  // the low bits of such hashes are weak: mix them once more
    hash *= 0xff51afd7ed558ccdU;
    hash ^= hash >> 33U;
    hash *= 0xc4ceb9fe1a85ec53U;
    return hash ^ (hash >> 33U);
  }

  // Does the node with this key and priority stand above the other one? Keys break ties, so that
  // the shape is unique.
  static bool above(const Key& key, std::uint64_t priority, const Node& other) {
    return priority != other.priority ? priority > other.priority : compare(key, other.key) < 0;
  }

  static NodePtr insert(const NodePtr& node, Key&& key, Value&& value, std::uint64_t priority) {
    if (node == nullptr)
      return std::make_shared<const Node>(
          Node{std::move(key), std::move(value), nullptr, nullptr, 1, priority});
    const int order = compare(key, node->key);
    if (order == 0)
      return std::make_shared<const Node>(
          Node{node->key, std::move(value), node->left, node->right, node->size, node->priority});
    if (above(key, priority, *node)) {
      Split parts = split(node, key);
      const std::size_t size = size_of(parts.less) + size_of(parts.greater) + 1;
      return std::make_shared<const Node>(Node{std::move(key), std::move(value),
                                               std::move(parts.less), std::move(parts.greater),
                                               size, priority});
    }
    return order < 0 ? remake(*node, insert(node->left, std::move(key), std::move(value), priority),
                              node->right)
                     : remake(*node, node->left,
                              insert(node->right, std::move(key), std::move(value), priority));
  }

  template <class Lookup>
  static Split split(const NodePtr& node, const Lookup& key) {
    if (node == nullptr) return {};
    const int order = compare(key, node->key);
    if (order == 0) return {node->left, node->right};
    if (order < 0) {
      Split parts = split(node->left, key);
      parts.greater = remake(*node, std::move(parts.greater), node->right);
      return parts;
    }
    Split parts = split(node->right, key);
    parts.less = remake(*node, node->left, std::move(parts.less));
    return parts;
  }

  static NodePtr merge(const NodePtr& less, const NodePtr& greater) {
    if (less == nullptr) return greater;
    if (greater == nullptr) return less;
    return above(less->key, less->priority, *greater)
               ? remake(*less, less->left, merge(less->right, greater))
               : remake(*greater, merge(less, greater->left), greater->right);
  }

  template <class Lookup>
  static NodePtr erase(const NodePtr& node, const Lookup& key) {
    const int order = compare(key, node->key);
    if (order == 0) return merge(node->left, node->right);
    return order < 0 ? remake(*node, erase(node->left, key), node->right)
                     : remake(*node, node->left, erase(node->right, key));
  }

  template <class Visit>
  static void for_each(const Node* node, Visit& visit) {
    for (; node != nullptr; node = node->right.get()) {
      for_each(node->left.get(), visit);
      visit(node->key, node->value);
    }
  }

  static bool equal(const NodePtr& a, const NodePtr& b) {
    if (a == b) return true;
    if (a == nullptr || b == nullptr || a->size != b->size) return false;
    return a->key == b->key && a->value == b->value && equal(a->left, b->left) &&
           equal(a->right, b->right);
  }

  template <class Visit>
  static void difference(const NodePtr& before, const NodePtr& after, Visit& visit) {
    if (before == after) return;
    if (before == nullptr || after == nullptr) {
      auto visit_one_side = [&](const Key& key, const Value& value) {
        before == nullptr ? visit(key, nullptr, &value) : visit(key, &value, nullptr);
      };
      for_each(before == nullptr ? after.get() : before.get(), visit_one_side);
      return;
    }
    if (after->key == before->key) {
      difference(before->left, after->left, visit);
      if (!(before->value == after->value)) visit(before->key, &before->value, &after->value);
      difference(before->right, after->right, visit);
    } else if (above(before->key, before->priority, *after)) {
      // The upper root is missing on the other side, else it would be the root there too.
      const Split parts = split(after, before->key);
      difference(before->left, parts.less, visit);
      visit(before->key, &before->value, nullptr);
      difference(before->right, parts.greater, visit);
    } else {
      const Split parts = split(before, after->key);
      difference(parts.less, after->left, visit);
      visit(after->key, nullptr, &after->value);
      difference(parts.greater, after->right, visit);
    }
  }

  NodePtr root_;
};

}  // namespace tiphys
