#pragma once

// The names that workloads, agents and config items go by, and the rules that make one well-formed.
// A parse function hands out a name or says what is wrong with the text; it never mends it.

#include <compare>
#include <string>
#include <string_view>

#include "base/named.h"
#include "base/result.h"

namespace tiphys {

using WorkloadName = Named<struct WorkloadNameTag>;
using AgentName = Named<struct AgentNameTag>;
// Lower-case hexadecimal SHA-256 of a workload's rendered runtime config.
using WorkloadId = Named<struct WorkloadIdTag>;

inline constexpr std::size_t kMaxNameLength = 63;
inline constexpr std::string_view kNameConstraint =
    "Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) allowed. Maximum length is 63 "
    "characters.";

// Only letters, digits, '_' and '-'; true for the empty text.
bool has_only_name_characters(std::string_view text);

Result<WorkloadName> parse_workload_name(std::string_view text);
// An agent name may be empty: such a workload is not scheduled. Its length is not limited.
Result<AgentName> parse_agent_name(std::string_view text);

// The three places a config name stands in; each has its own error text.
Status check_config_item_key(std::string_view key);
Status check_config_alias(std::string_view alias);
Status check_config_reference(std::string_view key);

// One execution of a workload: which workload, in which configuration, on which agent.
struct InstanceName {
  WorkloadName workload;
  WorkloadId id;
  AgentName agent;

  friend auto operator<=>(const InstanceName&, const InstanceName&) = default;
  friend bool operator==(const InstanceName&, const InstanceName&) = default;
};

// <workload>.<id>.<agent>
std::string to_string(const InstanceName& instance);
Result<InstanceName> parse_instance_name(std::string_view text);

WorkloadId workload_id_of(std::string_view rendered_runtime_config);

}  // namespace tiphys
