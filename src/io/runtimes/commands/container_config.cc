#include "io/runtimes/commands/container_config.h"

#include <utility>

#include "io/runtimes/commands/config_reading.h"

namespace tiphys::commands {
namespace {

Parsed<shell::ContainerSpec> read(std::string_view text) {
  const auto config = read_config(text, "image");
  if (!config) return misparsed(config.error());
  shell::ContainerSpec spec;
  auto image = read_text(*config, "image");
  if (!image) return misparsed(std::move(image).error());
  spec.image = **std::move(image);
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
  return unreadable_config(container.error());
}

}  // namespace tiphys::commands
