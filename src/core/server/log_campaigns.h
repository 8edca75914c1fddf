#pragma once

// Who collects whose logs. A campaign is one accepted log request. It goes by its full id, which says who collects:
//
//   <connection>@<id>          a commander, by the name of its connection
//   <agent>@<workload>@<id>    a workload, through its agent
//
// It ends when its last provider has stopped, when it is cancelled, or when its collector is gone. One that lost a
// provider is kept for the last two: the agent may come back with its end of the campaign still open, and then has to hear
// that it is over. Only the bookkeeping is here: the machine tells agents and collectors.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/names.h"

namespace tiphys::server {

inline constexpr char kRequestIdSeparator = '@';

std::string full_request_id(std::string_view connection, std::string_view id);

// Where a message with that full id goes, and the id that it carries there.
struct Address {
  std::string connection;
  std::string request_id;
  friend bool operator==(const Address&, const Address&) = default;
};
std::optional<Address> parse_full_request_id(std::string_view id);

// Of a request that came through an agent: <workload>@<id>. Nothing when it names no workload.
std::optional<WorkloadName> workload_of_request_id(std::string_view id);

// One logs request costs memory until it ends, so a connection cannot have more than this.
inline constexpr std::size_t kMaxCampaignsPerConnection = 1000;

class LogCampaigns {
 public:
  // The same id again: the campaign has these providers too.
  void add(const std::string& id, const std::vector<InstanceName>& providers);
  // Nothing happens for an id that is not known.
  void cancel(const std::string& id);
  // The provider has nothing more to say.
  void stopped(const std::string& id, const InstanceName& provider);

  // Forgets the campaigns of that collector and answers with their ids, ascending.
  std::vector<std::string> drop_connection(std::string_view connection);
  std::vector<std::string> drop_workload(const AgentName& agent, const WorkloadName& workload);

  struct Stop {
    std::string id;
    InstanceName provider;
    friend bool operator==(const Stop&, const Stop&) = default;
  };
  // The agent is lost: who has to hear that its logs have ended, in the order of the ids.
  std::vector<Stop> drop_provider(const AgentName& agent);

  [[nodiscard]] bool contains(const std::string& id) const { return campaigns_.contains(id); }
  [[nodiscard]] std::size_t size() const { return campaigns_.size(); }
  // Whether anybody waits for a provider.
  [[nodiscard]] bool has_providers() const { return !asked_.empty(); }
  [[nodiscard]] std::size_t of_connection(const std::string& connection) const;

 private:
  struct Campaign {
    std::set<InstanceName> providers{};  // that have not stopped
    bool lost_a_provider = false;
  };
  using Campaigns = std::map<std::string, Campaign>;

  void remove_provider(const std::string& id, Campaign& campaign, const InstanceName& provider);
  std::vector<std::string> drop_prefix(const std::string& prefix);
  Campaigns::iterator erase(Campaigns::iterator campaign);

  Campaigns campaigns_;                               // by full id
  std::map<AgentName, std::set<std::string>> asked_;  // providing agent -> full ids
  std::map<std::string, std::size_t> counts_;         // connection -> its campaigns
};

}  // namespace tiphys::server
