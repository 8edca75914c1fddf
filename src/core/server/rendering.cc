#include "core/server/rendering.h"

#include <utility>

#include "base/strings.h"

namespace tiphys::server {
namespace {

// Every item that a workload names has to be there, whether a template uses it or not.
Result<Tree> template_context(const Workload& workload, const Tree::Map& configs) {
  Tree::Map context;
  for (const auto& [alias, key] : workload.configs) {
    const Tree* item = configs.find(key);
    if (item == nullptr)
      return fail(Code::kInvalidArgument,
                  concat("Workload references config key '", key, "' that does not exist"));
    context = context.set(alias, *item);
  }
  return Tree(context);
}

}  // namespace

// [impl->swdd~config-renderer-renders-workload-configuration~2]
Result<RenderedWorkload> render_workload(const WorkloadPtr& workload, const Tree::Map& configs) {
  if (workload->configs.empty()) return RenderedWorkload{workload, {}};
  TIPHYS_TRY(const Tree context, template_context(*workload, configs));
  auto rendered = std::make_shared<Workload>(*workload);
  rendered->configs = {};
  RenderedWorkload result;
  // [impl->swdd~server-delegate-template-render-to-external-library~1]
  const auto render = [&](std::string& text, std::string_view field) -> Status {
    auto output = handlebars::render(text, context);
    if (!output)
      return fail(Code::kInvalidArgument,
                  concat("Failed to render field '", field, "': '", output.error().message, "'"));
    text = std::move(output->text);
    for (auto& line : output->log) result.log.push_back(std::move(line));
    return {};
  };
  TIPHYS_REQUIRE(render(rendered->runtime_config, "runtimeConfig"));
  TIPHYS_REQUIRE(render(rendered->agent, "agent"));
  if (!rendered->files.empty())
    for (auto& file : rendered->files.edit())
      TIPHYS_REQUIRE(render(file.content, concat("files with mount point ", file.mount_point)));
  result.workload = std::move(rendered);
  return result;
}

}  // namespace tiphys::server
