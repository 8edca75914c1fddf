#pragma once

// A sorted map that never changes: set() and erase() give a new map that shares all but the path to
// the changed entry with the old one. Copying a map copies one pointer, so a snapshot is free.
//
// The map is a weight-balanced tree: no two halves of it differ by more than a factor of three, so
// its depth stays below 2.5 times the binary logarithm of its size whatever the keys are. (A treap
// with hashed keys was smaller, but whoever chooses the keys chooses its depth, and with it the
// cost of every operation and the depth of the stack.) Equality and difference skip every subtree
// that two maps share: their cost follows the change, not the size.
//
// Iteration is in ascending order of the keys. The standard library compares strings byte by byte,
// and so do we: the order is the same on every machine.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tiphys {

template <class Key, class Value>
class PersistentMap {
 public:
  PersistentMap() = default;

  // A map of entries in ascending order of their keys, each key once. It costs one allocation an
  // entry, where as many calls of set() would copy the path to each.
  static PersistentMap of_sorted(std::vector<std::pair<Key, Value>> entries) {
    return PersistentMap(balanced(entries.begin(), entries.end()));
  }

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
    return PersistentMap(insert(root_, std::move(key), std::move(value)));
  }

  // The map with all these entries set; they are in ascending order of their keys, each key once. Many of them cost little
  // more than an allocation each, where as many calls of set() would copy the path to each.
  [[nodiscard]] PersistentMap set_all(std::vector<std::pair<Key, Value>> entries) const {
    return PersistentMap(merge(root_, entries.begin(), entries.end()));
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

  // Calls visit(key, old_value, new_value) in ascending order for every key whose values are not
  // equal; a value that one side does not have is nullptr. The references and pointers hold during
  // the call.
  template <class Visit, class Equal = std::equal_to<>>
  static void difference(const PersistentMap& before, const PersistentMap& after, Visit&& visit,
                         const Equal& equal = {}) {
    difference(before.root_, after.root_, visit, equal);
  }

  friend bool operator==(const PersistentMap& a, const PersistentMap& b) {
    return equal(a.root_, b.root_);
  }

  // True when both are the same map in memory, which costs nothing to ask.
  [[nodiscard]] bool same_as(const PersistentMap& other) const { return root_ == other.root_; }

 private:
  struct Node;

  // As std::shared_ptr, but the count stands in the node: a node is two thirds of the size, and there are very many.
  class NodePtr {
   public:
    NodePtr() = default;
    NodePtr(std::nullptr_t) {}
    template <class... Parts>
    static NodePtr make(Parts&&... parts) {
      NodePtr made;
      made.node_ = new Node(std::forward<Parts>(parts)...);
      return made;
    }
    ~NodePtr() {
      if (node_ != nullptr && node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete node_;
    }
    NodePtr(const NodePtr& other) : node_(other.node_) {
      if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
    }
    NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    NodePtr& operator=(NodePtr other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }

    [[nodiscard]] const Node* get() const { return node_; }
    const Node* operator->() const { return node_; }
    const Node& operator*() const { return *node_; }
    friend bool operator==(const NodePtr& a, const NodePtr& b) { return a.node_ == b.node_; }
    friend bool operator==(const NodePtr& a, std::nullptr_t) { return a.node_ == nullptr; }

   private:
    const Node* node_ = nullptr;
  };

  struct Node {
    Node(Key the_key, Value the_value, NodePtr the_left, NodePtr the_right)
        : size(static_cast<std::uint32_t>(size_of(the_left) + size_of(the_right) + 1)),
          key(std::move(the_key)),
          value(std::move(the_value)),
          left(std::move(the_left)),
          right(std::move(the_right)) {}

    mutable std::atomic<std::uint32_t> references = 1;
    std::uint32_t size;
    Key key;
    Value value;
    NodePtr left;
    NodePtr right;
  };

  // What a tree holds below, at and above a key; `found` points into the tree that was split.
  struct Parts {
    NodePtr less;
    const Value* found = nullptr;
    NodePtr greater;
  };

  // One side may be this many times as large as the other before it is rotated; by one or by two
  // rotations as the halves of the larger side demand. Three and two are the pair of integers for
  // which both insertion and deletion are proven to restore the balance.
  static constexpr std::size_t kMaxImbalance = 3;
  static constexpr std::size_t kSingleRotation = 2;

  explicit PersistentMap(NodePtr root) : root_(std::move(root)) {}

  static std::size_t size_of(const NodePtr& node) { return node == nullptr ? 0 : node->size; }

  static bool outweighs(const NodePtr& a, const NodePtr& b) {
    return size_of(a) > kMaxImbalance * size_of(b);
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

  static NodePtr make(Key key, Value value, NodePtr left, NodePtr right) {
    return NodePtr::make(std::move(key), std::move(value), std::move(left), std::move(right));
  }

  template <class Iterator>
  static NodePtr balanced(Iterator begin, Iterator end) {
    if (begin == end) return nullptr;
    const Iterator middle = begin + (end - begin) / 2;
    NodePtr left = balanced(begin, middle);
    NodePtr right = balanced(middle + 1, end);
    return make(std::move(middle->first), std::move(middle->second), std::move(left),
                std::move(right));
  }

  // The node's entry above other children.
  static NodePtr remake(const Node& node, NodePtr left, NodePtr right) {
    return NodePtr::make(node.key, node.value, std::move(left), std::move(right));
  }

  // The node's entry above children of which one has just grown or shrunk by an entry.
  static NodePtr balance(const Node& node, NodePtr left, NodePtr right) {
    if (size_of(left) + size_of(right) <= 1) return remake(node, std::move(left), std::move(right));
    if (outweighs(right, left)) return rotate_left(node, std::move(left), right);
    if (outweighs(left, right)) return rotate_right(node, left, std::move(right));
    return remake(node, std::move(left), std::move(right));
  }

  static NodePtr rotate_left(const Node& node, NodePtr left, const NodePtr& right) {
    const NodePtr& inner = right->left;
    if (size_of(inner) < kSingleRotation * size_of(right->right))
      return remake(*right, remake(node, std::move(left), inner), right->right);
    return remake(*inner, remake(node, std::move(left), inner->left),
                  remake(*right, inner->right, right->right));
  }

  static NodePtr rotate_right(const Node& node, const NodePtr& left, NodePtr right) {
    const NodePtr& inner = left->right;
    if (size_of(inner) < kSingleRotation * size_of(left->left))
      return remake(*left, left->left, remake(node, inner, std::move(right)));
    return remake(*inner, remake(*left, left->left, inner->left),
                  remake(node, inner->right, std::move(right)));
  }

  static NodePtr insert(const NodePtr& node, Key&& key, Value&& value) {
    if (node == nullptr) return make(std::move(key), std::move(value), nullptr, nullptr);
    const int order = compare(key, node->key);
    if (order == 0) return make(std::move(key), std::move(value), node->left, node->right);
    return order < 0
               ? balance(*node, insert(node->left, std::move(key), std::move(value)), node->right)
               : balance(*node, node->left, insert(node->right, std::move(key), std::move(value)));
  }

  template <class Lookup>
  static NodePtr erase(const NodePtr& node, const Lookup& key) {
    const int order = compare(key, node->key);
    if (order < 0) return balance(*node, erase(node->left, key), node->right);
    if (order > 0) return balance(*node, node->left, erase(node->right, key));
    if (node->left == nullptr) return node->right;
    if (node->right == nullptr) return node->left;
    // The neighbour from the larger side takes the place of the erased entry.
    if (size_of(node->left) > size_of(node->right)) {
      const Node* last = node->left.get();
      while (last->right != nullptr) last = last->right.get();
      return balance(*last, erase(node->left, last->key), node->right);
    }
    const Node* first = node->right.get();
    while (first->left != nullptr) first = first->left.get();
    return balance(*first, node->left, erase(node->right, first->key));
  }

  // The node's entry between two trees of any sizes.
  static NodePtr link(const NodePtr& less, const Node& node, const NodePtr& greater) {
    if (outweighs(greater, less))
      return balance(*greater, link(less, node, greater->left), greater->right);
    if (outweighs(less, greater))
      return balance(*less, less->left, link(less->right, node, greater));
    return remake(node, less, greater);
  }

  // The tree with the entries set.
  template <class Iterator>
  static NodePtr merge(const NodePtr& node, Iterator begin, Iterator end) {
    if (begin == end) return node;
    if (node == nullptr) return balanced(begin, end);
    const auto is_less = [](const auto& entry, const Key& key) {
      return compare(entry.first, key) < 0;
    };
    const Iterator middle = std::lower_bound(begin, end, node->key, is_less);
    if (middle == end || compare(middle->first, node->key) != 0)
      return link(merge(node->left, begin, middle), *node, merge(node->right, middle, end));
    const Node replaced(std::move(middle->first), std::move(middle->second), nullptr, nullptr);
    return link(merge(node->left, begin, middle), replaced, merge(node->right, middle + 1, end));
  }

  static Parts split(const NodePtr& node, const Key& key) {
    if (node == nullptr) return {};
    const int order = compare(key, node->key);
    if (order == 0) return {node->left, &node->value, node->right};
    if (order < 0) {
      Parts parts = split(node->left, key);
      parts.greater = link(parts.greater, *node, node->right);
      return parts;
    }
    Parts parts = split(node->right, key);
    parts.less = link(node->left, *node, parts.less);
    return parts;
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
    if (size_of(a) != size_of(b)) return false;
    const Parts parts = split(b, a->key);
    return parts.found != nullptr && a->value == *parts.found && equal(a->left, parts.less) &&
           equal(a->right, parts.greater);
  }

  template <class Visit, class Equal>
  static void difference(const NodePtr& before, const NodePtr& after, Visit& visit,
                         const Equal& equal) {
    if (before == after) return;
    if (before == nullptr) {
      auto added = [&](const Key& key, const Value& value) { visit(key, nullptr, &value); };
      for_each(after.get(), added);
      return;
    }
    const Parts parts = split(after, before->key);
    difference(before->left, parts.less, visit, equal);
    if (parts.found == nullptr)
      visit(before->key, &before->value, nullptr);
    else if (!equal(before->value, *parts.found))
      visit(before->key, &before->value, parts.found);
    difference(before->right, parts.greater, visit, equal);
  }

  NodePtr root_;
};

}  // namespace tiphys
