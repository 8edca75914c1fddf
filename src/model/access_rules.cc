#include "model/access_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "model/names.h"

namespace tiphys {
namespace {

constexpr std::array<std::pair<std::string_view, Operation>, 4> kOperations{{
    {"Nothing", Operation::kNothing},
    {"Read", Operation::kRead},
    {"Write", Operation::kWrite},
    {"ReadWrite", Operation::kReadWrite},
}};

constexpr std::size_t kMaxLogPatternLength = kMaxNameLength + 1;  // the '*' may stand for nothing

Tree list_of(const std::vector<std::string>& strings) {
  return Tree(Tree::List(strings.begin(), strings.end()));
}

Read<std::vector<std::string>> read_required_strings(const Tree& parent, const Path& path,
                                                     const std::string& key) {
  const auto value = parent.child(key);
  if (!value) return misread(path, concat("missing field `", key, "`"));
  return read_strings(*value, path.child(key));
}

Read<Operation> read_operation(const Tree& parent, const Path& path) {
  const auto value = parent.child("operation");
  if (!value) return misread(path, "missing field `operation`");
  if (const auto* number = value->number())
    return misread(path.child("operation"), "unknown enumeration value " + std::to_string(*number));
  TIPHYS_READ(const std::string text, read_string(*value, path.child("operation")));
  auto operation = parse_operation(text);
  if (!operation) return misread(path.child("operation"), operation.error().message);
  return *operation;
}

Status check_rule(const StateRule& rule) {
  for (const auto& mask : rule.filter_masks) TIPHYS_REQUIRE(check_filter_mask(mask));
  return {};
}

Status check_rule(const LogRule& rule) {
  for (const auto& name : rule.workload_names) TIPHYS_REQUIRE(check_log_rule_name(name));
  return {};
}

}  // namespace

std::string_view to_string(Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)].first;
}

Result<Operation> parse_operation(std::string_view text) {
  for (const auto& [word, operation] : kOperations)
    if (word == text) return operation;
  return fail(Code::kInvalidArgument, concat("unknown value '", text,
                                             "', expected one of Nothing, Read, Write, ReadWrite"));
}

// [impl->swdd~api-access-rules-filter-mask-convention~1]
Status check_filter_mask(std::string_view mask) {
  if (mask.empty())
    return fail(Code::kInvalidArgument,
                "Empty filter masks are not allowed in Control Interface access rules");
  const auto segments = split(mask, '.');
  const bool well_formed =
      std::all_of(segments.begin(), segments.end(), [](std::string_view segment) {
        return segment == "*" || (!segment.empty() && has_only_name_characters(segment));
      });
  if (well_formed) return {};
  return fail(
      Code::kInvalidArgument,
      concat("Unsupported filter mask '", mask,
             "'. Only \".\" separated sequences allowed where each part is either a wildcard "
             "\"*\" or chars in [a-zA-Z0-9_-]"));
}

// [impl->swdd~api-access-rules-logs-workload-names-convention~1]
Status check_log_rule_name(std::string_view name) {
  constexpr std::string_view kPrefix =
      "Log rule validation filed: ";  // the spelling that peers know
  const auto pieces = split(name, '*');
  if (pieces.size() == 1) {
    auto parsed = parse_workload_name(name);
    if (!parsed) return fail(parsed.error().code, concat(kPrefix, parsed.error().message));
    return {};
  }
  if (pieces.size() > 2) return fail(Code::kInvalidArgument, "Expected at most one '*' symbol.");
  const std::string start =
      concat(kPrefix, "Unsupported workload name filter with wildcard '", name, "'. ");
  if (name.size() > kMaxLogPatternLength)
    return fail(Code::kInvalidArgument, start + "Filter length " + std::to_string(name.size()) +
                                            " exceeds the maximum limit of 64 characters.");
  if (!has_only_name_characters(pieces[0]) || !has_only_name_characters(pieces[1]))
    return fail(Code::kInvalidArgument, start + "Expected to have characters in [a-zA-Z0-9_-].");
  return {};
}

Status check_access_rules(const ControlInterfaceAccess& access) {
  for (const auto* rules : {&access.allow_rules, &access.deny_rules})
    for (const auto& rule : *rules) {
      const Status checked =
          std::visit([](const auto& content) { return check_rule(content); }, rule);
      TIPHYS_REQUIRE(checked);
    }
  return {};
}

Tree to_tree(const AccessRule& rule) {
  return match(
      rule,
      [](const StateRule& state_rule) {
        return Tree(Tree::Map()
                        .set("type", "StateRule")
                        .set("operation", to_string(state_rule.operation))
                        .set("filterMasks", list_of(state_rule.filter_masks)));
      },
      [](const LogRule& log_rule) {
        return Tree(Tree::Map()
                        .set("type", "LogRule")
                        .set("workloadNames", list_of(log_rule.workload_names)));
      });
}

Read<AccessRule> read_access_rule(const Tree& tree, const Path& path) {
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  TIPHYS_READ(const std::string type, read_required_string(tree, path, "type"));
  if (type == "StateRule") {
    StateRule rule;
    TIPHYS_READ(rule.operation, read_operation(tree, path));
    TIPHYS_READ(rule.filter_masks, read_required_strings(tree, path, "filterMasks"));
    return rule;
  }
  if (type == "LogRule") {
    LogRule rule;
    TIPHYS_READ(rule.workload_names, read_required_strings(tree, path, "workloadNames"));
    return rule;
  }
  return misread(path.child("type"),
                 concat("unknown value '", type, "', expected one of StateRule, LogRule"));
}

}  // namespace tiphys
