#include "io/rpc/fields.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tiphys::rpc {

namespace {

constexpr std::size_t kTypicalSize = 256;  // of a request's head

struct Lengths {
  std::uint32_t name;
  std::uint32_t value;
};
static_assert(sizeof(Lengths) == 8, "list_size() counts on it");

Lengths lengths_at(const char* at) {
  Lengths lengths;
  std::memcpy(&lengths, at, sizeof lengths);
  return lengths;
}

}  // namespace

Field Fields::Iterator::operator*() const {
  const Lengths lengths = lengths_at(at_);
  const char* name = at_ + sizeof lengths;
  return {.name = {name, lengths.name}, .value = {name + lengths.name, lengths.value}};
}

Fields::Iterator& Fields::Iterator::operator++() {
  const Lengths lengths = lengths_at(at_);
  at_ += sizeof lengths + lengths.name + lengths.value;
  return *this;
}

void Fields::add(std::string_view name, std::string_view value) {
  const Lengths lengths{static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())};
  if (packed_.empty()) packed_.reserve(kTypicalSize);
  const std::size_t end = packed_.size();
  packed_.resize(end + sizeof lengths + name.size() + value.size());
  char* const into = packed_.data() + end;
  std::memcpy(into, &lengths, sizeof lengths);
  std::copy(name.begin(), name.end(), into + sizeof lengths);
  std::copy(value.begin(), value.end(), into + sizeof lengths + name.size());
  ++count_;
}

std::optional<std::string_view> Fields::find(std::string_view name) const {
  for (const Field& field : *this)
    if (field.name == name) return field.value;
  return std::nullopt;
}

}  // namespace tiphys::rpc
