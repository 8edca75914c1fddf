#pragma once

// A container that is empty in most of the objects that have one: it takes the room of a pointer until something is put
// into it. An empty std::map takes six times as much, and there are five such members in every workload.

#include <memory>
#include <utility>

namespace tiphys {

template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) : value_(value.empty() ? nullptr : std::make_unique<T>(std::move(value))) {}
  Rare(const Rare& other) : Rare(*other) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Rare() = default;

  const T& operator*() const {
    static const T kEmpty;
    return value_ == nullptr ? kEmpty : *value_;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  // To put something into it.
  T& edit() {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    return *value_;
  }

  [[nodiscard]] bool empty() const { return value_ == nullptr || value_->empty(); }
  [[nodiscard]] auto size() const { return (**this).size(); }
  [[nodiscard]] auto begin() const { return (**this).begin(); }
  [[nodiscard]] auto end() const { return (**this).end(); }

  friend bool operator==(const Rare& a, const Rare& b) { return *a == *b; }
  friend bool operator==(const Rare& a, const T& b) { return *a == b; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace tiphys
