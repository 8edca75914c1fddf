#include "cli/manifest_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/strings.h"
#include "model/names.h"
#include "text/manifest_fields.h"

namespace tiphys::cli {
namespace {

using Kind = FieldSpec::Kind;

constexpr std::size_t kMaxViolations = 20;

bool is_null(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && resolve(node) == YamlType::kNull;
}

bool is_string(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && resolve(node) == YamlType::kString;
}

// Holds a document against the description of manifests.
class Checker {
 public:
  explicit Checker(ApiVersion version) : has_schema_(version == ApiVersion::kV1) {}

  std::vector<TextError> check(const YamlNode& root) && {
    check(root, manifest_fields());
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

  bool expect(bool fits, const YamlNode& node, std::string_view wanted) {
    if (fits) return true;
    if (!has_schema_) return false;
    const bool is_scalar = node.kind == YamlNode::Kind::kScalar;
    std::string found = node.text.empty() && is_null(node) ? "nothing" : std::string(kind(node));
    if (is_scalar && !node.text.empty() && node.text.size() <= kMaxNameLength)
      found += concat(" (", node.text, ")");
    std::string advice;
    if (wanted == "a string" && is_scalar && !is_null(node)) advice = "; quotes make it a string";
    refuse(node.position, concat("expected ", wanted, ", found ", found, advice));
    return false;
  }
  bool expect_map(const YamlNode& node) {
    return expect(node.kind == YamlNode::Kind::kMap, node, "a map");
  }
  bool expect_list(const YamlNode& node) {
    return expect(node.kind == YamlNode::Kind::kList, node, "a list");
  }
  bool expect_string(const YamlNode& node) { return expect(is_string(node), node, "a string"); }

  void expect_rule(const TextRule* rule, Position position, std::string_view text) {
    if (rule != nullptr && has_schema_ && !rule->fits(text))
      refuse(position, complaint(*rule, text));
  }

  void check(const YamlNode& node, const FieldSpec& field) {
    if (field.may_be_null && is_null(node)) return;
    switch (field.kind) {
      case Kind::kText:
        if (expect_string(node)) expect_rule(field.rule, node.position, node.text);
        return;
      case Kind::kWord:
        return check_word(node, field);
      case Kind::kObject:
        return check_object(node, field);
      case Kind::kMap:
        return check_map(node, field, field.below.front());
      case Kind::kList:
        return check_list(node, field.below.front());
      case Kind::kItem:
        if (node.kind == YamlNode::Kind::kMap) return check_map(node, field, field);
        if (node.kind == YamlNode::Kind::kList) return check_list(node, field);
        expect_string(node);
    }
  }

  void check_word(const YamlNode& node, const FieldSpec& field) {
    if (!expect_string(node)) return;
    std::vector<std::string> words;
    words.reserve(field.words.size());
    for (const auto& word : field.words) words.emplace_back(word.word);
    if (std::find(words.begin(), words.end(), node.text) != words.end()) return;
    if (words.size() > 1)
      refuse(node.position,
             concat("unknown value '", node.text, "', expected one of ", join(words, ", ")));
    else if (has_schema_)  // the version itself, which is another one there
      refuse(node.position, concat("expected '", words.front(), "', found '", node.text, "'"));
  }

  void check_object(const YamlNode& node, const FieldSpec& field) {
    if (!expect_map(node)) return;
    const YamlNode* type = node.find(kTypeKey);
    for (const auto& below : field.below) {
      if (!below.of_type.empty() && (type == nullptr || type->text != below.of_type)) continue;
      if (const YamlNode* value = node.find(below.name)) {
        const auto at = entered(std::string(below.name));
        check(*value, below);
      } else if (below.is_required && has_schema_) {
        refuse(node.position, concat("missing field `", below.name, "`"));
      }
    }
    const auto& choices = field.needs_one_of;
    const auto is_there = [&](std::string_view key) { return node.find(key) != nullptr; };
    if (has_schema_ && !choices.empty() && std::none_of(choices.begin(), choices.end(), is_there))
      refuse(node.position,
             concat("missing field `", join({choices.begin(), choices.end()}, "` or `"), "`"));
  }

  void check_map(const YamlNode& node, const FieldSpec& field, const FieldSpec& value) {
    if (!expect_map(node)) return;
    for (const auto& entry : node.entries) {
      const auto at = entered(entry.key);
      expect_rule(field.rule, entry.position, entry.key);
      check(entry.value, value);
    }
  }

  void check_list(const YamlNode& node, const FieldSpec& item) {
    if (!expect_list(node)) return;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto at = entered(std::to_string(i));
      check(node.items[i], item);
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
