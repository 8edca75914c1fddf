#include "text/manifest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "text/json.h"
#include "text/yaml_writer.h"

namespace tiphys {
namespace {

using Stage = ManifestError::Stage;

// One workload of a v1 manifest with the given fields beside the required ones.
std::string workload_with(const std::string& fields, const std::string& version = "v1") {
  return "apiVersion: " + version +
         "\nworkloads:\n  w:\n    agent: agent_A\n    runtime: podman\n    runtimeConfig: 'image: "
         "a'\n" +
         fields;
}

std::string json_of(const std::string& manifest) {
  const auto parsed = parse_manifest(manifest, "m.yaml");
  return parsed ? write_json(parsed->state.to_tree()) : to_string(parsed.error());
}

std::string error_of(std::string_view manifest) {
  const auto parsed = parse_manifest(manifest, "m.yaml");
  return parsed ? "no error" : to_string(parsed.error());
}

// [utest->swdd~stored-workload-spec-parses-yaml~1]
TEST(Manifest, IsReadIntoAState) {
  const auto manifest = parse_manifest(
      "apiVersion: v1\n"
      "workloads:\n"
      "  full:\n"
      "    agent: agent_A\n"
      "    runtime: podman\n"
      "    restartPolicy: ON_FAILURE\n"
      "    dependencies:\n"
      "      a: ADD_COND_RUNNING\n"
      "      b: ADD_COND_SUCCEEDED\n"
      "      c: ADD_COND_FAILED\n"
      "    tags:\n"
      "      owner: team a\n"
      "      '': e\n"
      "    runtimeConfig: |\n"
      "\n"
      "      image: x/{{alias}}\n"
      "\n"
      "    configs:\n"
      "      alias: c_str\n"
      "    controlInterfaceAccess:\n"
      "      allowRules:\n"
      "      - type: StateRule\n"
      "        operation: ReadWrite\n"
      "        filterMasks: ['*', desiredState.workloads.*]\n"
      "      denyRules:\n"
      "      - type: LogRule\n"
      "        workloadNames: [x, pl*]\n"
      "    files:\n"
      "    - mountPoint: /etc/a.txt\n"
      "      data: text\n"
      "    - mountPoint: /etc/b.bin\n"
      "      binaryData: QQ==\n"
      "configs:\n"
      "  c_str: value\n"
      "  list: [a, [b], {k: v}]\n"
      "  map: {a: x, b: {c: y}, empty: {}}\n",
      "m.yaml");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_TRUE(manifest->warnings.empty());
  EXPECT_EQ(write_json(manifest->state.to_tree()),
            R"({"apiVersion":"v1","configs":{"c_str":"value","list":["a",["b"],{"k":"v"}],)"
            R"("map":{"a":"x","b":{"c":"y"},"empty":{}}},"workloads":{"full":{"agent":"agent_A",)"
            R"("configs":{"alias":"c_str"},"controlInterfaceAccess":{"allowRules":[{"filterMasks":)"
            R"(["*","desiredState.workloads.*"],"operation":"ReadWrite","type":"StateRule"}],)"
            R"("denyRules":[{"type":"LogRule","workloadNames":["x","pl*"]}]},"dependencies":)"
            R"({"a":"ADD_COND_RUNNING","b":"ADD_COND_SUCCEEDED","c":"ADD_COND_FAILED"},"files":)"
            R"([{"data":"text","mountPoint":"/etc/a.txt"},{"binaryData":"QQ==","mountPoint":)"
            R"("/etc/b.bin"}],"restartPolicy":"ON_FAILURE","runtime":"podman","runtimeConfig":)"
            R"("image: x/{{alias}}","tags":{"":"e","owner":"team a"}}}})");
}

TEST(Manifest, MayHaveNothingButAVersion) {
  for (const char* text : {"apiVersion: v1\n", "apiVersion: v1\nworkloads:\nconfigs:\n",
                           "apiVersion: v1\nworkloads: {}\nconfigs: {}\n",
                           "---\n# comment\napiVersion: \"v1\"\n...\n", "{\"apiVersion\": \"v1\"}"})
    EXPECT_EQ(json_of(text), R"({"apiVersion":"v1","workloads":{}})") << text;
}

TEST(Manifest, TakesPlainScalarsByTheirSourceText) {
  for (const char* text :
       {"5", "", "~", "null", "true", "1.50", "0x10", "1e3", "2024-01-01", "yes", ".inf", "+1"}) {
    const auto manifest = parse_manifest(
        "apiVersion: v1\nworkloads:\n  7:\n    agent:\n"
        "    runtime: " +
            std::string(text) + "\n    runtimeConfig: " + text + "\n",
        "m.yaml");
    ASSERT_TRUE(manifest) << to_string(manifest.error());
    EXPECT_EQ(manifest->state.workload("7")->runtime_config, text);
    EXPECT_EQ(manifest->state.workload("7")->runtime, text);
    EXPECT_EQ(manifest->state.workload("7")->agent, "");
  }
  EXPECT_EQ(error_of("apiVersion: 1\n"),
            "m.yaml:1:13: apiVersion: Unsupported API version. Received '1', expected 'v1'");
}

TEST(Manifest, WantsStringsForConfigItemsTagsFilesAndRules) {
  for (const char* text : {"2024-01-01", "yes", "0x", "0123", "'1'", "\"true\""})
    EXPECT_EQ(error_of("apiVersion: v1\nconfigs:\n  a: " + std::string(text) + "\n"), "no error");
  EXPECT_EQ(error_of("apiVersion: v1\nconfigs:\n  a: true\n"),
            "m.yaml:3:6: configs.a: expected a string, found a boolean (true); quotes make it a "
            "string");
  EXPECT_EQ(error_of("apiVersion: v1\nconfigs:\n  a: [x, {b: -1.5}]\n"),
            "m.yaml:3:14: configs.a.1.b: expected a string, found a number (-1.5); quotes make it "
            "a string");
  EXPECT_EQ(error_of("apiVersion: v1\nconfigs:\n  a:\n"),
            "m.yaml:3:5: configs.a: expected a string, found nothing");
  EXPECT_EQ(error_of(workload_with("    tags:\n      a: 1\n")),
            "m.yaml:8:10: workloads.w.tags.a: expected a string, found a number (1); quotes make "
            "it a string");
  EXPECT_EQ(error_of(workload_with("    files:\n    - mountPoint: /a\n      data: 1\n")),
            "m.yaml:9:13: workloads.w.files.0.data: expected a string, found a number (1); quotes "
            "make it a string");
  EXPECT_EQ(
      error_of(workload_with("    controlInterfaceAccess:\n      allowRules:\n      - type: "
                             "StateRule\n        operation: Read\n        filterMasks: [1]\n")),
      "m.yaml:11:23: workloads.w.controlInterfaceAccess.allowRules.0.filterMasks.0: expected a "
      "string, found a number (1); quotes make it a string");
}

TEST(Manifest, OfTheOldVersionHasTagsInAList) {
  const auto manifest = parse_manifest(
      workload_with("    tags:\n    - {key: a, value: b}\n    - key: 1\n      value: x\n"
                    "    controlInterfaceAccess:\n      allowRules:\n      - type: StateRule\n"
                    "        operation: Read\n        filterMask: [agents]\n",
                    "v0.1"),
      "m.yaml");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_EQ(manifest->state.api_version, "v0.1");
  EXPECT_EQ(manifest->state.workload("w")->tags, (Tags{{"1", "x"}, {"a", "b"}}));
  EXPECT_EQ(manifest->state.workload("w")->access->allow_rules,
            (std::vector<AccessRule>{StateRule{Operation::kRead, {"agents"}}}));
  EXPECT_EQ(manifest->warnings,
            (std::vector<std::string>{"The provided state uses an old API version 'v0.1'. Please "
                                      "consider updating to the latest version 'v1'."}));
  for (const auto& [tags, error] : std::vector<std::pair<std::string, std::string>>{
           {"[{key: a}]", "m.yaml:7:12: workloads.w.tags.0: missing field `value`"},
           {"[{value: a}]", "m.yaml:7:12: workloads.w.tags.0: missing field `key`"},
           {"[a]", "m.yaml:7:12: workloads.w.tags.0: missing field `key`"},
           {"[{key: [], value: a}]",
            "m.yaml:7:12: workloads.w.tags.0: expected a tag of two strings, `key` and `value`"},
           {"[{key: a, value: []}]",
            "m.yaml:7:12: workloads.w.tags.0: expected a tag of two strings, `key` and `value`"},
           {"[{key: a, value: 5}]",
            "m.yaml:7:28: workloads.w.tags.0.value: expected a string, "
            "found a number (5); quotes make it a string"},
           {"[{key: a, value: b}, {key: a, value: c}]",
            "m.yaml:7:38: workloads.w.tags.1.key: duplicate entry with key \"a\""}})
    EXPECT_EQ(error_of(workload_with("    tags: " + tags + "\n", "v0.1")), error) << tags;
}

TEST(Manifest, OfTheNewVersionReadsTheOldNameOfFilterMasks) {
  const std::string start =
      "    controlInterfaceAccess:\n      denyRules:\n      - type: StateRule\n        operation: "
      "Read\n        filterMask: ['*']\n";
  const auto manifest = parse_manifest(workload_with(start), "m.yaml");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_EQ(manifest->state.workload("w")->access->deny_rules,
            (std::vector<AccessRule>{StateRule{Operation::kRead, {"*"}}}));
  EXPECT_EQ(error_of(workload_with(start + "        filterMasks: ['*']\n")),
            "m.yaml:11:21: workloads.w.controlInterfaceAccess.denyRules.0.filterMask: the same as "
            "`filterMasks`, which is there as well");
}

TEST(Manifest, SaysWhichFormTagsMustHave) {
  const std::string v1 =
      "m.yaml:7:11: workloads.w.tags: For API version 'v1', tags must be specified as a mapping "
      "(key-value pairs). Found tags as ";
  const std::string v01 =
      "m.yaml:7:11: workloads.w.tags: For API version 'v0.1', tags must be specified as a sequence "
      "(list of key-value entries). Found tags as ";
  for (const auto& [version, tags, error] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"v1", "[{key: a, value: b}]", v1 + "sequence for workload 'w'."},
           {"v1", "[]", v1 + "sequence for workload 'w'."},
           {"v1", "text", v1 + "scalar for workload 'w'."},
           {"v0.1", "{a: b}", v01 + "mapping for workload 'w'."},
           {"v0.1", "{}", v01 + "mapping for workload 'w'."}}) {
    const auto manifest =
        parse_manifest(workload_with("    tags: " + tags + "\n", version), "m.yaml");
    ASSERT_FALSE(manifest) << tags;
    EXPECT_EQ(to_string(manifest.error()), error);
    EXPECT_EQ(manifest.error().stage, Stage::kTags);
  }
  for (const char* version : {"v1", "v0.1"})
    EXPECT_EQ(error_of(workload_with("    tags:\n", version)), "no error");
  EXPECT_EQ(error_of(workload_with("    tags: [{key: a, value: b}]\n", "v3")),
            "m.yaml:1:13: apiVersion: Unsupported API version. Received 'v3', expected 'v1'");
}

