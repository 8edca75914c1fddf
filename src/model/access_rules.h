#pragma once

// What a workload may ask for through its control interface.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/reading.h"
#include "model/tree.h"

namespace tiphys {

enum class Operation : std::uint8_t { kNothing, kRead, kWrite, kReadWrite };

std::string_view to_string(Operation operation);
Result<Operation> parse_operation(std::string_view text);

struct StateRule {
  Operation operation = Operation::kNothing;
  std::vector<std::string> filter_masks;

  friend bool operator==(const StateRule&, const StateRule&) = default;
};

struct LogRule {
  std::vector<std::string> workload_names;

  friend bool operator==(const LogRule&, const LogRule&) = default;
};

using AccessRule = std::variant<StateRule, LogRule>;

struct ControlInterfaceAccess {
  std::vector<AccessRule> allow_rules;
  std::vector<AccessRule> deny_rules;

  [[nodiscard]] bool empty() const { return allow_rules.empty() && deny_rules.empty(); }
  friend bool operator==(const ControlInterfaceAccess&, const ControlInterfaceAccess&) = default;
};

// A rule that can never match would give a workload more rights than its author meant: it is
// refused.
Status check_filter_mask(std::string_view mask);
Status check_log_rule_name(std::string_view name);
Status check_access_rules(const ControlInterfaceAccess& access);

Tree to_tree(const AccessRule& rule);
Read<AccessRule> read_access_rule(const Tree& tree, const Path& path);

}  // namespace tiphys
