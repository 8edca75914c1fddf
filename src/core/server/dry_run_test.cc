#include "core/server/dry_run.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace tiphys::server {
namespace {

using Strings = std::vector<std::string>;

Tree workload(const std::string& agent, const std::string& config,
              const std::map<std::string, std::string>& configs = {}) {
  auto made = std::make_shared<Workload>();
  made->agent = agent;
  made->runtime = "podman";
  made->runtime_config = config;
  made->configs = configs;
  return WorkloadPtr(made);
}

class DryRunTest : public testing::Test {
 protected:
  DryRunTest() {
    State wanted;
    wanted.workloads = Tree::Map()
                           .set("db", workload("B", "pg"))
                           .set("rendered", workload("A", "port {{p}}", {{"p", "port"}}))
                           .set("web", workload("A", "nginx"));
    wanted.configs = Tree::Map().set("port", "80");
    const UpdatePlan plan = plan_state({}, {}, wanted).value();
    users_.follow({}, plan.desired.workloads);
    current_.desired = plan.desired;
    current_.effective_workloads = plan.effective_workloads;
  }

  // One line for each workload.
  Strings asked(const Tree::Map& workloads, const Strings& masks, const Tree::Map& configs = {}) {
    const Tree state = Tree::Map().set(
        "desiredState",
        Tree::Map().set("apiVersion", "v1").set("workloads", workloads).set("configs", configs));
    const auto run = dry_run(current_, users_, {state, masks});
    if (!run) return {run.error().message};
    Strings lines;
    for (const auto& planned : run->workloads) {
      EXPECT_EQ(planned.before.has_value(), planned.fate != Fate::kCreated);
      EXPECT_EQ(planned.after.has_value(), planned.fate != Fate::kDeleted);
      lines.push_back(concat(planned.name, " ", to_string(planned.fate),
                             planned.reasons.empty() ? "" : ": ", join(planned.reasons, "; ")));
    }
    return lines;
  }

  CompleteState current_;
  ConfigUsers users_;
};

TEST_F(DryRunTest, TellsTheFateOfEveryWorkloadThatAnUpdateNamesOrTouches) {
  auto tagged = std::make_shared<Workload>(*current_.desired.workload("web"));
  tagged->tags.edit() = {{"owner", "ops"}};
  EXPECT_EQ(asked(Tree::Map()
                      .set("api", workload("A", "api"))
                      .set("db", workload("C", "pg"))
                      .set("web", WorkloadPtr(tagged)),
                  {"desiredState.workloads"}),
            (Strings{"api created", "db replaced: agent changes from 'B' to 'C'",
                     "rendered deleted", "web updated: tags is added"}));
  EXPECT_EQ(asked(Tree::Map().set("web", workload("A", "nginx")).set("db", workload("B", "pg 16")),
                  {"desiredState.workloads.web", "desiredState.workloads.db"}),
            (Strings{"db replaced: runtimeConfig changes", "web unchanged"}));
}

TEST_F(DryRunTest, FollowsConfigItemsToTheirWorkloads) {
  EXPECT_EQ(asked({}, {"desiredState.configs.port"}, Tree::Map().set("port", "81")),
            Strings{"rendered replaced: config item 'port' changes; runtimeConfig changes"});
  EXPECT_EQ(asked({}, {"desiredState.configs.other"}, Tree::Map().set("other", "1")), Strings{});
}

TEST_F(DryRunTest, SaysWhyTheUpdateWouldBeRefused) {
  EXPECT_EQ(asked({}, {"desiredState.workloads.web.agent"}),
            Strings{"Update rejected: 'Resulting State is invalid, reason: 'Could not parse into "
                    "CompleteState: 'missing field `agent`'''"});
  auto waiting = std::make_shared<Workload>(*current_.desired.workload("web"));
  waiting->dependencies.edit() = {{"web", AddCondition::kRunning}};
  EXPECT_EQ(asked(Tree::Map().set("web", WorkloadPtr(waiting)), {"desiredState.workloads.web"}),
            Strings{"Update rejected: 'workload dependency 'web' is part of a cycle.'"});
}

}  // namespace
}  // namespace tiphys::server
