// Any bytes are YAML, JSON or TOML, or are refused; and a tree that was read comes back unchanged
// from what is written for it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/json.h"
#include "text/toml.h"
#include "text/yaml.h"
#include "text/yaml_writer.h"

namespace {

using tiphys::Parsed;
using tiphys::Tree;

Parsed<Tree> tree_of_yaml(std::string_view text) {
  const auto node = tiphys::parse_yaml(text, {.max_nodes = 10'000});
  if (!node) return tiphys::misparsed(node.error());
  return tiphys::to_tree(*node);
}

void expect_same(const Parsed<Tree>& read) {
  if (!read) return TIPHYS_CHECK(!read.error().offence.empty(), "refused without a reason");
  const auto yaml = tree_of_yaml(tiphys::write_yaml(*read));
  TIPHYS_CHECK(yaml.has_value() && *yaml == *read, "the tree changed in YAML");
  const auto json = tiphys::parse_json(tiphys::write_json(*read));
  TIPHYS_CHECK(json.has_value() && *json == *read, "the tree changed in JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_same(tree_of_yaml(text));
  expect_same(tiphys::parse_json(text));
  expect_same(tiphys::parse_toml(text));
  return 0;
}
