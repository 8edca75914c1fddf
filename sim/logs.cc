#include "sim/logs.h"

#include <vector>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::sim {

void LogCollector::ask(const CompleteState& state) {
  std::vector<InstanceName> known;
  state.effective_workloads.for_each([&](const std::string&, const Tree& value) {
    known.push_back(value.object<WorkloadSpec>()->instance());
  });
  Random& random = world_.random();
  LogsRequest request;
  request.follow = random.chance(1, 2);
  for (std::uint64_t i = random.below(4); i > 0 && !known.empty(); --i)
    request.instances.push_back(random.pick(known));
  if (random.chance(1, 5))
    request.instances.push_back({WorkloadName{"nobody"}, WorkloadId{"1"}, AgentName{"agent_1"}});
  const std::string id = concat(prefix_, std::to_string(++requests_));
  open_[id];
  world_.count("log requests");
  send_(Request{id, std::move(request)});
  world_.after(world_.draw(seconds(1), seconds(60)), [this, id] {
    if (!open_.contains(id)) return;
    world_.count("log requests cancelled");
    send_(Request{id, LogsCancelRequest{}});
  });
}

bool LogCollector::received(const Response& response) {
  const auto request = open_.find(response.id);
  if (request == open_.end()) return response.id.starts_with(prefix_);
  match(
      response.content,
      [&](const LogsRequestAccepted& accepted) {
        for (const auto& instance : accepted.instances) {
          // An answer that came twice does not make it wait again.
          if (request->second.accepted.emplace(instance, 0).second)
            request->second.waited_for.insert(instance);
        }
        if (request->second.accepted.empty()) open_.erase(request);
      },
      [&](const LogEntriesResponse& entries) {
        for (const auto& entry : entries.entries) check(response.id, request->second, entry);
      },
      [&](const LogsStopResponse& stop) {
        request->second.waited_for.erase(stop.instance);
        if (!request->second.waited_for.empty()) return;
        world_.count("log requests stopped");
        if (world_.random().chance(1, 2)) send_(Request{response.id, LogsCancelRequest{}});
        open_.erase(request);
      },
      [&](const LogsCancelAccepted&) { open_.erase(request); },
      [&](const ErrorResponse& error) {
        world_.fail(concat("a log request was refused: ", error.message));
      },
      [&](const auto&) { world_.fail("a log request got the answer to something else"); });
  return true;
}

void LogCollector::check(const std::string& id, Open& request, const LogEntry& entry) {
  const auto source = request.accepted.find(entry.instance);
  if (source == request.accepted.end())
    return world_.fail(concat("lines of ", to_string(entry.instance), " came to ", id));
  const auto words = split(entry.message, ' ');
  if (words.size() != 2 || words[0] != entry.instance.workload.value)
    return world_.fail(
        concat("'", entry.message, "' came as a line of ", to_string(entry.instance)));
  // A message that came twice repeats lines, and a request that came twice begins anew.
  const std::uint64_t number = std::stoull(std::string(words[1]));
  if (number > source->second + 1)
    world_.fail(concat("lines before '", entry.message, "' did not come to ", id));
  source->second = number;
  world_.count("log lines collected");
}

}  // namespace tiphys::sim
