#pragma once

// A received message that a value may go on to read from after it was decoded.

#include <memory>

namespace tiphys::wire {

template <class Message>
using Kept = std::shared_ptr<const Message>;

// A part of a message, which keeps all of it.
template <class Whole, class Part>
Kept<Part> part_of(const Kept<Whole>& whole, const Part& part) {
  return Kept<Part>(whole, &part);
}

}  // namespace tiphys::wire
