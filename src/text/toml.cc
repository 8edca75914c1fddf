#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_MAX_NESTED_VALUES 32

#include "text/toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/strings.h"

namespace tiphys {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxKeyParts = 32;

Position position_of_node(const toml::node& node) {
  const auto& begin = node.source().begin;
  return {std::max<std::size_t>(begin.line, 1), std::max<std::size_t>(begin.column, 1)};
}

// The library makes a table within a table of each part of a dotted key, without a limit, and takes
// them apart by recursion. So keys without end are found beforehand: dots between words, many on
// one line, with nothing else between them.
std::optional<std::size_t> find_endless_key(std::string_view text) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == ' ' || c == '\t' || c == '"' || c == '\'';
  };
  std::size_t dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '.') {
      if (!is_word(text[i])) dots = 0;
    } else if (i > 0 && text[i - 1] == '.') {
      dots = 0;
    } else if (++dots > kMaxKeyParts) {
      return i;
    }
  }
  return std::nullopt;
}

Parsed<Tree> convert(const toml::node& node);

Parsed<Tree> convert(const toml::table& table) {
  Tree::Map map;
  for (const auto& [key, value] : table) {
    auto tree = convert(value);
    if (!tree) return tree;
    map = map.set(std::string(key.str()), *std::move(tree));
  }
  return Tree(std::move(map));
}

Parsed<Tree> convert(const toml::array& array) {
  Tree::List list;
  for (const auto& item : array) {
    auto tree = convert(item);
    if (!tree) return tree;
    list.push_back(*std::move(tree));
  }
  return Tree(std::move(list));
}

Parsed<Tree> convert(const toml::node& node) {
  if (const auto* table = node.as_table()) return convert(*table);
  if (const auto* array = node.as_array()) return convert(*array);
  if (const auto* string = node.as_string()) return Tree(string->get());
  if (const auto* boolean = node.as_boolean()) return Tree(boolean->get());
  if (const auto* integer = node.as_integer(); integer != nullptr && integer->get() >= 0)
    return Tree(static_cast<std::uint64_t>(integer->get()));
  return misparsed(position_of_node(node), node.is_number()
                                               ? "only integers from 0 on are supported as numbers"
                                               : "dates and times are not supported");
}

}  // namespace

Parsed<Tree> parse_toml(std::string_view text) {
  if (text.size() > kMaxBytes)
    return misparsed(Position{},
                     concat("the text has ", std::to_string(text.size()), " bytes, more than ",
                            std::to_string(kMaxBytes), " are not read"));
  if (const std::size_t end = valid_utf8_prefix(text); end < text.size())
    return misparsed(position_of(text, end), "the text is not valid UTF-8");
  if (const auto offset = find_endless_key(text))
    return misparsed(position_of(text, *offset),
                     concat("a key of more than ", std::to_string(kMaxKeyParts), " parts"));
  const toml::parse_result result = toml::parse(text);
  if (result) return convert(result.table());
  const auto& error = result.error();
  return misparsed({std::max<std::size_t>(error.source().begin.line, 1),
                    std::max<std::size_t>(error.source().begin.column, 1)},
                   std::string(error.description()));
}

}  // namespace tiphys
