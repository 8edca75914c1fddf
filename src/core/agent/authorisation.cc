#include "core/agent/authorisation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::agent {
namespace {

enum class Effect : std::uint8_t { kAllow, kDeny };

constexpr std::string_view kAny = "*";

std::vector<std::string_view> segments_of(std::string_view text) {
  if (text.empty()) return {};
  return split(text, '.');
}

bool matches_mask(std::string_view pattern, std::string_view mask, Effect effect) {
  const auto expected = segments_of(pattern);
  const auto asked = segments_of(mask);
  if (expected.empty()) return false;
  const bool may_be_shorter = effect == Effect::kDeny || expected[0] == kAny;
  if (expected.size() > asked.size() && !may_be_shorter) return false;
  const auto fits = [effect](std::string_view pattern_segment, std::string_view mask_segment) {
    return pattern_segment == kAny || pattern_segment == mask_segment ||
           (effect == Effect::kDeny && mask_segment == kAny);
  };
  const auto length = static_cast<std::ptrdiff_t>(std::min(expected.size(), asked.size()));
  return std::equal(expected.begin(), expected.begin() + length, asked.begin(), fits);
}

bool matches_name(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find(kAny);
  if (star == std::string_view::npos) return pattern == name;
  const auto start = pattern.substr(0, star);
  const auto end = pattern.substr(star + 1);
  return name.size() >= start.size() + end.size() && name.starts_with(start) && name.ends_with(end);
}

bool covers(Operation granted, Operation asked) {
  return granted == asked || granted == Operation::kReadWrite;
}

template <class Rule, class Matches>
bool any_rule(const std::vector<AccessRule>& rules, Matches matches) {
  return std::any_of(rules.begin(), rules.end(), [&](const AccessRule& rule) {
    const auto* content = std::get_if<Rule>(&rule);
    return content != nullptr && matches(*content);
  });
}

bool mask_matches(const std::vector<AccessRule>& rules, Operation operation, std::string_view mask,
                  Effect effect) {
  return any_rule<StateRule>(rules, [&](const StateRule& rule) {
    return covers(rule.operation, operation) &&
           std::any_of(rule.filter_masks.begin(), rule.filter_masks.end(),
                       [&](const auto& pattern) { return matches_mask(pattern, mask, effect); });
  });
}

bool name_matches(const std::vector<AccessRule>& rules, std::string_view name) {
  return any_rule<LogRule>(rules, [&](const LogRule& rule) {
    return std::any_of(rule.workload_names.begin(), rule.workload_names.end(),
                       [&](const auto& pattern) { return matches_name(pattern, name); });
  });
}

bool may_use_state(const std::vector<std::string>& masks, Operation operation,
                   const ControlInterfaceAccess& access) {
  const auto is_fine = [&](std::string_view mask) {
    return mask_matches(access.allow_rules, operation, mask, Effect::kAllow) &&
           !mask_matches(access.deny_rules, operation, mask, Effect::kDeny);
  };
  return masks.empty() ? is_fine("") : std::all_of(masks.begin(), masks.end(), is_fine);
}

bool may_read_logs(const LogsRequest& request, const ControlInterfaceAccess& access) {
  return std::all_of(request.instances.begin(), request.instances.end(),
                     [&](const InstanceName& instance) {
                       return name_matches(access.allow_rules, instance.workload.value) &&
                              !name_matches(access.deny_rules, instance.workload.value);
                     });
}

}  // namespace

bool is_allowed(const Request& request, const ControlInterfaceAccess& access) {
  return match(
      request.content,
      [&](const CompleteStateRequest& content) {
        return may_use_state(content.field_masks, Operation::kRead, access);
      },
      [&](const UpdateStateRequest& content) {
        return may_use_state(content.update_masks, Operation::kWrite, access);
      },
      [&](const LogsRequest& content) { return may_read_logs(content, access); },
      // They end what the workload itself has begun.
      [](const LogsCancelRequest&) { return true; },
      [](const EventsCancelRequest&) { return true; });
}

}  // namespace tiphys::agent
