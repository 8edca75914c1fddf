#include "cli/logs.h"

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <cstdio>
#include <set>
#include <utility>
#include <variant>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::cli {
namespace {

namespace asio = boost::asio;

// A text between quotes, as stock writes it here.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += concat("\\", std::string(1, c));
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u{%x}", static_cast<unsigned>(c));
      result += code.data();
    } else {
      result += c;
    }
  }
  return result + "\"";
}

tl::unexpected<Error> of_logs(const Error& error) {
  return fail(error.code,
              concat("Failed to get logs: 'ExecutionError(", quoted(error.message), ")'"));
}

LogsRequest request_of(const Logs& command, std::vector<InstanceName> instances) {
  LogsRequest request;
  request.instances = std::move(instances);
  if (command.follow) request.follow = true;
  if (command.tail >= 0) request.tail = command.tail;
  request.since = command.since;
  request.until = command.until;
  return request;
}

// The lines of one message, with the workload's name before each entry where it would not be clear.
std::string text_of(const LogEntriesResponse& response, bool with_names) {
  std::string text;
  for (const auto& entry : response.entries) {
    if (with_names) text += concat(entry.instance.workload.value, " ");
    text += concat(entry.message, "\n");
  }
  return text;
}

}  // namespace

Result<std::vector<InstanceName>> instances_of(const Tree& complete_state,
                                               const std::vector<std::string>& names) {
  const auto states = complete_state.child("workloadStates");
  if (!states)
    return fail(Code::kUnknown,
                "No workload states available to convert workload names to instance names.");
  std::vector<InstanceName> instances;
  std::set<std::string> seen;
  for (const auto& name : names) {
    if (!seen.insert(name).second) continue;
    const std::size_t before = instances.size();
    states->entries().for_each([&](const std::string& agent, const Tree& workloads) {
      if (const auto ids = workloads.child(name))
        ids->entries().for_each([&](const std::string& id, const Tree&) {
          instances.push_back({WorkloadName{name}, WorkloadId{id}, AgentName{agent}});
        });
    });
    if (instances.size() == before)
      return fail(Code::kUnknown, concat("Workload name '", name, "' does not exist."));
  }
  return instances;
}

asio::awaitable<Result<int>> LogsTask::perform(Logs command) {
  std::vector<std::string> masks{"workloadStates"};
  auto asking = talk_.complete_state(std::move(masks));
  const auto state = co_await std::move(asking);
  if (!state) co_return fail(state.error());
  const auto instances = instances_of(*state, command.names);
  if (!instances) co_return fail(instances.error());
  const bool with_names = command.shows_names || instances->size() > 1;

  auto requesting = talk_.request_logs(request_of(command, *instances));
  const auto campaign = co_await std::move(requesting);
  if (!campaign) co_return of_logs(campaign.error());
  // Before anything is shown, so that whoever has seen a line may end us in peace.
  talk_.end_by_signals();

  std::set<InstanceName> open(instances->begin(), instances->end());
  bool is_ended_by_signal = false;
  while (!open.empty() && !is_ended_by_signal) {
    auto waiting = talk_.next_logs(*campaign);
    const auto logs = co_await std::move(waiting);
    if (!logs && logs.error().code == Code::kCancelled) {
      is_ended_by_signal = true;
    } else if (!logs) {
      co_return of_logs(logs.error());
    } else {
      match(
          *logs, [&](const LogEntriesResponse& e) { console_.print(text_of(e, with_names)); },
          [&](const LogsStopResponse& e) { open.erase(e.instance); });
    }
  }
  if (is_ended_by_signal) {
    auto cancelling = talk_.cancel_logs(*campaign);
    co_await std::move(cancelling);
  }
  if (settings_.verbose)
    console_.debug(is_ended_by_signal ? "Ended by a signal" : "There are no more logs to come");
  auto leaving = talk_.say_goodbye();
  co_await std::move(leaving);
  co_return 0;
}

}  // namespace tiphys::cli
