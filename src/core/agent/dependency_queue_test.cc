#include "core/agent/dependency_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/match.h"

namespace tiphys::agent {
namespace {

using Lines = std::vector<std::string>;

InstanceName instance(const std::string& name, const std::string& id = "1",
                      const std::string& agent = "A") {
  return {WorkloadName{name}, WorkloadId{id}, AgentName{agent}};
}

using AddConditions = std::map<std::string, AddCondition>;
using DeleteConditions = std::map<std::string, DeleteCondition>;

WorkloadSpecPtr spec(const std::string& name, const std::string& id, AddConditions conditions) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "A";
  workload->runtime = "podman";
  workload->dependencies = std::move(conditions);
  return WorkloadSpec::received(instance(name, id), std::move(workload)).value();
}

std::string text(const Operation& operation) {
  return match(
      operation, [](const CreateWorkload& o) { return "create " + to_string(o.spec->instance()); },
      [](const ChangeWorkload& o) {
        return "change " + to_string(o.old.instance) + " to " + to_string(o.spec->instance());
      },
      [](const ClearWorkload& o) { return "clear " + to_string(o.old); },
      [](const DeleteWorkload& o) { return "delete " + to_string(o.old.instance); });
}

class DependencyQueueTest : public testing::Test {
 protected:
  void is(const std::string& name, Phase phase, const std::string& agent = "B",
          const std::string& id = "1") {
    states.update({instance(name, id, agent), ExecutionState(phase)});
  }
  Lines arrive(Operation operation) {
    DependencyQueue::Answer answer;
    queue.arrive(std::move(operation), states, answer);
    return lines(answer);
  }
  Lines reconsider(const std::string& workload) {
    DependencyQueue::Answer answer;
    queue.reconsider(workload, states, answer);
    return lines(answer);
  }
  static Lines lines(const DependencyQueue::Answer& answer) {
    Lines lines;
    for (const auto& state : answer.waiting)
      lines.push_back(to_string(state.instance) + " " + to_string(state.state));
    for (const auto& operation : answer.ready) lines.push_back(text(operation));
    return lines;
  }

  const Operation create =
      CreateWorkload{spec("web", "1", {{"db", AddCondition::kRunning}}), std::nullopt};
  const Operation deletion = DeleteWorkload{
      {instance("db"), DeleteConditions{{"web", DeleteCondition::kNotPendingNorRunning}}}};

  static Operation change(AddConditions add, DeleteConditions remove) {
    return ChangeWorkload{spec("web", "2", std::move(add)),
                          {instance("web", "1"), std::move(remove)}};
  }
  static inline const AddConditions kNeedsDb{{"db", AddCondition::kRunning}};
  static inline const DeleteConditions kNeededByApp{
      {"app", DeleteCondition::kNotPendingNorRunning}};

