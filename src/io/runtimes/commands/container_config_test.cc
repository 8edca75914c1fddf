#include "io/runtimes/commands/container_config.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys::commands {
namespace {

shell::CreateResult<shell::ContainerSpec> read(std::string_view config) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "agent_A";
  workload->runtime = "podman";
  workload->runtime_config = config;
  return read_container_config(**WorkloadSpec::make("web", std::move(workload)));
}

using Texts = std::vector<std::string>;

TEST(ContainerConfig, ReadsAllFields) {
  const auto spec = read(R"(
generalOptions: ["--root", "/x"]
image: img.local/demo:1
commandOptions:
  - -e
  - K=V
commandArgs: [one, "two three"]
)");
  ASSERT_TRUE(spec) << spec.error().cause;
  EXPECT_EQ(spec->image, "img.local/demo:1");
  EXPECT_EQ(spec->general_options, (Texts{"--root", "/x"}));
  EXPECT_EQ(spec->create_options, (Texts{"-e", "K=V"}));
  EXPECT_EQ(spec->arguments, (Texts{"one", "two three"}));
  EXPECT_TRUE(spec->mounts.empty());
  EXPECT_TRUE(spec->labels.empty());
}

TEST(ContainerConfig, TakesAnyScalarAsItIsWritten) {
  for (const auto& [config, image] :
       std::vector<std::pair<std::string, std::string>>{{"image: x", "x"},
                                                        {"image: 5", "5"},
                                                        {"image: 1.50", "1.50"},
                                                        {"image: null", "null"},
                                                        {"image: true", "true"},
                                                        {"image: \"\"", ""},
                                                        {R"({"image": "x"})", "x"}}) {
    SCOPED_TRACE(config);
    const auto spec = read(config);
    ASSERT_TRUE(spec) << spec.error().cause;
    EXPECT_EQ(spec->image, image);
  }
  EXPECT_EQ(read("image: x\ncommandArgs: [1, true, ~, '', 0x10]")->arguments,
            (Texts{"1", "true", "~", "", "0x10"}));
}

TEST(ContainerConfig, AListWithoutAValueIsEmptyAndOtherKeysAreIgnored) {
  const auto spec =
      read("image: x\ncommandOptions:\ncommandArgs: []\ncommand_options: [-a]\nfoo: {}");
  ASSERT_TRUE(spec) << spec.error().cause;
  EXPECT_EQ(spec->create_options, Texts{});
  EXPECT_EQ(spec->arguments, Texts{});
}

TEST(ContainerConfig, SaysWhereAndWhatIsWrongAndThatItStaysSo) {
  for (const auto& [config, cause] : std::vector<std::pair<std::string, std::string>>{
           {"", "line 1, column 1: missing field `image`"},
           {"commandArgs: [x]", "line 1, column 1: missing field `image`"},
           {"just text", "line 1, column 1: expected a map with the key `image`, found a string"},
           {"- image: x", "line 1, column 1: expected a map with the key `image`, found a list"},
           {"image: [a]", "line 1, column 8: image: expected a string, found a list"},
           {"image: x\ncommandOptions: null",
            "line 2, column 17: commandOptions: expected a list, found null"},
           {"image: x\ncommandArgs: a b",
            "line 2, column 14: commandArgs: expected a list, found a string"},
           {"image: x\ncommandArgs: [a, {b: c}]",
            "line 2, column 18: commandArgs.1: expected a string, found a map"}}) {
    SCOPED_TRACE(config);
    const auto spec = read(config);
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().cause, "runtimeConfig: " + cause);
    EXPECT_FALSE(spec.error().may_succeed_later);
  }
  for (const auto* config : {"image: [unclosed", "image: a\nimage: b", "image: a\n---\nimage: b"}) {
    SCOPED_TRACE(config);
    const auto spec = read(config);
    ASSERT_FALSE(spec);
    EXPECT_TRUE(spec.error().cause.starts_with("runtimeConfig: line ")) << spec.error().cause;
    EXPECT_FALSE(spec.error().may_succeed_later);
  }
}

}  // namespace
}  // namespace tiphys::commands
