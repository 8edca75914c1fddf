#include "core/server/rendering.h"

#include <gtest/gtest.h>

#include <functional>

namespace tiphys::server {
namespace {

std::shared_ptr<Workload> with_templates() {
  auto workload = std::make_shared<Workload>();
  workload->agent = "{{agent}}";
  workload->runtime = "{{agent}}";
  workload->runtime_config = "image: {{image.name}}";
  workload->restart_policy = RestartPolicy::kAlways;
  workload->tags.edit() = {{"owner", "{{agent}}"}};
  workload->files.edit() = {{"/etc/{{agent}}", File::Encoding::kText, "on {{agent}}"},
                            {"/bin/x", File::Encoding::kBase64, "{{image.data}}"}};
  workload->configs.edit() = {{"agent", "place"}, {"image", "picture"}};
  return workload;
}

Tree::Map items() {
  return Tree::Map()
      .set("place", "A")
      .set("picture", Tree::Map().set("name", "nginx").set("data", "QUJD"));
}

// [utest->swdd~config-renderer-renders-workload-configuration~2]
// [utest->swdd~server-delegate-template-render-to-external-library~1]
TEST(RenderWorkload, RendersAgentRuntimeConfigAndFiles) {
  const auto rendered = render_workload(with_templates(), items());
  ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
  Workload expected = *with_templates();
  expected.agent = "A";
  expected.runtime_config = "image: nginx";
  expected.files.edit()[0].content = "on A";
  expected.files.edit()[1].content = "QUJD";
  expected.configs = {};
  EXPECT_EQ(*rendered->workload, expected);
}

TEST(RenderWorkload, LeavesAWorkloadWithoutConfigsAlone) {
  auto plain = with_templates();
  plain->configs = {};
  EXPECT_EQ(render_workload(plain, items())->workload, plain);
}

TEST(RenderWorkload, DoesNotRenderWhatAnItemHolds) {
  const auto rendered = render_workload(with_templates(), items().set("place", "{{image}}"));
  ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
  EXPECT_EQ(rendered->workload->agent, "{{image}}");
}

// [utest->swdd~config-renderer-supports-rendering-with-keeping-line-indent~1]
TEST(RenderWorkload, KeepsTheIndentOfAnItemOfSeveralLines) {
  auto workload = with_templates();
  workload->runtime_config = "list:\n  {{> indent content=agent}}\nend: 1";
  const auto rendered = render_workload(workload, items().set("place", "- a\n- b\n"));
  ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
  EXPECT_EQ(rendered->workload->runtime_config, "list:\n  - a\n  - b\nend: 1");
}

TEST(RenderWorkload, CollectsWhatTemplatesWriteToTheLog) {
  auto workload = with_templates();
  workload->agent = "A{{log \"for the operator\" level=\"warn\"}}";
  const auto rendered = render_workload(workload, items());
  ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
  EXPECT_EQ(rendered->log, (std::vector<handlebars::LogLine>{{"warn", "for the operator"}}));
}

TEST(RenderWorkload, NamesTheFieldThatCannotBeRendered) {
  const auto error_after = [](const std::function<void(Workload&)>& change) {
    auto workload = with_templates();
    change(*workload);
    const auto rendered = render_workload(workload, items());
    return rendered ? "" : rendered.error().message;
  };
  const std::string missing =
      "Error rendering \"Unnamed template\" line 1, col 1: Failed to access variable in strict "
      "mode "
      "Some(\"nope\")";
  EXPECT_EQ(error_after([](Workload& w) { w.agent = w.runtime_config = "{{nope}}"; }),
            "Failed to render field 'runtimeConfig': '" + missing + "'");
  EXPECT_EQ(error_after([](Workload& w) { w.agent = w.files.edit()[0].content = "{{nope}}"; }),
            "Failed to render field 'agent': '" + missing + "'");
  EXPECT_EQ(error_after([](Workload& w) { w.files.edit()[1].content = "{{nope}}"; }),
            "Failed to render field 'files with mount point /bin/x': '" + missing + "'");
  EXPECT_EQ(error_after([](Workload& w) { w.configs.edit()["unused"] = "absent"; }),
            "Workload references config key 'absent' that does not exist");
}

}  // namespace
}  // namespace tiphys::server
