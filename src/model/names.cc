#include "model/names.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "base/strings.h"

namespace tiphys {
namespace {

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

Status check_config_name(std::string_view what, std::string_view text) {
  if (!text.empty() && text.size() <= kMaxNameLength && has_only_name_characters(text)) return {};
  return fail(Code::kInvalidArgument,
              concat("Unsupported ", what, " '", text, "'. ", kNameConstraint));
}

}  // namespace

bool has_only_name_characters(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_name_character);
}

// [impl->swdd~api-workload-naming-convention~1]
Result<WorkloadName> parse_workload_name(std::string_view text) {
  const std::string start = concat("Unsupported workload name '", text, "'. ");
  if (text.empty()) return fail(Code::kInvalidArgument, start + "Is empty.");
  if (!has_only_name_characters(text))
    return fail(Code::kInvalidArgument, start + "Expected to have characters in [a-zA-Z0-9_-].");
  if (text.size() > kMaxNameLength)
    return fail(Code::kInvalidArgument, start + "Length " + std::to_string(text.size()) +
                                            " exceeds the maximum limit of 63 characters.");
  return WorkloadName{std::string(text)};
}

// [impl->swdd~api-agent-naming-convention~1]
Result<AgentName> parse_agent_name(std::string_view text) {
  if (!has_only_name_characters(text))
    return fail(Code::kInvalidArgument,
                concat("Unsupported agent name '", text, "'. ", kNameConstraint));
  return AgentName{std::string(text)};
}

// [impl->swdd~api-config-item-key-naming-convention~1]
Status check_config_item_key(std::string_view key) {
  return check_config_name("config item key", key);
}

// [impl->swdd~api-config-aliases-and-config-reference-keys-naming-convention~1]
Status check_config_alias(std::string_view alias) {
  return check_config_name("config alias", alias);
}

Status check_config_reference(std::string_view key) {
  return check_config_name("config reference key", key);
}

// [impl->swdd~api-workload-execution-instance-naming~1]
std::string to_string(const InstanceName& instance) {
  return concat(instance.workload.value, ".", instance.id.value, ".", instance.agent.value);
}

Result<InstanceName> parse_instance_name(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 3)
    return fail(Code::kInvalidArgument, concat("Unsupported instance name '", text,
                                               "'. Expected <workload>.<id>.<agent>."));
  TIPHYS_TRY(WorkloadName workload, parse_workload_name(parts[0]));
  TIPHYS_TRY(AgentName agent, parse_agent_name(parts[2]));
  if (parts[1].empty() || !has_only_name_characters(parts[1]))
    return fail(Code::kInvalidArgument, concat("Unsupported workload id '", parts[1],
                                               "'. Expected characters in [a-zA-Z0-9_-]."));
  return InstanceName{std::move(workload), WorkloadId{std::string(parts[1])}, std::move(agent)};
}

WorkloadId workload_id_of(std::string_view rendered_runtime_config) {
  return WorkloadId{sha256_hex(rendered_runtime_config)};
}

}  // namespace tiphys
