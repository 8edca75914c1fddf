#pragma once

// What a manifest may say, field by field. The check of `ank apply`, the JSON Schema, `ank explain` and the man page of
// the format all come from this one description.
//
// It is of API version v1. Keys that it does not name are allowed everywhere, and nobody reads them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys {

// What a text has to look like. The pattern and the lengths are for tools; `fits` says the same without a regular
// expression, whose time and stack would grow with the text.
struct TextRule {
  std::string_view noun;           // "name"
  std::string_view pattern;        // of ECMA 262
  std::size_t min_length = 0;      // in characters
  std::size_t max_length = 0;      // 0: no limit
  bool (*fits)(std::string_view);  // the text
  std::string_view refusal;        // how a complaint begins, with {} for the text
  std::string_view sentence;       // what is allowed: the end of a complaint, and documentation
};

// Why the text does not fit the rule.
std::string complaint(const TextRule& rule, std::string_view text);

struct WordSpec {
  std::string_view word;
  std::string_view meaning;  // a line without a full stop
};

struct FieldSpec {
  enum class Kind : std::uint8_t {
    kText,    // a string
    kWord,    // one of `words`
    kObject,  // a map with the keys in `below`
    kMap,     // a map with keys that the author chooses; below[0] is what each of them stands for
    kList,    // of below[0]
    kItem,    // a config item: a string, or a list or a map of config items
  };

  std::string_view name;  // its key; in a map <what the key names>, in a list empty
  Kind kind = Kind::kText;
  std::string_view summary{};     // a line without a full stop
  std::string_view details{};     // paragraphs, divided by empty lines
  std::string_view fallback{};    // what counts when it is not there
  std::string_view example{};     // YAML, beginning with the key
  std::string_view definition{};  // its name in the schema's definitions; empty: it has none
  bool is_required = false;
  bool may_be_null = false;
  const TextRule* rule = nullptr;  // of the text; of a map's and a config item's keys
  std::vector<WordSpec> words{};
  std::vector<FieldSpec> below{};
  // Of an object: one of these keys, at least, has to be there.
  std::vector<std::string_view> needs_one_of{};
  // In an object whose field `type` says what it is: the type that has this field; empty: all of them have it.
  std::string_view of_type{};

  // The field of an object, or nullptr.
  [[nodiscard]] const FieldSpec* find(std::string_view key) const;
};

// The key that says which of its types an object is of.
inline constexpr std::string_view kTypeKey = "type";

// The whole manifest.
const FieldSpec& manifest_fields();

// The fields that an author writes inside: those of an object, and of the objects in a map or list.
const std::vector<FieldSpec>& fields_within(const FieldSpec& field);

// -- Words for documentation

// "string", "list of maps"
std::string type_of(const FieldSpec& field);
// "yes", "no", or on what it depends; the parent is the object that it is a field of, if it is one.
std::string requirement_of(const FieldSpec& field, const FieldSpec* parent);

}  // namespace tiphys
