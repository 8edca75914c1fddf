#include "cli/listing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "cli/state_view.h"
#include "cli/table.h"
#include "model/path.h"
#include "text/json.h"
#include "text/yaml_writer.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kShownIdLength = 12;

// -- Columns

struct Column {
  std::string_view header;
  std::string_view key;  // in JSON and YAML
  bool is_wide = false;  // shown with -o wide only
  bool is_number = false;
};

constexpr std::array<Column, 9> kWorkloadColumns{
    {{"WORKLOAD NAME", "name"},
     {"AGENT", "agent"},
     {"RUNTIME", "runtime"},
     {"EXECUTION STATE", "state"},
     {.header = "RESTART POLICY", .key = "restartPolicy", .is_wide = true},
     {.header = "DEPENDENCIES", .key = "dependencies", .is_wide = true},
     {.header = "TAGS", .key = "tags", .is_wide = true},
     {.header = "ID", .key = "id", .is_wide = true},
     {"ADDITIONAL INFO", "additionalInfo"}}};
constexpr std::array<Column, 5> kAgentColumns{
    {{"NAME", "name"},
     {.header = "WORKLOADS", .key = "workloads", .is_number = true},
     {.header = "CPU USAGE", .key = "cpuUsage", .is_number = true},
     {.header = "FREE MEMORY", .key = "freeMemory", .is_number = true},
     {.header = "TAGS", .key = "tags", .is_wide = true}}};
constexpr std::array<Column, 4> kConfigColumns{
    {{"CONFIG", "name"},
     {.header = "KIND", .key = "kind", .is_wide = true},
     {.header = "SIZE", .key = "size", .is_wide = true, .is_number = true},
     {.header = "USED BY", .key = "usedBy", .is_wide = true}}};

constexpr std::array<std::string_view, 16> kKeys{
    "name",          "agent",          "id",        "runtime",     "state",      "subState",
    "restartPolicy", "additionalInfo", "workloads", "cpuUsage",    "freeMemory", "kind",
    "size",          "usedBy",         "tags",      "dependencies"};

std::span<const Column> columns_of(ListKind kind) {
  switch (kind) {
    case ListKind::kWorkloads:
      return kWorkloadColumns;
    case ListKind::kAgents:
      return kAgentColumns;
    case ListKind::kConfigs:
      break;
  }
  return kConfigColumns;
}

// What is left of a column's header or key when only its words count.
std::string folded(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c == ' ' || c == '-' || c == '_') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

const Column* find_column(ListKind kind, std::string_view text) {
  const auto columns = columns_of(kind);
  const std::string wanted = folded(text);
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& column) {
    return folded(column.header) == wanted || folded(column.key) == wanted;
  });
  return found == columns.end() ? nullptr : &*found;
}

// -- Rows

// One entry of a list: a cell for each column there is, and all there is to know for programs.
struct Item {
  std::vector<std::string> cells;
  Tree object;
};

Tree tree_of(const std::map<std::string, std::string>& map) {
  Tree::Map tree;
  for (const auto& [key, value] : map) tree = tree.set(key, value);
  return tree;
}

Tree tree_of(const std::vector<std::string>& texts) {
  return Tree::List(texts.begin(), texts.end());
}

std::string dependencies_text(const Workload& workload) {
  std::vector<std::string> texts;
  texts.reserve(workload.dependencies.size());
  for (const auto& [name, condition] : workload.dependencies)
    texts.push_back(concat(name, "=", condition_text(condition)));
  return on_one_safe_line(join(texts, ","));
}

