#include "io/link/state_blocks.h"

#include <algorithm>
#include <iterator>

#include "io/wire/wire.h"

namespace tiphys::link {

namespace {

using Agents = std::vector<std::pair<std::string, Tree>>;

bool is_same(const Agents& one, const Agents& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.same_as(b.second);
  });
}

UpdateWorkloadState states_of(const StatesOfOthers& others, const Agents& agents) {
  UpdateWorkloadState update;
  for (const auto& [agent, workloads] : agents) {
    if (agent == others.recipient.value) continue;
    auto states = others.states.of_agent(AgentName{agent});
    std::ranges::move(states, std::back_inserter(update.states));
  }
  return update;
}

}  // namespace

std::vector<rpc::Payload> StateBlocks::messages(const StatesOfOthers& others) {
  std::vector<rpc::Payload> messages;
  Agents agents;
  std::size_t workloads = 0;
  others.states.tree().for_each([&](const std::string& agent, const Tree& of_agent) {
    agents.emplace_back(agent, of_agent);
    workloads += of_agent.entries().size();
    if (workloads < kWorkloads) return;
    add(others, std::exchange(agents, {}), messages);
    workloads = 0;
  });
  add(others, std::move(agents), messages);
  forget_later();
  return messages;
}

void StateBlocks::add(const StatesOfOthers& others, Agents agents,
                      std::vector<rpc::Payload>& messages) {
  const bool is_for_it_alone =
      std::ranges::any_of(agents, [&](const auto& e) { return e.first == others.recipient.value; });
  const auto in_parts = [&](UpdateWorkloadState update) {
    if (update.states.empty()) return;
    for (auto& part : wire::encode_in_parts(FromServer(std::move(update))))
      messages.push_back({.own = std::move(part)});
  };
  if (agents.empty() || is_for_it_alone) return in_parts(states_of(others, agents));

  Block& block = blocks_[agents.front().first];
  if (!block.body || !is_same(block.agents, agents)) {
    block.body = std::make_shared<const std::string>(wire::encode_body(states_of(others, agents)));
    block.agents = std::move(agents);
  }
  // Long texts of many workloads may be more than one message takes.
  if (block.body->size() > wire::kPartLimit) return in_parts(states_of(others, block.agents));
  messages.push_back({.own = wire::head_of_states(block.body->size()), .shared = block.body});
}

void StateBlocks::forget_later() {
  if (blocks_.empty()) return;
  timer_.expires_after(keep_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) blocks_.clear();
  });
}

}  // namespace tiphys::link
