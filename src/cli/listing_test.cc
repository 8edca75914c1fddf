#include "cli/listing.h"

#include <gtest/gtest.h>

#include "text/json.h"
#include "text/yaml.h"

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

Tree state(std::string_view yaml) { return to_tree(parse_yaml(yaml).value()).value(); }

const Tree kState = state(R"(
desiredState:
  workloads:
    a: {agent: '{{x}}', runtime: podman, runtimeConfig: c, configs: {x: text}}
  configs: {map: {a: b}, text: '0123456789', list: [a, b]}
effectiveState:
  workloads:
    a: {agent: one, runtime: podman, runtimeConfig: c, restartPolicy: ALWAYS}
workloadStates:
  one: {a: {'123456789012345': {state: Running, subState: Ok, additionalInfo: ''}}}
  two: {a: {'2': {state: Stopping, subState: Stopping, additionalInfo: ''}}}
agents:
  ten: {status: {cpuUsage: 10, freeMemory: 5}}
  two: {status: {cpuUsage: 2, freeMemory: 50}}
  new: {}
)");

std::string agents(std::string_view column) {
  return list_agents(kState, {.format = ListFormat::kName, .sort_by = std::string(column)}, 80);
}

TEST(Listing, FindsColumnsHoweverTheyAreWritten) {
  for (const char* name : {"WORKLOAD NAME", "workload-name", "Workload_Name", "name",
                           "restartPolicy", "restart policy", "state", "ID"})
    EXPECT_TRUE(is_column(ListKind::kWorkloads, name)) << name;
  for (const char* name : {"", "size", "names", "sub state"})
    EXPECT_FALSE(is_column(ListKind::kWorkloads, name)) << name;
  EXPECT_EQ(column_names(ListKind::kConfigs), (Words{"config", "kind", "size", "used-by"}));
  for (const auto kind : {ListKind::kWorkloads, ListKind::kAgents, ListKind::kConfigs})
    for (const auto& name : column_names(kind)) EXPECT_TRUE(is_column(kind, name)) << name;
}

TEST(Listing, SortsNumbersAsNumbers) {
  EXPECT_EQ(agents("name"), "new\nten\ntwo\n");
  EXPECT_EQ(agents("cpu usage"), "new\ntwo\nten\n");
  EXPECT_EQ(agents("freeMemory"), "new\nten\ntwo\n");
  EXPECT_EQ(agents("workloads"), "new\nten\ntwo\n");
}

TEST(Listing, ShowsWhatAnAgentGetsWhereTheServerSaysIt) {
  const Listing wide{.format = ListFormat::kWide};
  EXPECT_EQ(
      list_workloads(workload_rows(kState), kState, wide, 200),
      "WORKLOAD NAME   AGENT   RUNTIME   EXECUTION STATE      RESTART POLICY   DEPENDENCIES   "
      "TAGS   ID             ADDITIONAL INFO\n"
      "a               one     podman    Running(Ok)          ALWAYS                          "
      "       123456789012                  \n"
      "a               two               Stopping(Stopping)                                   "
      "       2                             \n");
}

TEST(Listing, NamesAWorkloadOnce) {
  EXPECT_EQ(list_workloads(workload_rows(kState), kState, {.format = ListFormat::kName}, 80),
            "a\n");
}

TEST(Listing, TellsProgramsWhatUsesAConfigAndHowLargeItIs) {
  const auto read = parse_json(list_configs(kState, {.format = ListFormat::kJson}, 80));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, state("[{name: list, kind: list, size: 2, usedBy: []}, "
                         "{name: map, kind: map, size: 1, usedBy: []}, "
                         "{name: text, kind: string, size: 10, usedBy: [a]}]"));
}

TEST(Listing, WithoutHeadersColumnsAreAsWideAsTheirCells) {
  EXPECT_EQ(list_agents(kState, {.has_headers = false}, 80),
            "new   0            \nten   0   10%   5B \ntwo   1   2%    50B\n");
  EXPECT_EQ(list_agents(state("{}"), {.has_headers = false}, 80), "");
}

}  // namespace
}  // namespace tiphys::cli
