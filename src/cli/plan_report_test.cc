#include "cli/plan_report.h"

#include <gtest/gtest.h>

#include "text/yaml.h"

namespace tiphys::cli {
namespace {

Tree tree(std::string_view yaml) { return to_tree(parse_yaml(yaml).value()).value(); }

const Tree kBefore = tree("desiredState: {configs: {same: {a: b}, other: x, gone: y, stays: z}}");

TEST(PlanReport, TellsWhatBecomesOfConfigItems) {
  const UpdateStateRequest request{
      tree("desiredState: {configs: {same: {a: b}, other: [x], fresh: y}}"),
      {"desiredState.configs.fresh", "desiredState.configs.gone", "desiredState.configs.nothing",
       "desiredState.configs.other", "desiredState.configs.same", "desiredState.workloads.stays"}};
  EXPECT_EQ(planned_configs(kBefore, request),
            (std::vector<PlannedConfig>{{"fresh", Fate::kCreated},
                                        {"gone", Fate::kDeleted},
                                        {"other", Fate::kUpdated},
                                        {"same", Fate::kUnchanged}}));
}

TEST(PlanReport, KnowsWhetherAnythingChanges) {
  const PlannedWorkload same{"w", Fate::kUnchanged, {}, {}, {}};
  const PlannedWorkload other{"w", Fate::kUpdated, {}, {}, {}};
  EXPECT_FALSE((UpdateReport{}.changes_anything()));
  EXPECT_FALSE(
      (UpdateReport{{{same}, {"careful"}, {}}, {{"c", Fate::kUnchanged}}}.changes_anything()));
  EXPECT_TRUE((UpdateReport{{{same, other}, {}, {}}, {}}.changes_anything()));
  EXPECT_TRUE((UpdateReport{{{same}, {}, {}}, {{"c", Fate::kCreated}}}.changes_anything()));
}

TEST(PlanReport, SaysThatNothingHappens) {
  EXPECT_EQ(to_text({}, PlanFormat::kText, 80),
            "No workload would change.\n\n"
            "Workloads: 0 created, 0 replaced, 0 updated, 0 deleted, 0 unchanged\n");
  EXPECT_EQ(to_text({}, PlanFormat::kYaml, 80),
            "workloads: []\nconfigs: []\nwarnings: []\nhooks: []\n"
            "counts:\n  created: 0\n  replaced: 0\n  updated: 0\n  deleted: 0\n  unchanged: 0\n");
}

TEST(PlanReport, LetsNoReasonMoveTheCursor) {
  const PlannedWorkload odd{"w", Fate::kUpdated, {}, {}, {"tags.a changes to '\x1b[2J'"}};
  const std::string text = to_text({{{odd}, {"\x1b"}, {"\x1b"}}, {}}, PlanFormat::kText, 80);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

}  // namespace
}  // namespace tiphys::cli
