#pragma once

// The header fields of one HTTP message, in order, packed into one string: a call that waits costs little.

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace tiphys::rpc {

struct Field {
  std::string_view name;
  std::string_view value;
};

class Fields {
 public:
  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): the names are the standard library's
    using iterator_category = std::input_iterator_tag;
    using value_type = Field;
    using difference_type = std::ptrdiff_t;
    using pointer = const Field*;
    using reference = Field;
    // NOLINTEND(readability-identifier-naming)

    explicit Iterator(const char* at) : at_(at) {}
    Field operator*() const;
    Iterator& operator++();
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const char* at_;
  };

  void add(std::string_view name, std::string_view value);
  // The first value under this name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] bool empty() const { return packed_.empty(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  // HTTP's own measure: names, values, and 32 bytes for each field.
  [[nodiscard]] std::size_t list_size() const { return packed_.size() + count_ * (32 - 8); }

  // More than the limit was received; what is here is only the beginning.
  void mark_too_large() { is_too_large_ = true; }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }

  [[nodiscard]] Iterator begin() const { return Iterator(packed_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(packed_.data() + packed_.size()); }

 private:
  std::string packed_;  // for each field its two lengths, four bytes each, then name and value
  std::size_t count_ = 0;
  bool is_too_large_ = false;
};

}  // namespace tiphys::rpc
