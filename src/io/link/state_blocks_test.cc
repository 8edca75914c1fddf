#include "io/link/state_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "base/strings.h"
#include "io/wire/wire.h"

namespace tiphys::link {
namespace {

WorkloadState state_of(int agent, int workload, const std::string& info = "") {
  return {{{concat("w_", std::to_string(workload))},
           {"id"},
           {concat("agent_", std::to_string(100 + agent))}},
          ExecutionState(Phase::kRunningOk, info)};
}

WorkloadStates states_of(int agents, int workloads_each, const std::string& info = "") {
  WorkloadStates states;
  for (int agent = 0; agent < agents; ++agent)
    for (int workload = 0; workload < workloads_each; ++workload)
      states.update(state_of(agent, workload, info));
  return states;
}

// What a peer reads from the messages.
std::vector<WorkloadState> read(const std::vector<rpc::Payload>& messages) {
  std::vector<WorkloadState> states;
  for (const auto& payload : messages) {
    const std::string bytes = payload.own + (payload.shared ? *payload.shared : "");
    EXPECT_LE(bytes.size(), wire::kPartLimit);
    const auto message = wire::decode_from_server(bytes);
    const auto* update = message ? std::get_if<UpdateWorkloadState>(&*message) : nullptr;
    if (update == nullptr) {
      ADD_FAILURE() << "no UpdateWorkloadState";
      continue;
    }
    states.insert(states.end(), update->states.begin(), update->states.end());
  }
  return states;
}

struct Blocks : ::testing::Test {
  boost::asio::io_context context;
  StateBlocks blocks{context.get_executor(), std::chrono::milliseconds(1)};
};

TEST_F(Blocks, EverybodyHearsOfAllOthers) {
  const WorkloadStates states = states_of(100, 10);
  for (const std::string name : {"agent_100", "agent_150", "agent_199", "other", "z"}) {
    const StatesOfOthers others{states, {name}};
    EXPECT_EQ(read(blocks.messages(others)), states.of_all_but({name})) << name;
  }
}

TEST_F(Blocks, WhatIsTheSameForSeveralIsEncodedOnce) {
  const WorkloadStates states = states_of(100, 10);
  const auto first = blocks.messages({states, {"agent_100"}});
  const auto second = blocks.messages({states, {"agent_101"}});
  ASSERT_EQ(first.size(), second.size());
  ASSERT_GT(first.size(), 2U);
  EXPECT_EQ(first[0].shared, nullptr);
  for (std::size_t i = 1; i < first.size(); ++i) {
    ASSERT_NE(first[i].shared, nullptr);
    EXPECT_EQ(first[i].shared, second[i].shared);
  }
}

TEST_F(Blocks, AChangeIsSeen) {
  WorkloadStates states = states_of(100, 10);
  (void)blocks.messages({states, {"z"}});
  states.update(state_of(50, 3, "changed"));
  states.remove(state_of(70, 3).instance);
  for (int each = 0; each < 10; ++each) states.remove(state_of(0, each).instance);
  EXPECT_EQ(read(blocks.messages({states, {"z"}})), states.of_all_but({"z"}));
}

TEST_F(Blocks, FewStatesAreOneMessage) {
  const WorkloadStates states = states_of(3, 2);
  EXPECT_EQ(blocks.messages({states, {"agent_100"}}).size(), 1U);
  EXPECT_EQ(blocks.messages({states, {"other"}}).size(), 1U);
  EXPECT_TRUE(blocks.messages({states_of(1, 2), {"agent_100"}}).empty());
  EXPECT_TRUE(blocks.messages({{}, {"agent_100"}}).empty());
}

TEST_F(Blocks, LongTextsAreCutAsElsewhere) {
  const WorkloadStates states = states_of(1, 50, std::string(100'000, 'x'));
  EXPECT_EQ(read(blocks.messages({states, {"other"}})), states.of_all_but({"other"}));
}

TEST_F(Blocks, AreForgottenWhenNobodyAsks) {
  (void)blocks.messages({states_of(100, 10), {"z"}});
  EXPECT_GT(blocks.kept(), 0U);
  context.run();
  EXPECT_EQ(blocks.kept(), 0U);
}

}  // namespace
}  // namespace tiphys::link
