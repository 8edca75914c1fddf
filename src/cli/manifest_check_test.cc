#include "cli/manifest_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/strings.h"
#include "text/manifest_fields.h"

namespace tiphys::cli {
namespace {

using Lines = std::vector<std::string>;

Lines violations(const std::string& manifest, ApiVersion version = ApiVersion::kV1) {
  Lines lines;
  for (const auto& violation : find_violations(parse_yaml(manifest).value(), version))
    lines.push_back(to_string(violation, "m"));
  return lines;
}

// A good workload with these lines more.
std::string workload_with(const std::string& lines) {
  return "apiVersion: v1\nworkloads:\n  w:\n    runtime: r\n    runtimeConfig: c\n" + lines;
}

TEST(ManifestCheck, FindsNothingWrongWithAGoodManifest) {
  EXPECT_EQ(violations("apiVersion: v1\nworkloads:\nconfigs:\nfoo: [1.5]\n"), Lines{});
  EXPECT_EQ(violations(workload_with(R"(    agent: 'pre{{a.b}}post'
    restartPolicy: ON_FAILURE
    dependencies: {x: ADD_COND_SUCCEEDED}
    tags: {t: '1'}
    configs: {alias: config}
    files: [{mountPoint: /a, data: x}, {mountPoint: /b, binaryData: eA==}]
    controlInterfaceAccess:
      allowRules:
      - {type: StateRule, operation: Read, filterMasks: ['*', a.*.b]}
      denyRules:
      - {type: LogRule, workloadNames: ['*', 'a*b', w]}
configs:
  c: [a, {b: c}]
)")),
            Lines{});
}

TEST(ManifestCheck, FindsNothingWrongWithTheExamplesOfTheFields) {
  const FieldSpec& manifest = manifest_fields();
  EXPECT_EQ(violations(std::string(manifest.example)), Lines{});
  for (const auto& field : manifest.below) {
    const std::string version = field.name == "apiVersion" ? "" : "apiVersion: v1\n";
    EXPECT_EQ(violations(concat(version, field.example)), Lines{}) << field.name;
  }
  for (const auto& field : manifest.find("workloads")->below.front().below) {
    std::string lines = "apiVersion: v1\nworkloads:\n  w:\n";
    for (const std::string_view needed : {"runtime", "runtimeConfig"})
      if (needed != field.name) lines += concat("    ", needed, ": x\n");
    for (const auto line : split(field.example, '\n')) lines += concat("    ", line, "\n");
    EXPECT_EQ(violations(lines), Lines{}) << field.name;
  }
}

TEST(ManifestCheck, NamesTheMissingField) {
  EXPECT_EQ(violations("workloads: {}\n"), (Lines{"m:1:1: missing field `apiVersion`"}));
  EXPECT_EQ(violations("apiVersion: v1\nworkloads:\n  w:\n    agent: a\n"),
            (Lines{"m:4:5: workloads.w: missing field `runtime`",
                   "m:4:5: workloads.w: missing field `runtimeConfig`"}));
}

TEST(ManifestCheck, SaysWhatWasExpectedAndWhere) {
  for (const auto& [lines, expected] : std::vector<std::pair<std::string, std::string>>{
           {"    agent: 1",
            "m:6:12: workloads.w.agent: expected a string, found a number (1); "
            "quotes make it a string"},
           {"    agent:", "m:6:11: workloads.w.agent: expected a string, found nothing"},
           {"    agent: a b",
            "m:6:12: workloads.w.agent: 'a b' is no agent name. Only a-z, A-Z, 0-9 "
            "chars, underscore (_), hyphen (-) and templates {{alias}} allowed."},
           {"    agent: '{{}}'",
            "m:6:12: workloads.w.agent: '{{}}' is no agent name. Only a-z, A-Z, "
            "0-9 chars, underscore (_), hyphen (-) and templates {{alias}} "
            "allowed."},
           {"    restartPolicy: never",
            "m:6:20: workloads.w.restartPolicy: unknown value 'never', "
            "expected one of NEVER, ON_FAILURE, ALWAYS"},
           {"    dependencies: {x: NO}",
            "m:6:23: workloads.w.dependencies.x: unknown value 'NO', expected one of "
            "ADD_COND_RUNNING, ADD_COND_SUCCEEDED, ADD_COND_FAILED"},
           {"    tags: [a]", "m:6:11: workloads.w.tags: expected a map, found a list"},
           {"    files: {}", "m:6:12: workloads.w.files: expected a list, found a map"},
           {"    files: [{mountPoint: /a}]",
            "m:6:13: workloads.w.files.0: missing field `data` or `binaryData`"},
           {"    controlInterfaceAccess: {allowRules: [{type: X}]}",
            "m:6:50: workloads.w.controlInterfaceAccess.allowRules.0.type: unknown value 'X', "
            "expected one of StateRule, LogRule"},
           {"    controlInterfaceAccess: {denyRules: [{type: LogRule, workloadNames: ['a*b*']}]}",
            "m:6:74: workloads.w.controlInterfaceAccess.denyRules.0.workloadNames.0: 'a*b*' "
            "matches "
            "no workload; expected a name with at most one '*'"},
           {"    controlInterfaceAccess: {denyRules: [{type: StateRule, operation: Read, "
            "filterMasks: [a..b]}]}",
            "m:6:91: workloads.w.controlInterfaceAccess.denyRules.0.filterMasks.0: 'a..b' is no "
            "mask; expected names or '*', joined by '.'"},
           {"    configs: {a: b.c}",
            "m:6:18: workloads.w.configs.a: 'b.c' is no name. Only a-z, A-Z, 0-9 chars, underscore "
            "(_), and hyphen (-) allowed. Maximum length is 63 characters."},
           {"configs: {c: [x, 2]}",
            "m:6:18: configs.c.1: expected a string, found a number (2); "
            "quotes make it a string"},
           {"  '': {runtime: r, runtimeConfig: c}",
            "m:6:3: workloads.: a name must not be empty"}}) {
    SCOPED_TRACE(lines);
    EXPECT_EQ(violations(workload_with(lines + "\n")), (Lines{expected}));
  }
}

TEST(ManifestCheck, ReportsAllInTheOrderOfTheText) {
  EXPECT_EQ(
      violations("configs: {c: 5}\napiVersion: v2\nworkloads: 7\n"),
      (Lines{"m:1:14: configs.c: expected a string, found a number (5); quotes make it a string",
             "m:2:13: apiVersion: expected 'v1', found 'v2'",
             "m:3:12: workloads: expected a map, found a number (7)"}));
}

TEST(ManifestCheck, EndsAfterAScreenful) {
  std::string manifest = "apiVersion: v1\nconfigs:\n";
  for (int i = 0; i < 1000; ++i) manifest += "  c" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(violations(manifest).size(), 20U);
}

TEST(ManifestCheck, LooksOnlyAtWordsWithoutAMeaningInV01) {
  EXPECT_EQ(violations("apiVersion: v0.1\nworkloads: {w: 5, v: {tags: 7}}\nconfigs: {c: 5}\n",
                       ApiVersion::kV01),
            Lines{});
  EXPECT_EQ(
      violations("apiVersion: v0.1\nworkloads: {w: {restartPolicy: FOO}}\n", ApiVersion::kV01),
      (Lines{"m:2:32: workloads.w.restartPolicy: unknown value 'FOO', expected one of NEVER, "
             "ON_FAILURE, ALWAYS"}));
}

}  // namespace
}  // namespace tiphys::cli
