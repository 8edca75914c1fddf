#pragma once

// JSON from and to trees. What is written is always the same for the same tree: keys in ascending
// order unless some come first. What is read must be one value in valid UTF-8, without a key twice
// in an object, and unless asked for otherwise with no numbers but unsigned integers, because a tree
// holds no others.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/tree.h"
#include "text/key_order.h"
#include "text/parsed.h"

namespace tiphys {

enum class JsonLayout : std::uint8_t {
  kCompact,  // one line without blanks
  kPretty,   // one entry a line, two blanks of indentation
};

// Without a line break at the end.
std::string write_json(const Tree& tree, JsonLayout layout = JsonLayout::kCompact,
                       KeyOrder first = {});

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20U;
  std::size_t max_depth = 128;  // arrays and objects inside each other
  // For the output of other programs: numbers that a tree cannot hold become strings as they were written.
  bool other_numbers_as_text = false;
};

Parsed<Tree> parse_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace tiphys
