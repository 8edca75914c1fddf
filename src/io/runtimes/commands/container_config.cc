#include "io/runtimes/commands/container_config.h"

#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "text/yaml.h"

namespace tiphys::commands {
namespace {

tl::unexpected<TextError> wrong_kind(const YamlNode& node, Path path, std::string_view expected) {
  return misparsed(
      {node.position, std::move(path), concat("expected ", expected, ", found ", kind(node))});
}

Parsed<std::string> read_text(const YamlNode& node, Path path) {
  if (node.kind != YamlNode::Kind::kScalar) return wrong_kind(node, std::move(path), "a string");
  return node.text;
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
    auto text = read_text(item, {{key, std::to_string(texts.size())}});
    if (!text) return misparsed(std::move(text).error());
    texts.push_back(*std::move(text));
  }
  return texts;
}

Parsed<shell::ContainerSpec> read(std::string_view text) {
  const auto config = parse_yaml(text);
  if (!config) return misparsed(config.error());
  const bool is_empty = config->kind == YamlNode::Kind::kScalar && config->text.empty();
  if (config->kind != YamlNode::Kind::kMap && !is_empty)
    return wrong_kind(*config, {}, "a map with the key `image`");
  const YamlNode* image = config->find("image");
  if (image == nullptr) return misparsed(config->position, "missing field `image`");

  shell::ContainerSpec spec;
  auto image_name = read_text(*image, {{"image"}});
  if (!image_name) return misparsed(std::move(image_name).error());
  spec.image = *std::move(image_name);
  for (const auto& [key, list] : {std::pair{"generalOptions", &spec.general_options},
                                  {"commandOptions", &spec.create_options},
                                  {"commandArgs", &spec.arguments}}) {
    auto texts = read_texts(*config, key);
    if (!texts) return misparsed(std::move(texts).error());
    *list = *std::move(texts);
  }
  return spec;
}

}  // namespace

shell::CreateResult<shell::ContainerSpec> read_container_config(const WorkloadSpec& spec) {
  auto container = read(spec.workload().runtime_config);
  if (container) return *std::move(container);
  return tl::unexpected(
      shell::CreateError{.cause = concat("runtimeConfig: ", to_string(container.error())),
                         .may_succeed_later = false});
}

}  // namespace tiphys::commands
