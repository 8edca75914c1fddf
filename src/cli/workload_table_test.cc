#include "cli/workload_table.h"

#include <gtest/gtest.h>

#include "text/yaml.h"

namespace tiphys::cli {
namespace {

Tree state(std::string_view yaml) { return to_tree(parse_yaml(yaml).value()).value(); }

const Tree kState = state(R"(
desiredState:
  workloads:
    w: {agent: a, runtime: podman}
  configs: {c2: x, c1: y}
workloadStates:
  b: {w: {'1': {state: Running, subState: Ok, additionalInfo: ''}}}
  a:
    w:
      '2': {state: Failed, subState: Lost, additionalInfo: " one\n two\t\x1b[2J "}
      '1': {state: Stopping, subState: Stopping, additionalInfo: ''}
    v: {'1': {state: Dreaming, subState: Ok}}
agents:
  a: {status: {cpuUsage: 7, freeMemory: 1024}}
  b: {}
)");

std::string name_of(const WorkloadRow& row) { return to_string(row.instance); }

TEST(WorkloadTable, OrdersRowsByWorkloadAgentAndId) {
  const auto rows = workload_rows(kState);
  ASSERT_EQ(rows.size(), 3U);  // nobody knows the state of v
  EXPECT_EQ(name_of(rows[0]), "w.1.a");
  EXPECT_EQ(name_of(rows[1]), "w.2.a");
  EXPECT_EQ(name_of(rows[2]), "w.1.b");
}

TEST(WorkloadTable, ShowsTheRuntimeOfTheWantedAgentOnly) {
  const auto rows = workload_rows(kState);
  EXPECT_EQ(rows[0].runtime, "podman");
  EXPECT_EQ(rows[2].runtime, "");
}

TEST(WorkloadTable, ShowsInfoOnOneLineThatMovesNoCursor) {
  const Table table = workload_table(workload_rows(kState));
  EXPECT_EQ(table.rows[0][3], "Stopping(Stopping)");
  EXPECT_EQ(table.rows[1][3], "Failed(Lost)");
  EXPECT_EQ(table.rows[1][4], "one,  two\t [2J");
}

TEST(WorkloadTable, FiltersByAllThatIsGiven) {
  const auto rows = workload_rows(kState);
  EXPECT_TRUE(WorkloadFilter{}.accepts(rows[0]));
  EXPECT_TRUE((WorkloadFilter{"a", "sTOPPING(stopping)", {"x", "w"}}.accepts(rows[0])));
  EXPECT_FALSE((WorkloadFilter{"b", {}, {}}.accepts(rows[0])));
  EXPECT_FALSE((WorkloadFilter{{}, "Stopping", {}}.accepts(rows[0])));
  EXPECT_FALSE((WorkloadFilter{{}, {}, {"v"}}.accepts(rows[0])));
}

TEST(WorkloadTable, CountsTheWorkloadsOfConnectedAgents) {
  const Table table = agent_table(kState);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"a", "3", "7%", "1024B"}));
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"b", "1", "", ""}));
}

TEST(WorkloadTable, ListsConfigsByName) {
  EXPECT_EQ(config_table(kState).rows, (std::vector<std::vector<std::string>>{{"c1"}, {"c2"}}));
}

TEST(WorkloadTable, TakesAnEmptyState) {
  EXPECT_TRUE(workload_rows(Tree()).empty());
  EXPECT_TRUE(agent_table(Tree()).rows.empty());
  EXPECT_TRUE(config_table(Tree()).rows.empty());
}

}  // namespace
}  // namespace tiphys::cli
