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
        request->second.insert(accepted.instances.begin(), accepted.instances.end());
        if (request->second.empty()) open_.erase(request);
      },
      [&](const LogEntriesResponse& entries) {
        for (const auto& entry : entries.entries)
          if (entry.message != response.id)
            world_.fail(concat("log entries for ", entry.message, " came to ", response.id));
      },
      [&](const LogsStopResponse& stop) {
        request->second.erase(stop.instance);
        if (!request->second.empty()) return;
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

bool LogProvider::received(const FromServer& message) {
  if (const auto* request = std::get_if<LinkLogsRequest>(&message)) {
    begin(*request);
  } else if (const auto* cancel = std::get_if<LinkLogsCancel>(&message)) {
    std::erase_if(open_,
                  [&](const auto& entry) { return entry.first.first == cancel->request_id; });
  } else {
    return false;
  }
  return true;
}

void LogProvider::begin(const LinkLogsRequest& request) {
  const std::uint64_t endless = std::uint64_t{1} << 32U;
  for (const auto& instance : request.request.instances) {
    const Stream stream{request.request_id, instance};
    open_[stream] = ++last_serial_;
    write(stream, last_serial_,
          request.request.follow.value_or(false) ? endless : world_.random().below(5));
  }
}

void LogProvider::write(const Stream& stream, std::uint64_t serial, std::uint64_t entries) {
  world_.after(world_.draw(milliseconds(10), seconds(5)), [this, stream, serial, entries] {
    const auto open = open_.find(stream);
    if (open == open_.end() || open->second != serial) return;
    const auto& [id, instance] = stream;
    if (entries == 0) {
      open_.erase(open);
      send_(LinkLogsStop{id, {instance}});
      return;
    }
    // An entry tells the id that its collector gave: it must come to nobody else.
    send_(LinkLogEntries{id, {{LogEntry{instance, id.substr(id.find('@') + 1)}}}});
    write({id, instance}, serial, entries - 1);
  });
}

}  // namespace tiphys::sim
