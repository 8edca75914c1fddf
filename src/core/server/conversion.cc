#include "core/server/conversion.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace tiphys::server {
namespace {

using Levels = std::vector<std::string>;
using Segments = std::vector<std::string>;

std::string snake_case(std::string_view camel_case) {
  std::string text;
  for (const char c : camel_case) {
    if (c >= 'A' && c <= 'Z') text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool is_index(std::string_view segment) {
  return !segment.empty() &&
         std::all_of(segment.begin(), segment.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Below configs.<key>: an item in an item. A key and an index look alike if the key is a number; the text does not tell
// which item it is about anyway.
void add_config_levels(const Segments& path, std::size_t from, Levels& levels) {
  for (std::size_t i = from; i < path.size(); ++i) {
    levels.emplace_back("config_item_enum");
    if (!is_index(path[i])) levels.emplace_back("fields");
  }
}

// Below workloads.<name>. A list is no level of its own, nor is an element.
void add_workload_levels(const Segments& path, std::size_t from, Levels& levels) {
  if (from >= path.size()) return;
  const std::string& field = path[from];
  levels.push_back(snake_case(field));
  if (path.size() > from + 1 && (field == "dependencies" || field == "tags" || field == "configs"))
    levels.push_back(field);
  if (path.back() == "operation") {
    levels.emplace_back("access_rights_rule_enum");
    levels.emplace_back("operation");
  }
}

// The levels of messages and maps on the way to the field; a map is one level for each of its entries.
Levels levels_of(const Segments& path) {
  Levels levels;
  for (std::size_t i = 0; i < path.size() && i < 2; ++i) levels.push_back(snake_case(path[i]));
  if (path.size() < 3) return levels;
  levels.push_back(path[1]);
  if (path[1] == "configs")
    add_config_levels(path, 3, levels);
  else
    add_workload_levels(path, 3, levels);
  return levels;
}

std::string offence_of(std::string_view offence) {
  constexpr std::string_view kMissing = "missing field `";
  if (offence.starts_with(kMissing)) {
    const std::string_view field =
        offence.substr(kMissing.size(), offence.rfind('`') - kMissing.size());
    return concat("Missing field '",
                  field == "type" ? "access_rights_rule_enum" : snake_case(field), "'");
  }
  if (offence.starts_with("data did not match")) return "Missing field 'file_content'";
  if (offence.ends_with("found null")) return "Missing field 'config_item_enum'";
  return std::string(offence);
}

}  // namespace

std::string conversion_text(const FieldError& error) {
  std::string text = offence_of(error.offence);
  Levels levels = levels_of(error.path.segments);
  std::reverse(levels.begin(), levels.end());
  for (const auto& level : levels)
    text = concat("Cannot convert field '", level, "' to spec object: '", text, "'.");
  return text;
}

}  // namespace tiphys::server
