#pragma once

// match(variant, [](const A&) {…}, [](const B&) {…}): one line per alternative; the compiler names
// the forgotten one.

#include <utility>
#include <variant>

namespace tiphys {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

template <class Variant, class... Cases>
decltype(auto) match(Variant&& variant, Cases&&... cases) {
  return std::visit(Overloaded<std::decay_t<Cases>...>{std::forward<Cases>(cases)...},
                    std::forward<Variant>(variant));
}

}  // namespace tiphys