Item item_of(const WorkloadRow& row, const Tree& complete_state) {
  const auto& [instance, runtime, state] = row;
  const auto wanted = wanted_workload(complete_state, instance);
  const std::string shown_runtime = wanted ? wanted->runtime : runtime;
  const PhaseRow& phase = row_of(state.phase);
  Tree::Map dependencies;
  if (wanted)
    for (const auto& [name, condition] : wanted->dependencies)
      dependencies = dependencies.set(name, to_string(condition));
  auto object = Tree::Map()
                    .set("name", instance.workload.value)
                    .set("agent", instance.agent.value)
                    .set("id", instance.id.value)
                    .set("runtime", shown_runtime)
                    .set("state", phase.state)
                    .set("subState", phase.sub_state)
                    .set("additionalInfo", state.additional_info)
                    .set("restartPolicy", wanted ? to_string(wanted->restart_policy) : "")
                    .set("tags", wanted ? tree_of(wanted->tags) : Tree(Tree::Map()))
                    .set("dependencies", dependencies);
  return {{instance.workload.value, instance.agent.value, shown_runtime, state_text(state),
           wanted ? std::string(to_string(wanted->restart_policy)) : "",
           wanted ? dependencies_text(*wanted) : "", wanted ? tags_text(wanted->tags) : "",
           instance.id.value.substr(0, kShownIdLength), info_text(state)},
          std::move(object)};
}

std::vector<Item> agent_items(const Tree& complete_state) {
  std::vector<Item> items;
  for (auto& cells : agent_table(complete_state).rows) {
    const std::string& name = cells[0];
    Tags tags;
    entries_at(complete_state, {{"agents", name, "tags"}})
        .for_each([&](const std::string& key, const Tree& value) {
          if (value.string() != nullptr) tags[key] = *value.string();
        });
    std::uint64_t workloads = 0;
    std::from_chars(cells[1].data(), cells[1].data() + cells[1].size(), workloads);
    auto object =
        Tree::Map().set("name", name).set("workloads", workloads).set("tags", tree_of(tags));
    for (const char* key : {"cpuUsage", "freeMemory"})
      if (const auto value = get(complete_state, {{"agents", name, "status", key}}))
        object = object.set(key, *value);
    cells.push_back(tags_text(tags));
    items.push_back({std::move(cells), std::move(object)});
  }
  return items;
}

// Bytes of a text, elements of a list, keys of a map.
std::pair<std::string_view, std::uint64_t> kind_and_size(const Tree& config) {
  if (const auto* text = config.string()) return {"string", text->size()};
  if (const auto* list = config.list()) return {"list", list->size()};
  return {"map", config.entries().size()};
}

std::vector<Item> config_items(const Tree& complete_state) {
  std::map<std::string, std::set<std::string>> users;
  for (const auto& workload : keys_at(complete_state, {{"desiredState", "workloads"}}))
    entries_at(complete_state, {{"desiredState", "workloads", workload, "configs"}})
        .for_each([&](const std::string&, const Tree& key) {
          if (key.string() != nullptr) users[*key.string()].insert(workload);
        });
  std::vector<Item> items;
  entries_at(complete_state, {{"desiredState", "configs"}})
      .for_each([&](const std::string& name, const Tree& config) {
        const auto [kind, size] = kind_and_size(config);
        const std::vector<std::string> used_by(users[name].begin(), users[name].end());
        items.push_back({{name, std::string(kind), std::to_string(size), join(used_by, ",")},
                         Tree::Map()
                             .set("name", name)
                             .set("kind", kind)
                             .set("size", size)
                             .set("usedBy", tree_of(used_by))});
      });
  return items;
}

// -- Formats

std::uint64_t leading_number(const std::string& cell) {
  std::uint64_t number = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return number;
}

// What is equal stays in the order of names.
void sort(ListKind kind, const Listing& listing, std::vector<Item>& items) {
  if (!listing.sort_by) return;
  const Column* column = find_column(kind, *listing.sort_by);
  TIPHYS_CHECK(column != nullptr, "the command line was checked");
  const auto at = static_cast<std::size_t>(column - columns_of(kind).data());
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    return column->is_number ? leading_number(a.cells[at]) < leading_number(b.cells[at])
                             : a.cells[at] < b.cells[at];
  });
}

