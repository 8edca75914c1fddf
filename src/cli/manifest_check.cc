#include "cli/manifest_check.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/strings.h"
#include "model/access_rules.h"
#include "model/names.h"
#include "model/workload.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kMaxViolations = 20;
constexpr std::size_t kMaxLogRuleName = 64;
constexpr std::array<std::string_view, 3> kRestartPolicies{"NEVER", "ON_FAILURE", "ALWAYS"};
constexpr std::array<std::string_view, 3> kAddConditions{"ADD_COND_RUNNING", "ADD_COND_SUCCEEDED",
                                                         "ADD_COND_FAILED"};
constexpr std::array<std::string_view, 4> kOperations{"Nothing", "Read", "Write", "ReadWrite"};
constexpr std::array<std::string_view, 2> kRuleTypes{"StateRule", "LogRule"};

// Takes the longest beginning of name characters off the text.
std::size_t skip_name(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && has_only_name_characters(text.substr(size, 1))) ++size;
  text.remove_prefix(size);
  return size;
}

bool skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

// Name characters with any number of {{alias}} or {{alias.field}} between them.
bool is_agent(std::string_view text) {
  while (true) {
    skip_name(text);
    if (text.empty()) return true;
    if (!skip(text, "{{")) return false;
    do {
      if (skip_name(text) == 0) return false;
    } while (skip(text, "."));
    if (!skip(text, "}}")) return false;
  }
}

bool is_filter_mask(std::string_view text) {
  const auto segments = split(text, '.');
  return std::all_of(segments.begin(), segments.end(), [](std::string_view segment) {
    return segment == "*" || (!segment.empty() && has_only_name_characters(segment));
  });
}

bool is_log_rule_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxLogRuleName) return false;
  skip_name(text);
  skip(text, "*");
  return has_only_name_characters(text);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength && has_only_name_characters(text);
}

bool is_null(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && resolve(node) == YamlType::kNull;
}

bool is_string(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && resolve(node) == YamlType::kString;
}

class Checker {
 public:
  explicit Checker(ApiVersion version) : has_schema_(version == ApiVersion::kV1) {}

  std::vector<TextError> check(const YamlNode& root) && {
    if (!expect_map(root)) return std::move(violations_);
    if (const YamlNode* version = require(root, "apiVersion")) {
      const auto at = entered("apiVersion");
      if (expect_string(*version) && has_schema_ && version->text != kCurrentApiVersion)
        refuse(*version,
               concat("expected '", kCurrentApiVersion, "', found '", version->text, "'"));
    }
    each_field(root, "workloads", [&](const YamlNode& workload) { check_workload(workload); });
    each_field(root, "configs", [&](const YamlNode& item) { check_config_item(item); });
    return std::move(violations_);
  }

 private:
  // The path grows by one segment for as long as this lives.
  class Entered {
   public:
    Entered(Path& path, std::string segment) : path_(path) {
      path_.segments.push_back(std::move(segment));
    }
    ~Entered() { path_.segments.pop_back(); }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Path& path_;
  };
  Entered entered(std::string segment) { return {path_, std::move(segment)}; }

  void refuse(Position position, std::string offence) {
    if (violations_.size() < kMaxViolations)
      violations_.push_back({position, path_, std::move(offence)});
  }
  void refuse(const YamlNode& node, std::string offence) {
    refuse(node.position, std::move(offence));
  }

  bool expect(bool fits, const YamlNode& node, std::string_view wanted) {
    if (fits) return true;
    if (!has_schema_) return false;
    const bool is_scalar = node.kind == YamlNode::Kind::kScalar;
    std::string found = node.text.empty() && is_null(node) ? "nothing" : std::string(kind(node));
    if (is_scalar && !node.text.empty() && node.text.size() <= kMaxNameLength)
      found += concat(" (", node.text, ")");
    std::string advice;
    if (wanted == "a string" && is_scalar && !is_null(node)) advice = "; quotes make it a string";
    refuse(node, concat("expected ", wanted, ", found ", found, advice));
    return false;
  }
  bool expect_map(const YamlNode& node) {
    return expect(node.kind == YamlNode::Kind::kMap, node, "a map");
  }
  bool expect_list(const YamlNode& node) {
    return expect(node.kind == YamlNode::Kind::kList, node, "a list");
  }
  bool expect_string(const YamlNode& node) { return expect(is_string(node), node, "a string"); }

  void expect_word(const YamlNode& node, std::span<const std::string_view> words) {
    if (!expect_string(node)) return;
    if (std::find(words.begin(), words.end(), node.text) != words.end()) return;
    std::string list;
    for (const auto word : words) list += concat(list.empty() ? "" : ", ", word);
    refuse(node, concat("unknown value '", node.text, "', expected one of ", list));
  }

  void expect_name(Position position, std::string_view text) {
    if (!has_schema_ || is_name(text)) return;
    if (text.empty()) return refuse(position, "a name must not be empty");
    refuse(position, concat("'", text, "' is no name. ", kNameConstraint));
  }

  const YamlNode* require(const YamlNode& map, std::string_view key) {
    const YamlNode* value = map.find(key);
    if (value == nullptr && has_schema_) refuse(map, concat("missing field `", key, "`"));
    return value;
  }

  // A field of the root, a map of named things, may be empty.
  template <class Check>
  void each_field(const YamlNode& root, const char* key, Check check_value) {
    const YamlNode* fields = root.find(key);
    if (fields == nullptr || is_null(*fields)) return;
    const auto at = entered(key);
    each_named(*fields, check_value);
  }

