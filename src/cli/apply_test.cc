#include "cli/apply.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "text/json.h"

namespace tiphys::cli {
namespace {

using Masks = std::vector<std::string>;

const ManifestText kOne{"one.yaml",
                        "apiVersion: v1\n"
                        "workloads:\n"
                        "  w: {agent: a, runtime: r, runtimeConfig: c, unknown: 1.5}\n"
                        "configs: {k: [x]}\n"};
const ManifestText kTwo{"two.yaml",
                        "apiVersion: v1\n"
                        "workloads:\n"
                        "  v: {runtime: r, runtimeConfig: c}\n"};

UpdateStateRequest request_of(const std::vector<ManifestText>& manifests,
                              const ApplyOptions& options) {
  return plan_apply(manifests, options).request.value().value();
}

std::string error_of(const std::vector<ManifestText>& manifests, const ApplyOptions& options = {}) {
  const auto plan = plan_apply(manifests, options);
  return plan.request ? "no error" : plan.request.error().message;
}

TEST(Apply, MakesOneUpdateOfAllManifests) {
  const auto request = request_of({kOne, kTwo}, {"b", false});
  EXPECT_EQ(request.update_masks, (Masks{"desiredState.configs.k", "desiredState.workloads.v",
                                         "desiredState.workloads.w"}));
  EXPECT_EQ(write_json(request.new_state),
            R"({"desiredState":{"apiVersion":"v1","configs":{"k":["x"]},"workloads":{)"
            R"("v":{"agent":"b","runtime":"r","runtimeConfig":"c"},)"
            R"("w":{"agent":"b","runtime":"r","runtimeConfig":"c","unknown":"1.5"}}}})");
}

TEST(Apply, KeepsTheAgentsOfTheManifestWithoutTheOption) {
  const auto request = request_of({kOne}, {});
  const auto agent = get(request.new_state, parse_path("desiredState.workloads.w.agent"));
  ASSERT_TRUE(agent);
  EXPECT_EQ(*agent, Tree("a"));
}

TEST(Apply, SendsAnEmptyStateToDelete) {
  const auto request = request_of({kTwo}, {std::nullopt, true});
  EXPECT_EQ(request.update_masks, (Masks{"desiredState.workloads.v"}));
  EXPECT_EQ(request.new_state, Tree(Tree::Map()));
}

TEST(Apply, HasNothingToDoWithoutEntries) {
  const auto plan = plan_apply({{"m", "apiVersion: v1\nworkloads: {}\nfoo: {a: b}\n"}}, {});
  ASSERT_TRUE(plan.request);
  EXPECT_FALSE(plan.request->has_value());
}

TEST(Apply, NamesThePlaceOfWhatItRefuses) {
  EXPECT_EQ(error_of({kTwo}),
            "No agent name specified -> use '--agent' option to specify! (two.yaml:3:3)");
  EXPECT_EQ(error_of({kOne, kOne}),
            "Multiple workloads with the same name 'w' found! (one.yaml:3:3)");
  EXPECT_EQ(
      error_of({{"m", "a: [\n"}}),
      "Invalid manifest data provided: m:2:1: did not find expected node content while parsing "
      "a flow node");
  EXPECT_EQ(error_of({{"m", "apiVersion: v1\nfoo: [{'a b': 1}]\n"}}),
            "Invalid mapping key 'a b': Expected to have characters in [a-zA-Z0-9_-]. (m:2:8)");
  EXPECT_EQ(error_of({{"m", "apiVersion: v1\nfoo: [{true: 1}]\n"}}),
            "Unsupported mapping key 'true': expected a string, found a boolean; quotes make it a "
            "string. (m:2:8)");
  for (const std::string part :
       {"workloads: {17: {agent: a, runtime: r, runtimeConfig: c}}", "configs: {17: x}"})
    EXPECT_EQ(error_of({{"m", "apiVersion: v1\n" + part}}),
              concat("The provided path does not exist! The name 17 is a number; quotes make it a "
                     "string. (m:2:",
                     std::to_string(part.find("17") + 1), ")"));
  EXPECT_EQ(error_of({{"m", ""}}),
            "Manifest schema validation failed:\nm:1:1: expected a map, found nothing");
  EXPECT_EQ(error_of({kOne, {"m", "apiVersion: v1\nworkloads: {w: {}}\n"}}),
            "Manifest schema validation failed:\n"
            "m:2:16: workloads.w: missing field `runtime`\n"
            "m:2:16: workloads.w: missing field `runtimeConfig`");
}

TEST(Apply, ReadsTheOldVersionWithAWarning) {
  const ManifestText old{"old.yaml",
                         "apiVersion: v0.1\n"
                         "workloads:\n"
                         "  w:\n"
                         "    agent: a\n"
                         "    runtime: r\n"
                         "    runtimeConfig: c\n"
                         "    tags: [{key: k, value: v}]\n"
                         "    controlInterfaceAccess:\n"
                         "      allowRules: [{type: StateRule, operation: Read, filterMask: [x]}]\n"
                         "configs: {c: 5}\n"};
  const auto plan = plan_apply({old}, {});
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0],
            "Warning: The manifest API version 'v0.1' is deprecated and support will be removed in "
            "future releases. Please update to the latest API version 'v1'.");
  ASSERT_TRUE(plan.request);
  EXPECT_EQ((*plan.request)->update_masks,
            (Masks{"desiredState.configs.c", "desiredState.workloads.w"}));
  EXPECT_EQ(write_json((*plan.request)->new_state),
            R"({"desiredState":{"apiVersion":"v1","workloads":{"w":{"agent":"a",)"
            R"("controlInterfaceAccess":{"allowRules":[{"filterMasks":["x"],"operation":"Read",)"
            R"("type":"StateRule"}]},"runtime":"r","runtimeConfig":"c","tags":{"k":"v"}}}}})");
}