// [utest->swdd~stored-workload-spec-checks-unique-name~1]
TEST(Manifest, ThatIsBrokenIsRefusedWithFileLineColumnAndPath) {
  const std::string access = "    controlInterfaceAccess:\n      allowRules:\n";
  const std::string rule = "workloads.w.controlInterfaceAccess.allowRules.0";
  const std::vector<std::tuple<Stage, std::string, std::string>> rows{
      // what is no manifest at all
      {Stage::kFields, "", "m.yaml:1:1: missing field `apiVersion`"},
      {Stage::kFields, "# x\n", "m.yaml:1:1: missing field `apiVersion`"},
      {Stage::kFields, "- a\n", "m.yaml:1:1: expected a map, found a list"},
      {Stage::kFields, "hello\n", "m.yaml:1:1: expected a map, found a string"},
      {Stage::kFields, "workloads: {}\n", "m.yaml:1:1: missing field `apiVersion`"},
      {Stage::kFields, "apiVersion: []\n",
       "m.yaml:1:13: apiVersion: expected a string, found a list"},
      {Stage::kSyntax, "apiVersion: v1\nworkloads: [\n", "m.yaml:3:1: "},
      {Stage::kSyntax, "apiVersion: v1\nworkloads:\n\tw: {}\n",
       "m.yaml:3:1: a tab may not be used as indentation"},
      {Stage::kSyntax, "apiVersion: v1\n---\napiVersion: v1\n", "m.yaml:2:1: a second document"},
      {Stage::kSyntax, "apiVersion: v1\nx: \xff\n", "m.yaml:2:4: the text is not valid UTF-8"},
      // keys that stand twice
      {Stage::kSyntax, "apiVersion: v1\napiVersion: v1\n",
       "m.yaml:2:1: duplicate entry with key \"apiVersion\", first at line 1, column 1"},
      {Stage::kSyntax, workload_with("    agent: b\n"),
       "m.yaml:7:5: workloads.w: duplicate entry with key \"agent\", first at line 4, column 5"},
      {Stage::kSyntax, workload_with("  w: {}\n"),
       "m.yaml:7:3: workloads: duplicate entry with key \"w\", first at line 3, column 3"},
      {Stage::kSyntax, "apiVersion: v1\nconfigs:\n  m:\n    a: x\n    a: y\n",
       "m.yaml:5:5: configs.m: duplicate entry with key \"a\", first at line 4, column 5"},
      // fields that are missing
      {Stage::kFields, "apiVersion: v1\nworkloads:\n  w:\n    runtime: r\n    runtimeConfig: c\n",
       "m.yaml:4:5: workloads.w: missing field `agent`"},
      {Stage::kFields, "apiVersion: v1\nworkloads:\n  w:\n    agent: a\n    runtimeConfig: c\n",
       "m.yaml:4:5: workloads.w: missing field `runtime`"},
      {Stage::kFields, "apiVersion: v1\nworkloads:\n  w:\n    agent: a\n    runtime: r\n",
       "m.yaml:4:5: workloads.w: missing field `runtimeConfig`"},
      {Stage::kFields,
       workload_with(access + "      - operation: Read\n        filterMasks: [a]\n"),
       "m.yaml:9:9: " + rule + ": missing field `type`"},
      {Stage::kFields, workload_with(access + "      - type: StateRule\n        operation: Read\n"),
       "m.yaml:9:9: " + rule + ": missing field `filterMasks`"},
      {Stage::kFields, workload_with("    files:\n    - data: x\n"),
       "m.yaml:8:7: workloads.w.files.0: missing field `mountPoint`"},
      // fields of the wrong type
      {Stage::kFields, "apiVersion: v1\nworkloads:\n  w:\n",
       "m.yaml:3:5: workloads.w: expected a map, found null"},
      {Stage::kFields, "apiVersion: v1\nworkloads:\n  - a\n",
       "m.yaml:3:3: workloads: expected a map, found a list"},
      {Stage::kFields, "apiVersion: v1\nworkloads: true\n",
       "m.yaml:2:12: workloads: expected a map, found a boolean"},
      {Stage::kFields, "apiVersion: v1\nworkloads: 5\n",
       "m.yaml:2:12: workloads: expected a map, found a number"},
      {Stage::kFields, "apiVersion: v1\nconfigs: []\n",
       "m.yaml:2:10: configs: expected a map, found a list"},
      {Stage::kFields,
       "apiVersion: v1\nworkloads:\n  w:\n    agent: a\n    runtime: r\n    runtimeConfig:\n      "
       "image: a\n",
       "m.yaml:7:7: workloads.w.runtimeConfig: expected a string, found a map"},
      {Stage::kFields, workload_with("    dependencies:\n"),
       "m.yaml:7:18: workloads.w.dependencies: expected a map, found null"},
      {Stage::kFields, workload_with("    configs:\n"),
       "m.yaml:7:13: workloads.w.configs: expected a map, found null"},
      {Stage::kFields, workload_with("    files:\n"),
       "m.yaml:7:11: workloads.w.files: expected a list, found null"},
      {Stage::kFields, workload_with("    files: {a: b}\n"),
       "m.yaml:7:12: workloads.w.files: expected a list, found a map"},
      {Stage::kFields, workload_with("    controlInterfaceAccess: []\n"),
       "m.yaml:7:29: workloads.w.controlInterfaceAccess: expected a map, found a list"},
      {Stage::kFields, workload_with("    restartPolicy: always\n"),
       "m.yaml:7:20: workloads.w.restartPolicy: unknown value 'always', expected one of NEVER, "
       "ON_FAILURE, ALWAYS"},
      {Stage::kFields, workload_with("    dependencies: {a: 5}\n"),
       "m.yaml:7:23: workloads.w.dependencies.a: unknown value '5', expected one of"},
      {Stage::kFields, workload_with(access + "      - type: OtherRule\n"),
       "m.yaml:9:15: " + rule + ".type: unknown value 'OtherRule'"},
      // content that breaks the rules
      {Stage::kContent, "apiVersion: v2\n",
       "m.yaml:1:13: apiVersion: Unsupported API version. Received 'v2', expected 'v1'"},
      {Stage::kContent,
       "apiVersion: v1\nworkloads:\n  w w: {agent: a, runtime: r, runtimeConfig: c}\n",
       "m.yaml:3:3: workloads.w w: Unsupported workload name 'w w'. Expected to have characters"},
      {Stage::kContent,
       "apiVersion: v1\nworkloads:\n  w: {agent: a b, runtime: r, runtimeConfig: c}\n",
       "m.yaml:3:14: workloads.w.agent: Unsupported agent name 'a b'. "},
      {Stage::kContent, workload_with("    configs:\n      a: c d\n"),
       "m.yaml:8:10: workloads.w.configs.a: Unsupported config reference key 'c d'. "},
      {Stage::kContent, workload_with("    configs:\n      a b: c\n"),
       "m.yaml:8:7: workloads.w.configs.a b: Unsupported config alias 'a b'. "},
      {Stage::kContent, "apiVersion: v1\nconfigs:\n  a.b: c\n",
       "m.yaml:3:3: configs.a.b: Unsupported config item key 'a.b'. "},
      {Stage::kContent, "apiVersion: v1\nconfigs:\n  a:\n  - b\n  - c: x\n    d e: f\n",
       "m.yaml:6:5: configs.a.1.d e: Unsupported config item key 'd e'. "},
      {Stage::kContent, "apiVersion: v1\nconfigs: {a: &x {k: v}, b: {<<: *x}}\n",
       "m.yaml:2:29: configs.b.<<: Unsupported config item key '<<'. "},
      {Stage::kContent,
       workload_with(access + "      - type: LogRule\n        workloadNames: ['a*b*']\n"),
       "m.yaml:9:9: " + rule + ": Expected at most one '*' symbol."},
      {Stage::kContent,
       workload_with("    controlInterfaceAccess:\n      denyRules:\n      - type: StateRule\n"
                     "        operation: Read\n        filterMasks: ['a..b']\n"),
       "m.yaml:9:9: workloads.w.controlInterfaceAccess.denyRules.0: Unsupported filter mask"},
  };
  for (const auto& [stage, text, error] : rows) {
    const auto manifest = parse_manifest(text, "m.yaml");
    ASSERT_FALSE(manifest) << text;
    EXPECT_EQ(to_string(manifest.error()).substr(0, error.size()), error) << text;
    EXPECT_EQ(manifest.error().stage, stage) << text;
  }
}