  WorkloadStates states;
  DependencyQueue queue;
};

// -- Conditions ------------------------------------------------------------------------------------------------------

// [utest->swdd~workload-ready-to-create-on-fulfilled-dependencies~1]
// [utest->swdd~execution-states-of-workload-dependencies-fulfill-add-conditions~1]
TEST_F(DependencyQueueTest, ACreationNeedsOneInstanceOfEachDependencyInItsState) {
  const auto web = spec("web", "1",
                        {{"db", AddCondition::kRunning},
                         {"init", AddCondition::kSucceeded},
                         {"probe", AddCondition::kFailed}});
  EXPECT_FALSE(may_create(*web, states)) << "nobody has heard of them";
  is("db", Phase::kRunningOk);
  is("db", Phase::kFailedLost, "C", "2");  // another instance of the name
  is("init", Phase::kSucceededOk);
  EXPECT_FALSE(may_create(*web, states)) << "one is missing";
  is("probe", Phase::kFailedExecFailed);
  EXPECT_TRUE(may_create(*web, states));
  is("db", Phase::kPendingStarting);
  EXPECT_FALSE(may_create(*web, states)) << "no instance runs any more";
  EXPECT_TRUE(may_create(*spec("web", "1", {}), states)) << "nothing is awaited";
}

// [utest->swdd~workload-ready-to-delete-on-fulfilled-dependencies~1]
// [utest->swdd~execution-states-of-workload-dependencies-fulfill-delete-conditions~1]
TEST_F(DependencyQueueTest, ADeletionNeedsEveryInstanceOfEachDependentInItsState) {
  const DeletedWorkload old{
      instance("db"),
      {{"web", DeleteCondition::kNotPendingNorRunning}, {"app", DeleteCondition::kRunning}}};
  EXPECT_TRUE(may_delete(old, states)) << "what nobody has heard of is gone";
  is("app", Phase::kPendingStarting);
  EXPECT_FALSE(may_delete(old, states));
  is("app", Phase::kRunningOk);
  is("web", Phase::kSucceededOk);
  EXPECT_TRUE(may_delete(old, states));
  is("web", Phase::kRunningOk, "C", "2");
  EXPECT_FALSE(may_delete(old, states)) << "one of two instances runs";
  is("web", Phase::kPendingWaitingToStart, "C", "2");
  EXPECT_TRUE(may_delete(old, states)) << "who waits for the start holds nobody back";
}

// -- The rows of the table -------------------------------------------------------------------------------------------

// [utest->swdd~agent-enqueues-unfulfilled-create~1]
// [utest->swdd~agent-keeps-workloads-with-unfulfilled-workload-dependencies-in-queue~1]
TEST_F(DependencyQueueTest, ACreationWaitsAndSaysSoOnce) {
  EXPECT_EQ(arrive(create), (Lines{"web.1.A Pending(WaitingToStart)"}));
  is("db", Phase::kPendingStarting);
  EXPECT_EQ(reconsider("db"), Lines{});
  EXPECT_TRUE(queue.waits("web"));
  is("db", Phase::kRunningOk);
  EXPECT_EQ(reconsider("other"), Lines{}) << "nobody waits for that one";
  EXPECT_EQ(reconsider("db"), (Lines{"create web.1.A"}));
  EXPECT_FALSE(queue.waits("web"));
  EXPECT_EQ(reconsider("db"), Lines{});
}

TEST_F(DependencyQueueTest, ACreationWithAllItNeedsIsReady) {
  is("db", Phase::kRunningOk);
  EXPECT_EQ(arrive(create), (Lines{"create web.1.A"}));
}

// [utest->swdd~agent-enqueues-unfulfilled-delete~1]
TEST_F(DependencyQueueTest, ADeletionWaitsForItsDependents) {
  is("web", Phase::kRunningOk);
  EXPECT_EQ(arrive(deletion), (Lines{"db.1.A Stopping(WaitingToStop)"}));
  is("web", Phase::kPendingStarting);
  EXPECT_EQ(reconsider("web"), Lines{});
  states.update({instance("web", "1", "B"), ExecutionState(Phase::kRemoved)});
  EXPECT_EQ(reconsider("web"), (Lines{"delete db.1.A"}));
}

TEST_F(DependencyQueueTest, AChangeWithoutDependentsIsOneStep) {
  EXPECT_EQ(arrive(change({}, {})), (Lines{"change web.1.A to web.2.A"}));
}

// [utest->swdd~agent-handles-update-with-fulfilled-delete~1]
// [utest->swdd~agent-shall-not-enqueue-update-delete-only-workload-operation~1]
TEST_F(DependencyQueueTest, AChangeThatMayDeleteIsSplit) {
  EXPECT_EQ(arrive(change(kNeedsDb, {})),
            (Lines{"web.2.A Pending(WaitingToStart)", "clear web.1.A"}));
  EXPECT_EQ(reconsider("db"), Lines{});
  is("db", Phase::kRunningOk);
  EXPECT_EQ(reconsider("db"), (Lines{"change web.1.A to web.2.A"}));
}

TEST_F(DependencyQueueTest, AChangeOfWhatOthersDependOnIsAlwaysSplit) {
  EXPECT_EQ(
      arrive(change({}, kNeededByApp)),
      (Lines{"web.2.A Pending(WaitingToStart)", "clear web.1.A", "change web.1.A to web.2.A"}));
  EXPECT_FALSE(queue.waits("web"));
}

// [utest->swdd~agent-enqueues-update-with-unfulfilled-delete~1]
TEST_F(DependencyQueueTest, AChangeThatMayNotDeleteWaitsAsAWhole) {
  is("app", Phase::kRunningOk);
  EXPECT_EQ(arrive(change(kNeedsDb, kNeededByApp)), (Lines{"web.1.A Stopping(WaitingToStop)"}));
  is("db", Phase::kRunningOk);
  EXPECT_EQ(reconsider("db"), Lines{}) << "what it needs is not looked at yet";
  is("db", Phase::kFailedLost);
  is("app", Phase::kSucceededOk);
  EXPECT_EQ(reconsider("app"), (Lines{"web.2.A Pending(WaitingToStart)", "clear web.1.A"}));
  is("app", Phase::kRunningOk);
  EXPECT_EQ(reconsider("app"), Lines{}) << "the old one is gone, its conditions with it";
  is("db", Phase::kRunningOk);
  EXPECT_EQ(reconsider("db"), (Lines{"change web.1.A to web.2.A"}));
}

// -- What waits ------------------------------------------------------------------------------------------------------

TEST_F(DependencyQueueTest, WhatIsDroppedNeverComes) {
  arrive(create);
  const auto dropped = queue.drop("web");
  ASSERT_TRUE(dropped);
  EXPECT_EQ(text(*dropped), "create web.1.A");
  is("db", Phase::kRunningOk);
  EXPECT_EQ(reconsider("db"), Lines{});
  EXPECT_FALSE(queue.drop("web"));
}

TEST_F(DependencyQueueTest, KeepsTheContainerThatIsToBeStartedAgain) {
  const workload::ContainerId c1{"c1"};
  arrive(CreateWorkload{spec("web", "1", kNeedsDb), c1});
  EXPECT_TRUE(queue.keeps("podman", instance("web"), c1));
  EXPECT_FALSE(queue.keeps("containerd", instance("web"), c1));
  EXPECT_FALSE(queue.keeps("podman", instance("web"), workload::ContainerId{"c2"}));
  EXPECT_EQ(queue.waiting_spec("web")->instance(), instance("web"));
  EXPECT_EQ(queue.names(), Lines{"web"});
}

TEST_F(DependencyQueueTest, ThousandsWaitAndEachIsLookedAtOnlyForItsOwnDependency) {
  constexpr int kMany = 5000;
  for (int i = 0; i < kMany; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(arrive(CreateWorkload{spec("w" + n, "1", {{"d" + n, AddCondition::kRunning}}),
                                    std::nullopt})
                  .size(),
              1U);
  }
  is("d7", Phase::kRunningOk);
  EXPECT_EQ(reconsider("d7"), (Lines{"create w7.1.A"}));
  EXPECT_EQ(queue.names().size(), static_cast<std::size_t>(kMany - 1));
}

}  // namespace
}  // namespace tiphys::agent
