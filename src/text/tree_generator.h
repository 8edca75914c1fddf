#pragma once

// Trees for property tests: strings that are hard to write, in lists and maps inside each other.

#include <rapidcheck.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "model/tree.h"
#include "text/json.h"

namespace tiphys {

inline rc::Gen<std::string> nasty_string() {
  const auto piece = rc::gen::elementOf(std::vector<std::string>{"a",
                                                                 "b",
                                                                 "0",
                                                                 "1",
                                                                 "e",
                                                                 ".",
                                                                 "-",
                                                                 "+",
                                                                 " ",
                                                                 "  ",
                                                                 "\n",
                                                                 "\n\n",
                                                                 "\t",
                                                                 "\r",
                                                                 ":",
                                                                 ": ",
                                                                 " #",
                                                                 "#",
                                                                 "'",
                                                                 "\"",
                                                                 "\\",
                                                                 ",",
                                                                 "[",
                                                                 "]",
                                                                 "{",
                                                                 "}",
                                                                 "?",
                                                                 "!",
                                                                 "&",
                                                                 "*",
                                                                 "|",
                                                                 ">",
                                                                 "%",
                                                                 "@",
                                                                 "`",
                                                                 "=",
                                                                 "~",
                                                                 "null",
                                                                 "true",
                                                                 "---",
                                                                 "...",
                                                                 "0x",
                                                                 "_",
                                                                 "\xc2\x85",
                                                                 "\xc2\xa0",
                                                                 "\x1b",
                                                                 "\x7f",
                                                                 "\x01",
                                                                 "<<",
                                                                 "yes",
                                                                 "\xc3\xa4",
                                                                 "\xe2\x80\xa8",
                                                                 "\xe2\x80\xa9",
                                                                 "\xef\xbb\xbf",
                                                                 "\xef\xbf\xbe",
                                                                 "\xf0\x9f\x98\x80",
                                                                 std::string(1, '\0'),
                                                                 std::string(130, 'k')});
  return rc::gen::map(rc::gen::resize(6, rc::gen::container<std::vector<std::string>>(piece)),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const auto& part : pieces) text += part;
                        return text;
                      });
}

inline rc::Gen<Tree> tree_of_depth(std::size_t depth) {
  auto leaf = rc::gen::oneOf(
      rc::gen::map(nasty_string(), [](std::string text) { return Tree(std::move(text)); }),
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t n) { return Tree(n); }),
      rc::gen::element(Tree(), Tree(true), Tree(false)));
  if (depth == 0) return leaf;
  const auto child = tree_of_depth(depth - 1);
  const auto list = rc::gen::map(rc::gen::resize(3, rc::gen::container<Tree::List>(child)),
                                 [](Tree::List items) { return Tree(std::move(items)); });
  const auto map =
      rc::gen::map(rc::gen::resize(3, rc::gen::container<std::vector<std::pair<std::string, Tree>>>(
                                          rc::gen::pair(nasty_string(), child))),
                   [](const std::vector<std::pair<std::string, Tree>>& entries) {
                     Tree::Map result;
                     for (const auto& [key, value] : entries) result = result.set(key, value);
                     return Tree(result);
                   });
  return rc::gen::oneOf(leaf, list, map);
}

inline std::ostream& operator<<(std::ostream& out, const Tree& tree) {
  return out << write_json(tree);
}

}  // namespace tiphys

namespace rc {
template <>
struct Arbitrary<tiphys::Tree> {
  static Gen<tiphys::Tree> arbitrary() { return tiphys::tree_of_depth(4); }
};
}  // namespace rc
