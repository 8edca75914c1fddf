#include "core/server/dependencies.h"

#include <gtest/gtest.h>

#include <tuple>

namespace tiphys::server {
namespace {

using Strings = std::vector<std::string>;
using Edges = std::map<std::string, Strings>;

std::shared_ptr<Workload> waiting_for(const Strings& dependencies) {
  auto workload = std::make_shared<Workload>();
  for (const auto& name : dependencies)
    workload->dependencies.edit()[name] = AddCondition::kRunning;
  return workload;
}

State state_with(const Edges& edges) {
  State state;
  for (const auto& [name, dependencies] : edges)
    state.workloads = state.workloads.set(name, WorkloadPtr(waiting_for(dependencies)));
  return state;
}

// [utest->swdd~cycle-detection-stops-on-the-first-cycle~1]
// [utest->swdd~cycle-detection-ignores-non-existing-workloads~1]
TEST(FindCycle, NamesTheFirstOne) {
  using Row = std::tuple<std::string, Edges, Strings, Strings>;  // title, edges, starts, cycle
  for (const auto& [title, edges, starts, cycle] : std::vector<Row>{
           {"nothing", {}, {}, {}},
           {"itself", {{"a", {"a"}}}, {"a"}, {"a"}},
           {"two", {{"a", {"b"}}, {"b", {"a"}}}, {"a", "b"}, {"a", "b"}},
           {"from outside", {{"x", {"b"}}, {"a", {"b"}}, {"b", {"a"}}}, {"x"}, {"b", "a"}},
           {"not reached", {{"x", {}}, {"a", {"b"}}, {"b", {"a"}}}, {"x"}, {}},
           {"unknown names", {{"a", {"b", "nobody"}}, {"b", {"nobody"}}}, {"a", "nobody"}, {}},
           {"a diamond",
            {{"a", {"b", "c"}}, {"b", {"d"}}, {"c", {"d"}}, {"d", {}}},
            {"a", "b", "c"},
            {}},
           {"behind a diamond",
            {{"a", {"b", "c"}}, {"b", {"d"}}, {"c", {"d"}}, {"d", {"e"}}, {"e", {"d"}}},
            {"a"},
            {"d", "e"}},
           {"the last child is entered first",
            {{"a", {"b", "c"}}, {"b", {"b"}}, {"c", {"c"}}},
            {"a"},
            {"c"}},
           {"a dependency on the path is seen before others are entered",
            {{"a", {"b"}}, {"b", {"a", "c"}}, {"c", {"c"}}},
            {"a"},
            {"a", "b"}},
       }) {
    SCOPED_TRACE(title);
    EXPECT_EQ(find_cycle(state_with(edges), starts), cycle);
  }
}

TEST(FindCycle, FollowsChainsAsLongAsTheState) {
  Edges edges;
  for (int i = 0; i < 5'000; ++i) edges[std::to_string(i)] = {std::to_string(i + 1)};
  EXPECT_TRUE(find_cycle(state_with(edges), {"0"}).empty());
  edges["5000"] = {"0"};
  EXPECT_EQ(find_cycle(state_with(edges), {"0"}).size(), 5'001U);
}

WorkloadSpecPtr spec(const std::string& name, const std::shared_ptr<Workload>& workload) {
  return WorkloadSpec::make(name, workload).value();
}

TEST(DeleteGraph, HoldsWhoWaitsForARunningWorkload) {
  DeleteGraph graph;
  graph.added(*spec("web", waiting_for({"db", "cache"})));
  auto job = std::make_shared<Workload>();
  job->dependencies.edit() = {{"db", AddCondition::kSucceeded}, {"cache", AddCondition::kFailed}};
  graph.added(*spec("job", job));

  const std::map<std::string, DeleteCondition> only_web{
      {"web", DeleteCondition::kNotPendingNorRunning}};
  EXPECT_EQ(graph.conditions_of("db"), only_web);
  EXPECT_EQ(graph.conditions_of("cache"), only_web);
  EXPECT_TRUE(graph.conditions_of("web").empty());
}

TEST(DeleteGraph, ForgetsDependentsThatNoLongerWaitWhenAWorkloadIsRemoved) {
  DeleteGraph graph;
  const auto web = spec("web", waiting_for({"db"}));
  const auto api = spec("api", waiting_for({"db"}));
  const auto job = spec("job", waiting_for({"db"}));
  for (const auto& dependent : {web, api, job}) graph.added(*dependent);
  EXPECT_EQ(graph.conditions_of("db").size(), 3U);

  auto other = std::make_shared<Workload>();
  other->dependencies.edit() = {{"db", AddCondition::kSucceeded}};
  graph.removed("db", Tree::Map().set("web", web).set("job", spec("job", other)));
  EXPECT_EQ(graph.conditions_of("db").size(), 1U);
  EXPECT_TRUE(graph.conditions_of("db").contains("web"));

  graph.removed("db", {});
  EXPECT_TRUE(graph.conditions_of("db").empty());
  graph.removed("nobody", {});
}

}  // namespace
}  // namespace tiphys::server
