#pragma once

// In which order a writer puts the keys of a map: those named here first, in their order, the others after them, ascending.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tree.h"

namespace tiphys {

using KeyOrder = std::span<const std::string_view>;

// Visits the entries of the map in that order.
template <class Visit>
void for_each_ordered(const Tree::Map& map, KeyOrder first, Visit visit) {
  if (first.empty()) return map.for_each(visit);
  for (const auto key : first)
    if (const Tree* value = map.find(key)) visit(std::string(key), *value);
  map.for_each([&](const std::string& key, const Tree& value) {
    if (std::find(first.begin(), first.end(), key) == first.end()) visit(key, value);
  });
}

}  // namespace tiphys