TEST(Manifest, LeavesATemplateToItsRendering) {
  const std::string start =
      "apiVersion: v1\nworkloads:\n  w:\n    agent: '{{a}}'\n    runtime: r\n"
      "    runtimeConfig: c\n";
  EXPECT_EQ(error_of(start + "    configs: {a: c}\n"), "no error");
  EXPECT_EQ(error_of(start),
            "m.yaml:4:12: workloads.w.agent: Unsupported agent name '{{a}}'. Only "
            "a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) allowed. Maximum "
            "length is 63 characters.");
}

TEST(Manifest, IgnoresUnknownFieldsWithAWarning) {
  const auto manifest = parse_manifest(
      workload_with(
          "    restartpolicy: -1.5\n    files:\n    - mountPoint: /a\n      data: x\n      "
          "mode: 420\n      binaryData: QQ==\nfoo: {bar: [~]}\n"),
      "m.yaml");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_EQ(
      manifest->warnings,
      (std::vector<std::string>{
          "m.yaml:7:20: workloads.w.restartpolicy: unknown field, ignored",
          "m.yaml:11:13: workloads.w.files.0.mode: unknown field, ignored",
          "m.yaml:12:19: workloads.w.files.0.binaryData: ignored, because the file has `data`",
          "m.yaml:13:6: foo: unknown field, ignored"}));
  EXPECT_EQ(manifest->state.workload("w")->files,
            (std::vector<File>{{"/a", File::Encoding::kText, "x"}}));

  std::string many = "apiVersion: v1\n";
  for (int i = 0; i < 100; ++i) many += "x" + std::to_string(i) + ": y\n";
  EXPECT_EQ(parse_manifest(many, "m.yaml")->warnings.size(), 20U);
}

