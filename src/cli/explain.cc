#include "cli/explain.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cli/nearest.h"
#include "cli/paragraphs.h"
#include "text/manifest_fields.h"

namespace tiphys::cli {
namespace {

using Kind = FieldSpec::Kind;
using Words = std::vector<std::string>;

// A field, and how one gets to it.
struct Place {
  const FieldSpec* field = nullptr;
  const FieldSpec* parent = nullptr;  // the object that it is a field of, if it is one
  std::string path;
};

Place below(const Place& place, const FieldSpec& field) {
  const std::string name(field.name.empty() ? "[]" : field.name);
  const bool is_direct = place.path.empty() || field.name.empty();
  return {&field, place.field->kind == Kind::kObject ? place.field : nullptr,
          is_direct ? place.path + name : concat(place.path, ".", name)};
}

// Where the fields of a map's or list's objects are.
Place innermost(Place place) {
  while (place.field->kind == Kind::kMap || place.field->kind == Kind::kList)
    place = below(place, place.field->below.front());
  return place;
}

// -- Finding a field

// Brackets are another way to write a segment; a dot too many is none.
Words segments_of(std::string_view text) {
  std::string dotted(text);
  std::replace(dotted.begin(), dotted.end(), '[', '.');
  std::erase(dotted, ']');
  Words segments;
  for (const auto segment : split(dotted, '.'))
    if (!segment.empty()) segments.emplace_back(segment);
  if (!segments.empty() && segments.front() == "desiredState") segments.erase(segments.begin());
  if (segments.empty()) return segments;
  // workload.x is a field, workload.x.y may be one of a workload called x.
  for (const auto& [one, all] :
       {std::pair("workload", "workloads"), std::pair("config", "configs")}) {
    if (segments.front() != one) continue;
    segments.front() = all;
    const FieldSpec& value = manifest_fields().find(all)->below.front();
    if (segments.size() < 3 || value.find(segments[1]) != nullptr)
      segments.insert(segments.begin() + 1, concat("<", one, ">"));
  }
  return segments;
}

bool is_index(std::string_view segment) {
  return segment == "*" || segment.starts_with('<') ||
         std::all_of(segment.begin(), segment.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct Search {
  std::optional<Place> found;
  // Where the search ended else, and with what.
  Place last;
  std::string segment;
};

Search find(const Place& place, const Words& segments, std::size_t next) {
  if (next == segments.size()) return {place, place, {}};
  const std::string& segment = segments[next];
  const FieldSpec& field = *place.field;
  if (field.kind == Kind::kItem) return {place, place, {}};  // whatever is below is one as well
  const bool is_container = field.kind == Kind::kMap || field.kind == Kind::kList;
  if (!is_container) {
    if (const FieldSpec* named = field.find(segment))
      return find(below(place, *named), segments, next + 1);
    return {std::nullopt, place, segment};
  }
  // Whoever leaves the key out means the field; a key with the name of a field needs something behind it.
  const Place value = below(place, field.below.front());
  Search search{std::nullopt, value, segment};
  if (value.field->find(segment) != nullptr) search = find(value, segments, next);
  if (search.found || (field.kind == Kind::kList && !is_index(segment))) return search;
  const Search by_key = find(value, segments, next + 1);
  return by_key.found || value.field->find(segment) == nullptr ? by_key : search;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// A path as one would rather type it: brackets of both kinds mean something to a shell.
std::string typed(std::string path) {
  constexpr std::string_view kWorkload = "workloads.<workload>";
  if (path.starts_with(kWorkload)) path.replace(0, kWorkload.size(), "workload");
  for (std::size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]"))
    path.erase(at, 2);
  return path;
}

// The place of the field with the most similar name: among those of the place itself first, then deeper and deeper.
std::optional<std::string> similar(const Place& place, std::string_view segment) {
  Words names;
  Words paths;
  std::deque<Place> level{innermost(place)};
  while (!level.empty()) {
    const Place parent = std::move(level.front());
    level.pop_front();
    if (parent.field->kind != Kind::kObject) continue;
    for (const auto& field : parent.field->below) {
      const Place child = below(parent, field);
      names.push_back(lower_case(field.name));
      paths.push_back(child.path);
      level.push_back(innermost(child));
    }
  }
  const auto found = nearest(lower_case(segment), names);
  if (!found) return std::nullopt;
  return typed(paths[*found]);
}

std::string listed(const std::vector<FieldSpec>& fields) {
  Words names;
  for (const auto& field : fields) names.emplace_back(field.name);
  return join(names, ", ");
}

std::string unknown(const Place& last, std::string_view segment) {
  const std::string where = last.path.empty() ? "a manifest" : last.path;
  const auto& fields = fields_within(*last.field);
  std::string text = concat("there is no field '", segment, "' in ", where);
  if (fields.empty()) return concat(text, ", which has no fields");
  if (const auto meant = similar(last, segment)) text += concat("; did you mean '", *meant, "'?");
  return concat(text, text.ends_with('?') ? " There" : "; there", " are: ", listed(fields));
}

// -- Showing it

class Page {
 public:
  explicit Page(std::size_t width) : width_(std::min(width, kReadableWidth)) {}

  std::string show(const Place& place) && {
    const FieldSpec& field = *place.field;
    text_ = concat(place.path.empty() ? "manifest" : place.path, " (", type_of(field), ")\n\n");
    text_ += indented(concat(field.summary, "."), kIndentation, width_);
    if (!field.details.empty()) text_ += "\n" + indented(field.details, kIndentation, width_);
    facts(place);
    const FieldSpec& inner = *innermost(place).field;
    if (!inner.words.empty()) words(inner);
    if (!inner.below.empty()) fields(innermost(place));
    if (!field.example.empty()) example(field);
    return std::move(text_);
  }

 private:
  static constexpr std::size_t kIndentation = 2;

  void facts(const Place& place) {
    const FieldSpec& field = *place.field;
    const FieldSpec& ruled = field.kind == Kind::kList ? field.below.front() : field;
    std::vector<std::pair<std::string_view, std::string>> facts;
    const bool has_key = place.parent != nullptr;
    if (has_key) facts.emplace_back("Required:", requirement_of(*place.field, place.parent));
    if (!field.fallback.empty()) facts.emplace_back("Default:", field.fallback);
    if (ruled.rule != nullptr)
      facts.emplace_back(ruled.kind == Kind::kText ? "Form:" : "Keys:", ruled.rule->sentence);
    if (!facts.empty()) text_ += "\n";
    for (const auto& [name, value] : facts)
      text_ += entry(name, value, kIndentation + std::string_view("Required:  ").size(), width_);
  }

  void words(const FieldSpec& field) {
    std::size_t column = 0;
    for (const auto& word : field.words) column = std::max(column, word.word.size());
    text_ += "\nValues:\n";
    for (const auto& [word, meaning] : field.words)
      text_ += entry(word, meaning, column + 4, width_);
  }

  void fields(const Place& parent) {
    std::size_t column = 0;
    for (const auto& field : parent.field->below) column = std::max(column, field.name.size());
    text_ += "\nFields:\n";
    for (const auto& field : parent.field->below) {
      const std::string required = requirement_of(field, parent.field);
      std::string remark = type_of(field);
      if (required != "no")
        remark += required.starts_with("yes") ? concat(", required", required.substr(3))
                                              : concat(", ", required);
      text_ += entry(field.name, concat(field.summary, " (", remark, ")"), column + 4, width_);
    }
  }

  // As it stands: broken lines would be another text.
  void example(const FieldSpec& field) {
    text_ += "\nExample:\n";
    for (const auto line : split(field.example, '\n'))
      text_ += concat(std::string(kIndentation, ' '), line, "\n");
  }

  const std::size_t width_;
  std::string text_;
};

}  // namespace

Result<std::string> explain(std::string_view field, std::size_t width) {
  const Search search = find({&manifest_fields(), nullptr, ""}, segments_of(field), 0);
  if (!search.found) return fail(Code::kNotFound, unknown(search.last, search.segment));
  return Page(width).show(*search.found);
}

}  // namespace tiphys::cli