TEST(Apply, WantsTagsOfTheOldVersionAsAList) {
  const ManifestText old{"old.yaml",
                         "apiVersion: v0.1\nworkloads: {w: {agent: a, tags: {k: v}}}\n"};
  const auto plan = plan_apply({old}, {});
  EXPECT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(error_of({old}),
            "For API version 'v0.1', tags must be specified as a sequence (list of key-value "
            "entries). Found tags as mapping for workload 'w'. (old.yaml:2:33)");
}

TEST(Apply, RefusesWhatIsNestedTooDeep) {
  std::string text = "apiVersion: v1\nconfigs: {c: ";
  for (int i = 0; i < 200; ++i) text += '[';
  EXPECT_TRUE(error_of({{"m", text}}).starts_with("Invalid manifest data provided: m:2:"));
}

TEST(StateObject, IsReadAsItLooks) {
  const auto state = read_state_object(
      {"s",
       "desiredState: {apiVersion: v1, workloads: {w: {agent: a}}}\nagents: {a: {tags: {z: x}}}"});
  ASSERT_TRUE(state);
  EXPECT_EQ(write_json(*state),
            R"({"agents":{"a":{"tags":{"z":"x"}}},)"
            R"("desiredState":{"apiVersion":"v1","workloads":{"w":{"agent":"a"}}}})");
  EXPECT_EQ(read_state_object({"s", ""}), Tree(Tree::Map()));
}

TEST(StateObject, NamesThePlaceOfWhatItRefuses) {
  const auto error = [](const std::string& text) {
    return read_state_object({"s", text}).error().message;
  };
  EXPECT_EQ(error("- a\n"), "s:1:1: expected a map, found a list");
  EXPECT_EQ(error("desiredState: {workloads: {}}\n"),
            "s:1:15: desiredState: missing field `apiVersion`");
  EXPECT_EQ(error("desiredState: {apiVersion: v1, workloads: {w: {agent: 5}}}\n"),
            "s:1:55: desiredState.workloads.w.agent: expected a string, found a number");
}

}  // namespace
}  // namespace tiphys::cli