TEST(Manifest, MayBeLarge) {
  std::string text = "apiVersion: v1\nworkloads:\n";
  for (int i = 0; i < 10'000; ++i)
    text += "  w" + std::to_string(i) +
            ":\n    agent: agent_A\n    runtime: podman\n    runtimeConfig: |\n      image: x\n";
  const auto manifest = parse_manifest(text, "m.yaml");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_EQ(manifest->state.workloads.size(), 10'000U);

  EXPECT_EQ(parse_manifest(text, "m.yaml", {.max_bytes = 1'000}).error().stage, Stage::kSyntax);
}

TEST(Manifest, OutputIsAManifestOfTheSameState) {
  const auto manifest = parse_manifest(
      workload_with(
          "    tags: {a: '1', b: 'true', c: \"x\\ny\"}\n    files:\n    - mountPoint: /a\n"
          "      data: \"  two\\nlines\\n\"\nconfigs:\n  17: '0123'\n  e: ''\n"),
      "m.yaml");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  const auto from_yaml = parse_manifest(write_yaml(manifest->state.to_tree()), "m.yaml");
  ASSERT_TRUE(from_yaml) << to_string(from_yaml.error());
  EXPECT_EQ(from_yaml->state, manifest->state);
  const auto from_json =
      parse_manifest(write_json(manifest->state.to_tree(), JsonLayout::kPretty), "m.json");
  ASSERT_TRUE(from_json) << to_string(from_json.error());
  EXPECT_EQ(from_json->state, manifest->state);
}

}  // namespace
}  // namespace tiphys
