#pragma once

// Reads YAML into nodes that remember where they stood and how they were written.
//
// As in Ankaios a text with a byte order mark is refused: what is accepted here works there, too.
//
// What a plain scalar means is left to the caller: its source text is kept as it is. A mapping's
// keys are texts, and no key stands in it twice. Aliases are replaced by copies of what they name;
// `<<` is a key like any other. Nothing that is read can exhaust the stack, or take memory or time
// out of proportion to its size: the limits say where reading ends with an error.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tree.h"
#include "text/parsed.h"
#include "text/yaml_scalar.h"

namespace tiphys {

struct YamlLimits {
  std::size_t max_bytes = std::size_t{64} << 20U;  // of the text, and of all scalars after aliases
  std::size_t max_depth = 128;                     // lists and maps inside each other
  std::size_t max_nodes = 2'000'000;               // after aliases
};

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { kScalar, kList, kMap };
  enum class Style : std::uint8_t { kPlain, kQuoted, kBlock };

  Kind kind = Kind::kScalar;
  Style style = Style::kPlain;  // of a scalar
  Position position;
  std::string text;                // of a scalar
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in the order of the text

  // The value of a map's key, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Position position;  // of the key
  YamlNode value;
  YamlType key_type = YamlType::kString;  // what the key would be as a value
};

// What a scalar means: a quoted or block scalar is a string, a plain one what it looks like.
YamlType resolve(const YamlNode& scalar);

// "a string", "a list", …: how an error message calls the node.
std::string_view kind(const YamlNode& node);

// Reads a text of one document; without any, an empty plain scalar.
Parsed<YamlNode> parse_yaml(std::string_view text, const YamlLimits& limits = {});

// Reads any number of documents.
Parsed<std::vector<YamlNode>> parse_yaml_documents(std::string_view text,
                                                   const YamlLimits& limits = {});

// The node as a tree, with plain scalars as what they mean. Numbers that are no unsigned integers
// fail: a tree holds no others.
Parsed<Tree> to_tree(const YamlNode& node);

}  // namespace tiphys
