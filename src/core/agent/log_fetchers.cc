#include "core/agent/log_fetchers.h"

#include <iterator>
#include <utility>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::agent {
namespace {

// About what an entry costs: each carries the name of its instance.
std::size_t cost_of(const LogEntry& entry) {
  constexpr std::size_t kHeads = 16;
  return entry.message.size() + entry.instance.workload.value.size() +
         entry.instance.id.value.size() + entry.instance.agent.value.size() + kHeads;
}

}  // namespace

LogEffects LogFetchers::request(const LinkLogsRequest& request, const Find& find) {
  LogEffects effects = cancel(request.request_id);
  LogsRequest options = request.request;
  options.instances.clear();
  std::set<InstanceName> seen;
  for (const auto& instance : request.request.instances) {
    if (!seen.insert(instance).second) continue;
    auto [is_known, source] = find(instance.workload);
    if (!source) {
      effects.emplace_back(LogsComplaint{
          concat("Could not start collecting logs for '", instance.workload.value,
                 is_known ? "' as it has no workload ID yet." : "': there is no such workload.")});
      effects.emplace_back(LinkLogsStop{request.request_id, {instance}});
      continue;
    }
    const FetchNumber number = ++last_fetch_;
    campaigns_[request.request_id].insert(number);
    fetches_.emplace(number, Fetch{request.request_id, instance});
    effects.emplace_back(
        FetchLogs{number, std::move(source->runtime), std::move(source->container), options});
  }
  return effects;
}

LogEffects LogFetchers::cancel(const std::string& request_id) {
  LogEffects effects;
  if (const auto campaign = campaigns_.extract(request_id); !campaign.empty())
    stop_all(campaign.mapped(), effects);
  return effects;
}

void LogFetchers::stop_all(const std::set<FetchNumber>& fetches, LogEffects& effects) {
  for (const auto number : fetches)
    if (const auto fetch = fetches_.extract(number); !fetch.mapped().has_ended)
      effects.emplace_back(StopFetching{number});
}

LogEffects LogFetchers::arrived(FetchNumber number, std::vector<std::string> lines) {
  LogEffects effects;
  const auto fetch = fetches_.find(number);
  if (fetch == fetches_.end()) return effects;  // it was stopped when they were on their way
  auto& waiting = fetch->second.lines;
  waiting.insert(waiting.end(), std::make_move_iterator(lines.begin()),
                 std::make_move_iterator(lines.end()));
  wait(number, fetch->second);
  send_waiting(effects);
  return effects;
}

LogEffects LogFetchers::ended(FetchNumber number, const std::string& cause) {
  LogEffects effects;
  const auto fetch = fetches_.find(number);
  if (fetch == fetches_.end()) return effects;
  if (!cause.empty())
    effects.emplace_back(
        LogsComplaint{concat("Collecting the logs of '", fetch->second.instance.workload.value,
                             "' has ended: ", cause)});
  fetch->second.has_ended = true;
  wait(number, fetch->second);
  send_waiting(effects);
  return effects;
}

LogEffects LogFetchers::sent(ReceiptNumber receipt) {
  LogEffects effects;
  const auto unsent = unsent_.extract(receipt);
  if (unsent.empty()) return effects;
  unsent_bytes_ -= unsent.mapped().bytes;
  const auto fetch = fetches_.find(unsent.mapped().fetch);
  if (fetch != fetches_.end() && !fetch->second.has_ended)
    effects.emplace_back(ContinueFetching{fetch->first});
  send_waiting(effects);
  return effects;
}

LogEffects LogFetchers::connected() {
  connected_ = true;
  LogEffects effects;
  send_waiting(effects);
  return effects;
}

LogEffects LogFetchers::disconnected(bool cleanly) {
  connected_ = false;
  LogEffects effects;
  if (cleanly) return effects;
  for (const auto& [id, fetches] : std::exchange(campaigns_, {})) stop_all(fetches, effects);
  waiting_.clear();
  return effects;
}

void LogFetchers::wait(FetchNumber number, Fetch& fetch) {
  if (!std::exchange(fetch.waits, true)) waiting_.push_back(number);
}

void LogFetchers::send_waiting(LogEffects& effects) {
  while (connected_ && !waiting_.empty() && unsent_bytes_ < kMostUnsentLogs) {
    const FetchNumber number = waiting_.front();
    waiting_.pop_front();
    const auto fetch = fetches_.find(number);
    if (fetch == fetches_.end()) continue;
    fetch->second.waits = false;
    if (!fetch->second.lines.empty()) send(number, fetch->second, effects);
    if (fetch->second.has_ended) finish(number, effects);
  }
}

void LogFetchers::send(FetchNumber number, Fetch& fetch, LogEffects& effects) {
  LinkLogEntries entries{fetch.request_id, {}};
  std::size_t bytes = 0;
  for (auto& line : std::exchange(fetch.lines, {})) {
    entries.entries.entries.push_back({fetch.instance, std::move(line)});
    bytes += cost_of(entries.entries.entries.back());
  }
  unsent_.emplace(++last_receipt_, Unsent{number, bytes});
  unsent_bytes_ += bytes;
  effects.emplace_back(SendLogs{last_receipt_, std::move(entries)});
}

void LogFetchers::finish(FetchNumber number, LogEffects& effects) {
  const auto fetch = fetches_.extract(number);
  const auto campaign = campaigns_.find(fetch.mapped().request_id);
  campaign->second.erase(number);
  if (campaign->second.empty()) campaigns_.erase(campaign);
  effects.emplace_back(LinkLogsStop{fetch.mapped().request_id, {fetch.mapped().instance}});
}

std::string to_string(const LogEffect& effect) {
  return match(
      effect,
      [](const FetchLogs& e) {
        return concat("fetch logs #", std::to_string(e.fetch), " of ", e.container.value, " in ",
                      e.runtime);
      },
      [](const ContinueFetching& e) { return "continue logs #" + std::to_string(e.fetch); },
      [](const StopFetching& e) { return "stop logs #" + std::to_string(e.fetch); },
      [](const SendLogs& e) { return "send " + summary(ToServer(e.entries)); },
      [](const LinkLogsStop& e) { return "send " + summary(ToServer(e)); },
      [](const LogsComplaint& e) { return "warn " + e.text; });
}

}  // namespace tiphys::agent
