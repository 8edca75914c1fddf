#include "io/runtimes/commands/config_reading.h"

#include <utility>

#include "base/strings.h"

namespace tiphys::commands {
namespace {

tl::unexpected<TextError> wrong_kind(const YamlNode& node, Path path, std::string_view expected) {
  return misparsed(
      {node.position, std::move(path), concat("expected ", expected, ", found ", kind(node))});
}

Parsed<std::string> text_of(const YamlNode& node, Path path) {
  if (node.kind != YamlNode::Kind::kScalar) return wrong_kind(node, std::move(path), "a string");
  return node.text;
}

}  // namespace

Parsed<YamlNode> read_config(std::string_view text, const std::string& mandatory_key) {
  auto config = parse_yaml(text);
  if (!config) return misparsed(config.error());
  const bool is_empty = config->kind == YamlNode::Kind::kScalar && config->text.empty();
  if (config->kind != YamlNode::Kind::kMap && !is_empty)
    return wrong_kind(*config, {}, concat("a map with the key `", mandatory_key, "`"));
  if (config->find(mandatory_key) == nullptr)
    return misparsed(config->position, concat("missing field `", mandatory_key, "`"));
  return config;
}

Parsed<std::optional<std::string>> read_text(const YamlNode& config, const std::string& key) {
  const YamlNode* node = config.find(key);
  if (node == nullptr) return std::nullopt;
  auto text = text_of(*node, {{key}});
  if (!text) return misparsed(std::move(text).error());
  return *std::move(text);
}

Parsed<std::vector<std::string>> read_texts(const YamlNode& config, const std::string& key) {
  const YamlNode* node = config.find(key);
  if (node == nullptr) return {};
  const bool has_no_value = node->kind == YamlNode::Kind::kScalar &&
                            node->style == YamlNode::Style::kPlain && node->text.empty();
  if (has_no_value) return {};
  if (node->kind != YamlNode::Kind::kList) return wrong_kind(*node, {{key}}, "a list");
  std::vector<std::string> texts;
  for (const auto& item : node->items) {
    auto text = text_of(item, {{key, std::to_string(texts.size())}});
    if (!text) return misparsed(std::move(text).error());
    texts.push_back(*std::move(text));
  }
  return texts;
}

tl::unexpected<shell::CreateError> unreadable_config(const TextError& error) {
  return tl::unexpected(shell::CreateError{.cause = concat("runtimeConfig: ", to_string(error)),
                                           .may_succeed_later = false});
}

}  // namespace tiphys::commands
