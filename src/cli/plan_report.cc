#include "cli/plan_report.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/strings.h"
#include "cli/state_view.h"
#include "cli/table.h"
#include "model/path.h"
#include "text/json.h"
#include "text/yaml_writer.h"

namespace tiphys::cli {
namespace {

constexpr std::array<Fate, 5> kFates{Fate::kCreated, Fate::kReplaced, Fate::kUpdated,
                                     Fate::kDeleted, Fate::kUnchanged};
constexpr std::array<std::string_view, 15> kKeys{
    "workloads", "configs", "warnings", "hooks",   "counts",  "name",     "fate",   "before",
    "after",     "agent",   "id",       "reasons", "created", "replaced", "updated"};

template <class Planned>
std::size_t count(const std::vector<Planned>& all, Fate fate) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const Planned& planned) { return planned.fate == fate; }));
}

// -- For programs

Tree tree_of(const InstanceName& instance) {
  return Tree::Map().set("agent", instance.agent.value).set("id", instance.id.value);
}

Tree tree_of(const PlannedWorkload& workload) {
  auto tree = Tree::Map()
                  .set("name", workload.name)
                  .set("fate", to_string(workload.fate))
                  .set("reasons", Tree::List(workload.reasons.begin(), workload.reasons.end()));
  if (workload.before) tree = tree.set("before", tree_of(*workload.before));
  if (workload.after) tree = tree.set("after", tree_of(*workload.after));
  return tree;
}

Tree tree_of(const PlannedConfig& config) {
  return Tree::Map().set("name", config.name).set("fate", to_string(config.fate));
}

template <class Each>
Tree list_of(const std::vector<Each>& all) {
  Tree::List list;
  for (const auto& each : all) list.push_back(tree_of(each));
  return list;
}

Tree tree_of(const UpdateReport& report) {
  const DryRun& run = report.run;
  Tree::Map counts;
  for (const Fate fate : kFates)
    counts = counts.set(std::string(to_string(fate)), count(run.workloads, fate));
  return Tree::Map()
      .set("workloads", list_of(run.workloads))
      .set("configs", list_of(report.configs))
      .set("warnings", Tree::List(run.warnings.begin(), run.warnings.end()))
      .set("hooks", Tree::List(run.hooks.begin(), run.hooks.end()))
      .set("counts", counts);
}

// -- For people

std::string agents_text(const PlannedWorkload& workload) {
  if (!workload.before && !workload.after) return {};
  if (!workload.before) return workload.after->agent.value;
  if (!workload.after || workload.before->agent == workload.after->agent)
    return workload.before->agent.value;
  return concat(workload.before->agent.value, " -> ", workload.after->agent.value);
}

// The server says why something changes, not why something comes or goes.
std::vector<std::string> reasons_of(const PlannedWorkload& workload) {
  if (!workload.reasons.empty()) return workload.reasons;
  if (workload.fate == Fate::kCreated) return {"is new"};
  if (workload.fate == Fate::kDeleted) return {"is no longer wanted"};
  return {""};
}

std::string workloads_text(const std::vector<PlannedWorkload>& workloads, std::size_t width) {
  if (workloads.empty()) return "No workload would change.\n";
  Table table{{"WOULD BE", "WORKLOAD NAME", "AGENT", "WHY"}, {}};
  for (const auto& workload : workloads) {
    std::vector<std::string> beginning{std::string(to_string(workload.fate)), workload.name,
                                       agents_text(workload)};
    for (const auto& reason : reasons_of(workload)) {
      beginning.push_back(on_one_safe_line(reason));
      table.rows.push_back(std::exchange(beginning, {"", "", ""}));
    }
  }
  return text_of(lines_of(table, LastColumn::kWrapText, width));
}

std::string configs_text(const std::vector<PlannedConfig>& configs, std::size_t width) {
  if (configs.empty()) return {};
  Table table{{"WOULD BE", "CONFIG"}, {}};
  for (const auto& config : configs)
    table.rows.push_back({std::string(to_string(config.fate)), config.name});
  return concat("\n", text_of(lines_of(table, LastColumn::kCut, width)));
}

template <class Planned>
std::string counts_text(std::string_view what, const std::vector<Planned>& all) {
  std::vector<std::string> counts;
  for (const Fate fate : kFates)
    if (fate != Fate::kReplaced || std::is_same_v<Planned, PlannedWorkload>)
      counts.push_back(concat(std::to_string(count(all, fate)), " ", to_string(fate)));
  return concat(what, ": ", join(counts, ", "), "\n");
}

std::string text_of(const UpdateReport& report, std::size_t width) {
  const DryRun& run = report.run;
  std::string text =
      concat(workloads_text(run.workloads, width), configs_text(report.configs, width), "\n");
  for (const auto& warning : run.warnings)
    text += concat("Warning: ", on_one_safe_line(warning), "\n");
  for (const auto& hook : run.hooks)
    text += concat("The hook '", on_one_safe_line(hook),
                   "' was not asked; it may change or refuse this.\n");
  text += counts_text("Workloads", run.workloads);
  if (!report.configs.empty()) text += counts_text("Configs", report.configs);
  return text;
}

}  // namespace

std::vector<PlannedConfig> planned_configs(const Tree& complete_state,
                                           const UpdateStateRequest& request) {
  std::vector<PlannedConfig> planned;
  for (const auto& mask : request.update_masks) {
    const Path path = parse_path(mask);
    const auto& segments = path.segments;
    if (segments.size() != 3 || segments[0] != "desiredState" || segments[1] != "configs") continue;
    const auto before = get(complete_state, path);
    const auto after = get(request.new_state, path);
    if (!before && !after) continue;
    Fate fate = Fate::kUpdated;
    if (!before) fate = Fate::kCreated;
    if (!after) fate = Fate::kDeleted;
    if (before && after && *before == *after) fate = Fate::kUnchanged;
    planned.push_back({segments[2], fate});
  }
  return planned;
}

bool UpdateReport::changes_anything() const {
  return count(run.workloads, Fate::kUnchanged) < run.workloads.size() ||
         count(configs, Fate::kUnchanged) < configs.size();
}

std::string to_text(const UpdateReport& report, PlanFormat format, std::size_t width) {
  switch (format) {
    case PlanFormat::kText:
      return text_of(report, width);
    case PlanFormat::kJson:
      return concat(write_json(tree_of(report), JsonLayout::kPretty, kKeys), "\n");
    case PlanFormat::kYaml:
      break;
  }
  return write_yaml(tree_of(report), kKeys);
}

}  // namespace tiphys::cli
