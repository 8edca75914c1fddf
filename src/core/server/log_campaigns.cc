#include "core/server/log_campaigns.h"

#include "base/strings.h"

namespace tiphys::server {
namespace {

constexpr std::string_view kSeparator(&kRequestIdSeparator, 1);

std::string connection_of(std::string_view id) {
  return std::string(id.substr(0, id.find(kRequestIdSeparator)));
}

}  // namespace

std::string full_request_id(std::string_view connection, std::string_view id) {
  return concat(connection, kSeparator, id);
}

std::optional<Address> parse_full_request_id(std::string_view id) {
  const auto separator = id.find(kRequestIdSeparator);
  if (separator == std::string_view::npos) return std::nullopt;
  return Address{std::string(id.substr(0, separator)), std::string(id.substr(separator + 1))};
}

std::optional<WorkloadName> workload_of_request_id(std::string_view id) {
  const auto separator = id.find(kRequestIdSeparator);
  if (separator == std::string_view::npos) return std::nullopt;
  return WorkloadName{std::string(id.substr(0, separator))};
}

// [impl->swdd~server-log-campaign-store-holds-log-campaign-metadata~1]
void LogCampaigns::add(const std::string& id, const std::vector<InstanceName>& providers) {
  if (providers.empty()) return;
  const auto [campaign, is_new] = campaigns_.try_emplace(id);
  if (is_new) ++counts_[connection_of(id)];
  for (const auto& provider : providers) {
    campaign->second.providers.insert(provider);
    asked_[provider.agent].insert(id);
  }
}

void LogCampaigns::cancel(const std::string& id) {
  if (const auto campaign = campaigns_.find(id); campaign != campaigns_.end()) erase(campaign);
}

void LogCampaigns::stopped(const std::string& id, const InstanceName& provider) {
  const auto campaign = campaigns_.find(id);
  if (campaign == campaigns_.end()) return;
  remove_provider(id, campaign->second, provider);
  if (campaign->second.providers.empty() && !campaign->second.lost_a_provider) erase(campaign);
}

void LogCampaigns::remove_provider(const std::string& id, Campaign& campaign,
                                   const InstanceName& provider) {
  if (campaign.providers.erase(provider) == 0) return;
  for (const auto& other : campaign.providers)
    if (other.agent == provider.agent) return;
  const auto asked = asked_.find(provider.agent);
  asked->second.erase(id);
  if (asked->second.empty()) asked_.erase(asked);
}

std::vector<std::string> LogCampaigns::drop_connection(std::string_view connection) {
  return drop_prefix(concat(connection, kSeparator));
}

std::vector<std::string> LogCampaigns::drop_workload(const AgentName& agent,
                                                     const WorkloadName& workload) {
  return drop_prefix(concat(agent.value, kSeparator, workload.value, kSeparator));
}

std::vector<LogCampaigns::Stop> LogCampaigns::drop_provider(const AgentName& agent) {
  std::vector<Stop> stops;
  const auto asked = asked_.find(agent);
  if (asked == asked_.end()) return stops;
  for (const auto& id : asked->second)
    for (const auto& provider : campaigns_.at(id).providers)
      if (provider.agent == agent) stops.push_back({id, provider});
  for (const auto& stop : stops) {
    Campaign& campaign = campaigns_.at(stop.id);
    campaign.lost_a_provider = true;
    remove_provider(stop.id, campaign, stop.provider);
  }
  return stops;
}

std::size_t LogCampaigns::of_connection(const std::string& connection) const {
  const auto count = counts_.find(connection);
  return count == counts_.end() ? 0 : count->second;
}

std::vector<std::string> LogCampaigns::drop_prefix(const std::string& prefix) {
  std::vector<std::string> ids;
  for (auto campaign = campaigns_.lower_bound(prefix);
       campaign != campaigns_.end() && campaign->first.starts_with(prefix);) {
    ids.push_back(campaign->first);
    campaign = erase(campaign);
  }
  return ids;
}

LogCampaigns::Campaigns::iterator LogCampaigns::erase(Campaigns::iterator campaign) {
  for (const auto& provider : campaign->second.providers)
    if (const auto asked = asked_.find(provider.agent); asked != asked_.end()) {
      asked->second.erase(campaign->first);
      if (asked->second.empty()) asked_.erase(asked);
    }
  const auto count = counts_.find(connection_of(campaign->first));
  if (--count->second == 0) counts_.erase(count);
  return campaigns_.erase(campaign);
}

}  // namespace tiphys::server