Table table_of(ListKind kind, const Listing& listing, const std::vector<Item>& items) {
  const auto columns = columns_of(kind);
  const auto is_shown = [&](std::size_t i) {
    return listing.format == ListFormat::kWide || !columns[i].is_wide;
  };
  Table table;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (is_shown(i)) table.header.emplace_back(columns[i].header);
  for (const auto& item : items) {
    auto& row = table.rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (is_shown(i)) row.push_back(item.cells[i]);
  }
  return table;
}

std::vector<std::string> lines(ListKind kind, Table table, bool has_headers, std::size_t width) {
  const auto last = kind == ListKind::kWorkloads ? LastColumn::kWrap : LastColumn::kCut;
  if (has_headers) return lines_of(table, last, width);
  for (auto& header : table.header) header.clear();
  auto all = lines_of(table, last, width);
  all.erase(all.begin());
  return all;
}

std::string names_of(const std::vector<Item>& items) {
  std::string text;
  std::set<std::string_view> seen;  // two instances of a workload have one name
  for (const auto& item : items)
    if (seen.insert(item.cells[0]).second) text += concat(item.cells[0], "\n");
  return text;
}

std::string show(ListKind kind, std::vector<Item> items, const Listing& listing,
                 std::size_t width) {
  sort(kind, listing, items);
  switch (listing.format) {
    case ListFormat::kTable:
    case ListFormat::kWide:
      break;
    case ListFormat::kName:
      return names_of(items);
    case ListFormat::kJson:
    case ListFormat::kYaml:
      Tree::List list;
      for (auto& item : items) list.push_back(std::move(item.object));
      return listing.format == ListFormat::kJson
                 ? concat(write_json(list, JsonLayout::kPretty, kKeys), "\n")
                 : write_yaml(list, kKeys);
  }
  return text_of(lines(kind, table_of(kind, listing, items), listing.has_headers, width));
}

bool is_plain(const Listing& listing) {
  return listing.format == ListFormat::kTable && !listing.sort_by;
}

std::vector<Item> workload_items(const std::vector<WorkloadRow>& rows, const Tree& complete_state) {
  std::vector<Item> items;
  items.reserve(rows.size());
  for (const auto& row : rows) items.push_back(item_of(row, complete_state));
  return items;
}

}  // namespace

std::vector<std::string> column_names(ListKind kind) {
  std::vector<std::string> names;
  for (const auto& column : columns_of(kind)) names.push_back(column_name(column.header));
  return names;
}

bool is_column(ListKind kind, std::string_view text) { return find_column(kind, text) != nullptr; }

std::string column_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (c == ' ' || c == '_')
      name += '-';
    else
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

std::string list_workloads(const std::vector<WorkloadRow>& rows, const Tree& complete_state,
                           const Listing& listing, std::size_t width) {
  // The default says the least, and a server may have many workloads.
  if (is_plain(listing)) return text_of(workload_lines(rows, complete_state, listing, width));
  return show(ListKind::kWorkloads, workload_items(rows, complete_state), listing, width);
}

std::string list_agents(const Tree& complete_state, const Listing& listing, std::size_t width) {
  return show(ListKind::kAgents, agent_items(complete_state), listing, width);
}

std::string list_configs(const Tree& complete_state, const Listing& listing, std::size_t width) {
  return show(ListKind::kConfigs, config_items(complete_state), listing, width);
}

std::vector<std::string> workload_lines(const std::vector<WorkloadRow>& rows,
                                        const Tree& complete_state, const Listing& listing,
                                        std::size_t width) {
  if (is_plain(listing))
    return lines(ListKind::kWorkloads, workload_table(rows), listing.has_headers, width);
  auto items = workload_items(rows, complete_state);
  sort(ListKind::kWorkloads, listing, items);
  return lines(ListKind::kWorkloads, table_of(ListKind::kWorkloads, listing, items),
               listing.has_headers, width);
}

}  // namespace tiphys::cli
