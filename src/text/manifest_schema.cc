#include "text/manifest_schema.h"

#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "model/tree.h"
#include "text/json.h"
#include "text/manifest_fields.h"

namespace tiphys {
namespace {

using Kind = FieldSpec::Kind;

constexpr std::array<std::string_view, 5> kFirstKeys{"$schema", "title", "description", "type",
                                                     "required"};

Tree list_of(const std::vector<std::string_view>& words) {
  return Tree::List(words.begin(), words.end());
}

// A paragraph for the help of an editor.
std::string described(const FieldSpec& field) {
  std::string text = concat(field.summary, ".");
  if (!field.details.empty()) text += concat("\n\n", field.details);
  for (const auto& [word, meaning] : field.words)
    text += concat("\n", &word == &field.words.front().word ? "\n" : "", word, ": ", meaning, ".");
  return text;
}

// "stateRule", for the type StateRule.
std::string definition_of_type(std::string_view type) {
  std::string name(type);
  name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return name;
}

class Writer {
 public:
  std::string write() {
    Tree::Map schema = body(manifest_fields())
                           .set("$schema", "http://json-schema.org/draft-07/schema#")
                           .set("title", "desiredState");
    schema = schema.set("definitions", definitions_);
    return write_json(schema, JsonLayout::kPretty, kFirstKeys) + "\n";
  }

 private:
  // What stands in the place of the field. In draft 07 nothing counts beside a reference, so what is to be said
  // about a field with a definition is said there.
  Tree schema(const FieldSpec& field) {
    if (field.definition.empty()) return body(field);
    const std::string name(field.definition);
    if (begun_.insert(name).second) definitions_ = definitions_.set(name, body(field));
    return reference(name);
  }

  static Tree reference(std::string_view definition) {
    return Tree::Map().set("$ref", concat("#/definitions/", definition));
  }

  Tree::Map body(const FieldSpec& field) {
    Tree::Map schema = Tree::Map().set("description", described(field));
    switch (field.kind) {
      case Kind::kText:
        schema = schema.set("type", "string");
        if (field.rule != nullptr) schema = with_rule(schema, *field.rule);
        break;
      case Kind::kWord:
        schema = words(schema.set("type", "string"), field);
        break;
      case Kind::kObject:
        schema = object(schema.set("type", "object"), field);
        break;
      case Kind::kMap:
        schema = schema.set("type", "object")
                     .set("additionalProperties", this->schema(field.below.front()));
        if (field.rule != nullptr) schema = schema.set("propertyNames", names(*field.rule));
        break;
      case Kind::kList:
        schema = schema.set("type", "array").set("items", this->schema(field.below.front()));
        break;
      case Kind::kItem:
        schema = schema.set("type", list_of({"string", "array", "object"}))
                     .set("items", reference(field.definition))
                     .set("additionalProperties", reference(field.definition))
                     .set("propertyNames", names(*field.rule));
        break;
    }
    if (field.may_be_null) schema = schema.set("type", list_of({"object", "null"}));
    return schema;
  }

  static Tree::Map with_rule(Tree::Map schema, const TextRule& rule) {
    schema = schema.set("pattern", rule.pattern);
    if (rule.min_length > 0) schema = schema.set("minLength", rule.min_length);
    if (rule.max_length > 0) schema = schema.set("maxLength", rule.max_length);
    return schema;
  }
  static Tree names(const TextRule& rule) {
    return with_rule(Tree::Map().set("description", rule.sentence), rule);
  }

  static Tree::Map words(Tree::Map schema, const FieldSpec& field) {
    Tree::List words;
    for (const auto& word : field.words) words.emplace_back(word.word);
    schema = schema.set("enum", words);
    // Its default is one of the words, where it has any.
    return field.fallback.empty() ? schema : schema.set("default", field.fallback);
  }

  Tree::Map object(Tree::Map schema, const FieldSpec& field) {
    schema = with_fields(schema, field, {});
    if (!field.needs_one_of.empty()) {
      Tree::List choices;
      for (const auto key : field.needs_one_of)
        choices.emplace_back(Tree::Map().set("required", list_of({key})));
      schema = schema.set("anyOf", choices);
    }
    const auto* type = field.find(kTypeKey);
    if (type == nullptr) return schema;
    Tree::List cases;
    for (const auto& [word, meaning] : type->words) {
      const std::string definition = definition_of_type(word);
      definitions_ = definitions_.set(
          definition, with_fields(Tree::Map().set("description", concat(word, ": ", meaning, ".")),
                                  field, word));
      const auto is_type = Tree::Map()
                               .set("properties", Tree::Map().set(std::string(kTypeKey),
                                                                  Tree::Map().set("const", word)))
                               .set("required", list_of({kTypeKey}));
      cases.emplace_back(Tree::Map().set("if", is_type).set("then", reference(definition)));
    }
    return schema.set("allOf", cases);
  }

  // With the fields that objects of this type alone have; of none: that all have.
  Tree::Map with_fields(Tree::Map schema, const FieldSpec& field, std::string_view type) {
    Tree::Map properties;
    std::vector<std::string_view> required;
    for (const auto& below : field.below) {
      if (below.of_type != type) continue;
      properties = properties.set(std::string(below.name), this->schema(below));
      if (below.is_required) required.push_back(below.name);
    }
    schema = schema.set("properties", properties);
    return required.empty() ? schema : schema.set("required", list_of(required));
  }

  Tree::Map definitions_;
  std::set<std::string> begun_;
};

}  // namespace

std::string manifest_schema() { return Writer().write(); }

}  // namespace tiphys