  template <class Check>
  void each_entry(const YamlNode& node, Check check_value) {
    if (!expect_map(node)) return;
    for (const auto& entry : node.entries) {
      const auto at = entered(entry.key);
      check_value(entry.value);
    }
  }
  // As each_entry, with keys that must be names.
  template <class Check>
  void each_named(const YamlNode& node, Check check_value) {
    if (!expect_map(node)) return;
    for (const auto& entry : node.entries) {
      const auto at = entered(entry.key);
      expect_name(entry.position, entry.key);
      check_value(entry.value);
    }
  }
  template <class Check>
  void each_item(const YamlNode& node, Check check_item) {
    if (!expect_list(node)) return;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto at = entered(std::to_string(i));
      check_item(node.items[i]);
    }
  }

  template <class Check>
  void optional_field(const YamlNode& map, const char* key, Check check_value) {
    const YamlNode* value = map.find(key);
    if (value == nullptr) return;
    const auto at = entered(key);
    check_value(*value);
  }
  template <class Check>
  void required_field(const YamlNode& map, const char* key, Check check_value) {
    if (require(map, key) != nullptr) optional_field(map, key, check_value);
  }

  void check_workload(const YamlNode& workload) {
    if (!expect_map(workload)) return;
    const auto string = [&](const YamlNode& node) { expect_string(node); };
    required_field(workload, "runtime", string);
    required_field(workload, "runtimeConfig", string);
    optional_field(workload, "agent", [&](const YamlNode& node) {
      if (expect_string(node) && has_schema_ && !is_agent(node.text))
        refuse(node, concat("'", node.text, "' is no agent name. Only a-z, A-Z, 0-9 chars, ",
                            "underscore (_), hyphen (-) and templates {{alias}} allowed."));
    });
    optional_field(workload, "restartPolicy",
                   [&](const YamlNode& node) { expect_word(node, kRestartPolicies); });
    optional_field(workload, "dependencies", [&](const YamlNode& node) {
      each_entry(node, [&](const YamlNode& condition) { expect_word(condition, kAddConditions); });
    });
    if (has_schema_)
      optional_field(workload, "tags", [&](const YamlNode& node) { each_entry(node, string); });
    optional_field(workload, "configs", [&](const YamlNode& node) {
      each_named(node, [&](const YamlNode& key) {
        if (expect_string(key)) expect_name(key.position, key.text);
      });
    });
    optional_field(workload, "files", [&](const YamlNode& node) {
      each_item(node, [&](const YamlNode& file) { check_file(file); });
    });
    optional_field(workload, "controlInterfaceAccess", [&](const YamlNode& node) {
      if (!expect_map(node)) return;
      for (const char* list : {"allowRules", "denyRules"})
        optional_field(node, list, [&](const YamlNode& rules) {
          each_item(rules, [&](const YamlNode& rule) { check_rule(rule); });
        });
    });
  }

  void check_file(const YamlNode& file) {
    if (!expect_map(file)) return;
    const auto string = [&](const YamlNode& node) { expect_string(node); };
    required_field(file, "mountPoint", string);
    optional_field(file, "data", string);
    optional_field(file, "binaryData", string);
    if (has_schema_ && file.find("data") == nullptr && file.find("binaryData") == nullptr)
      refuse(file, "missing field `data` or `binaryData`");
  }

  void check_rule(const YamlNode& rule) {
    if (!expect_map(rule)) return;
    required_field(rule, "type", [&](const YamlNode& node) { expect_word(node, kRuleTypes); });
    const YamlNode* type = rule.find("type");
    if (type == nullptr) return;
    if (type->text == "StateRule") {
      required_field(rule, "operation",
                     [&](const YamlNode& node) { expect_word(node, kOperations); });
      required_field(rule, "filterMasks", [&](const YamlNode& masks) {
        each_item(masks, [&](const YamlNode& mask) {
          if (expect_string(mask) && has_schema_ && !is_filter_mask(mask.text))
            refuse(mask,
                   concat("'", mask.text, "' is no mask; expected names or '*', joined by '.'"));
        });
      });
    } else if (type->text == "LogRule") {
      required_field(rule, "workloadNames", [&](const YamlNode& names) {
        each_item(names, [&](const YamlNode& name) {
          if (expect_string(name) && has_schema_ && !is_log_rule_name(name.text))
            refuse(name, concat("'", name.text,
                                "' matches no workload; expected a name with at most one '*'"));
        });
      });
    }
  }

  void check_config_item(const YamlNode& item) {
    switch (item.kind) {
      case YamlNode::Kind::kList:
        each_item(item, [&](const YamlNode& child) { check_config_item(child); });
        return;
      case YamlNode::Kind::kMap:
        each_named(item, [&](const YamlNode& child) { check_config_item(child); });
        return;
      case YamlNode::Kind::kScalar:
        expect_string(item);
    }
  }

  const bool has_schema_;
  Path path_;
  std::vector<TextError> violations_;
};

}  // namespace

std::vector<TextError> find_violations(const YamlNode& manifest, ApiVersion version) {
  auto violations = Checker(version).check(manifest);
  std::stable_sort(violations.begin(), violations.end(),
                   [](const TextError& a, const TextError& b) {
                     return std::pair(a.position.line, a.position.column) <
                            std::pair(b.position.line, b.position.column);
                   });
  return violations;
}

}  // namespace tiphys::cli
