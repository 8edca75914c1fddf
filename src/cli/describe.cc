#include "cli/describe.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "cli/nearest.h"
#include "cli/state_view.h"
#include "cli/table.h"
#include "cli/workload_table.h"
#include "model/path.h"
#include "model/workload.h"

namespace tiphys::cli {
namespace {

constexpr std::size_t kIndentation = 2;

void append_line(std::string& text, std::size_t indentation, std::string_view line) {
  line = line.substr(0, line.find_last_not_of(' ') + 1);
  if (!line.empty()) text.append(indentation, ' ');
  text.append(line).push_back('\n');
}

// A title and a table below it; nothing without rows.
std::string section(std::string_view title, const Table& table, std::size_t width) {
  if (table.rows.empty()) return {};
  std::string text = concat(title, ":\n");
  const std::size_t room = width > kIndentation ? width - kIndentation : 1;
  for (const auto& line : lines_of(table, LastColumn::kWrapText, room))
    append_line(text, kIndentation, line);
  return text;
}

// "Runtime:   podman", line by line.
class Facts {
 public:
  void add(std::string_view label, std::string_view value) {
    if (!value.empty()) table_.rows.push_back({concat(label, ":"), on_one_safe_line(value)});
  }
  [[nodiscard]] std::string text(std::size_t width) const {
    std::string text;
    auto lines = lines_of(table_, LastColumn::kWrapText, width);
    lines.erase(lines.begin());  // the header, which is empty
    for (const auto& line : lines) append_line(text, 0, line);
    return text;
  }

 private:
  Table table_{{"", ""}, {}};
};

// -- Workloads

// What a workload is by all its instances: "Running(Ok)", or "not there".
struct Standing {
  std::vector<Phase> phases;

  [[nodiscard]] std::string text() const {
    std::vector<std::string> texts;
    texts.reserve(phases.size());
    for (const Phase phase : phases) texts.push_back(state_text(ExecutionState(phase)));
    return texts.empty() ? "not there" : join(texts, ", ");
  }
  template <class Condition>
  [[nodiscard]] bool fulfils(Condition condition) const {
    return std::any_of(phases.begin(), phases.end(),
                       [&](Phase phase) { return is_fulfilled(condition, phase); });
  }
};

class WorkloadDescription {
 public:
  WorkloadDescription(const Tree& complete_state, const SinceWhen& since, const std::string& name,
                      std::size_t width)
      : state_(complete_state),
        since_(since),
        name_(name),
        width_(width),
        wanted_(wanted_workload(complete_state, name)) {
    for (auto& row : workload_rows(complete_state)) {
      standings_[row.instance.workload.value].phases.push_back(row.state.phase);
      if (row.instance.workload.value == name) rows_.push_back(std::move(row));
    }
  }

  [[nodiscard]] bool is_known() const { return wanted_ != nullptr || !rows_.empty(); }

  [[nodiscard]] std::string text() const {
    std::string text = facts();
    if (wanted_ != nullptr) text += section("Dependencies", dependencies(), width_);
    text += section("Needed by", dependents(), width_);
    if (wanted_ == nullptr) return text;
    text += section("Config items", config_items(), width_);
    text += section("Control interface", rules(), width_);
    text += section("Files", files(), width_);
    return text + runtime_config();
  }

 private:
  [[nodiscard]] std::string facts() const {
    Facts facts;
    facts.add("Workload", name_);
    for (const auto& row : rows_) {
      facts.add("State", on_agent(state_text(row.state), row.instance.agent.value));
      if (const auto since = since_.find(row.instance); since != since_.end())
        facts.add("Since", since->second);
      facts.add("Reason", info_text(row.state));
      facts.add("Instance", to_string(row.instance));
    }
    if (rows_.empty()) facts.add("State", "none yet");
    if (wanted_ == nullptr) {
      facts.add("Wanted", "no, it is being deleted");
      return facts.text(width_);
    }
    facts.add("Agent", agent_text());
    facts.add("Runtime", wanted_->runtime);
    facts.add("Restart policy", to_string(wanted_->restart_policy));
    facts.add("Tags", tags_text(wanted_->tags));
    return facts.text(width_);
  }

  static std::string on_agent(const std::string& state, const std::string& agent) {
    return agent.empty() ? state : concat(state, " on ", agent);
  }

  [[nodiscard]] std::string agent_text() const {
    if (wanted_->agent.empty()) return "none, so that it is not scheduled";
    return concat(wanted_->agent,
                  get(state_, {{"agents", wanted_->agent}}) ? " (connected)" : " (not connected)");
  }

  [[nodiscard]] bool is_in(std::initializer_list<Phase> phases) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const WorkloadRow& row) {
      return std::find(phases.begin(), phases.end(), row.state.phase) != phases.end();
    });
  }
  [[nodiscard]] Standing standing_of(const std::string& workload) const {
    const auto found = standings_.find(workload);
    return found == standings_.end() ? Standing{} : found->second;
  }

  [[nodiscard]] Table dependencies() const {
    const bool has_not_started = is_in({Phase::kPendingInitial, Phase::kPendingWaitingToStart});
    Table table{{"WORKLOAD NAME", "MUST BE", "IS", ""}, {}};
    for (const auto& [name, condition] : wanted_->dependencies) {
      const Standing standing = standing_of(name);
      const bool blocks = has_not_started && !standing.fulfils(condition);
      table.rows.push_back({name, std::string(condition_text(condition)), standing.text(),
                            blocks ? "blocks the start" : ""});
    }
    return table;
  }

  // Who depends on it, and whether its deletion has to wait for them.
  [[nodiscard]] Table dependents() const {
    const bool waits_to_stop = is_in({Phase::kStoppingWaitingToStop});
    Table table{{"WORKLOAD NAME", "NEEDS IT", "IS", ""}, {}};
    for (const auto& other : keys_at(state_, {{"desiredState", "workloads"}})) {
      const auto dependent = wanted_workload(state_, other);
      if (dependent == nullptr) continue;
      const auto dependency = dependent->dependencies->find(name_);
      if (dependency == dependent->dependencies.end()) continue;
      const Standing standing = standing_of(other);
      const bool blocks = waits_to_stop && dependency->second == AddCondition::kRunning &&
                          !standing.phases.empty() &&
                          !standing.fulfils(DeleteCondition::kNotPendingNorRunning);
      table.rows.push_back({other, std::string(condition_text(dependency->second)), standing.text(),
                            blocks ? "blocks the deletion" : ""});
    }
    return table;
  }

  [[nodiscard]] Table config_items() const {
    Table table{{"ALIAS", "CONFIG"}, {}};
    // The items have been put into what an agent gets.
    const auto desired = entries_at(state_, {{"desiredState", "workloads", name_, "configs"}});
    desired.for_each([&](const std::string& alias, const Tree& key) {
      if (key.string() == nullptr) return;
      const bool is_there = get(state_, {{"desiredState", "configs", *key.string()}}).has_value();
      table.rows.push_back({alias, is_there ? *key.string() : concat(*key.string(), " (missing)")});
    });
    return table;
  }

  [[nodiscard]] Table rules() const {
    Table table{{"RULE", "OPERATION", "MASKS OR WORKLOADS"}, {}};
    const auto add = [&](const char* word, const std::vector<AccessRule>& rules) {
      for (const auto& rule : rules)
        table.rows.push_back(match(
            rule,
            [&](const StateRule& r) -> std::vector<std::string> {
              return {word, std::string(to_string(r.operation)),
                      on_one_safe_line(join(r.filter_masks, ", "))};
            },
            [&](const LogRule& r) -> std::vector<std::string> {
              return {word, "Logs", on_one_safe_line(join(r.workload_names, ", "))};
            }));
    };
    add("allow", wanted_->access->allow_rules);
    add("deny", wanted_->access->deny_rules);
    return table;
  }

  [[nodiscard]] Table files() const {
    Table table{{"MOUNT POINT", "CONTENT"}, {}};
    for (const auto& file : wanted_->files)
      table.rows.push_back({on_one_safe_line(file.mount_point),
                            concat(std::to_string(file.content.size()), "B of ",
                                   file.encoding == File::Encoding::kText ? "text" : "base64")});
    return table;
  }

  [[nodiscard]] std::string runtime_config() const {
    if (wanted_->runtime_config.empty()) return {};
    const auto desired = get(state_, {{"desiredState", "workloads", name_}});
    const bool is_rendered =
        desired && trim(string_at(*desired, "runtimeConfig")) != trim(wanted_->runtime_config);
    std::string text = is_rendered ? "Runtime config, rendered:\n" : "Runtime config:\n";
    for (const auto line : split(wanted_->runtime_config, '\n')) {
      const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
      append_line(text, kIndentation,
                  concat(line.substr(0, blanks), on_one_safe_line(line.substr(blanks))));
    }
    return text;
  }

  const Tree& state_;
  const SinceWhen& since_;
  const std::string& name_;
  const std::size_t width_;
  const WorkloadPtr wanted_;
  std::vector<WorkloadRow> rows_;  // its instances
  std::map<std::string, Standing> standings_;
};

// -- Agents

// "7.6 GiB (8160437862B)"
std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  std::string exact = concat(std::to_string(bytes), "B");
  if (bytes < 1024) return exact;
  std::uint64_t tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024;
  std::size_t unit = 0;
  for (; tenths >= 10240 && unit + 1 < kUnits.size(); ++unit) tenths /= 1024;
  return concat(std::to_string(tenths / 10), ".", std::to_string(tenths % 10), " ", kUnits[unit],
                " (", exact, ")");
}

// "3: 2 Running(Ok), 1 Failed(Lost)"
std::string counts_text(const std::vector<WorkloadRow>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const auto& row : rows) ++counts[state_text(row.state)];
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [state, count] : counts)
    texts.push_back(concat(std::to_string(count), " ", state));
  return rows.empty() ? "0" : concat(std::to_string(rows.size()), ": ", join(texts, ", "));
}

}  // namespace

Result<std::string> describe_workload(const Tree& complete_state, const SinceWhen& since,
                                      const std::string& name, std::size_t width) {
  const WorkloadDescription description(complete_state, since, name, width);
  if (!description.is_known())
    return fail(Code::kNotFound,
                unknown_name(concat("no workload named '", name, "' exists"), name,
                             "existing workloads", workload_names(complete_state)));
  return description.text();
}

Result<std::string> describe_agent(const Tree& complete_state, const std::string& name,
                                   std::size_t width) {
  auto rows = workload_rows(complete_state);
  std::erase_if(rows, [&](const WorkloadRow& row) { return row.instance.agent.value != name; });
  if (!get(complete_state, {{"agents", name}})) {
    std::string sentence = concat("no agent named '", name, "' is connected");
    if (!rows.empty())
      sentence += concat(", though ", std::to_string(rows.size()),
                         rows.size() == 1 ? " workload is" : " workloads are", " to run on it");
    return fail(Code::kNotFound,
                unknown_name(sentence, name, "connected", agent_names(complete_state)));
  }
  Facts facts;
  facts.add("Agent", name);
  Tags tags;
  entries_at(complete_state, {{"agents", name, "tags"}})
      .for_each([&](const std::string& key, const Tree& value) {
        if (value.string() != nullptr) tags[key] = *value.string();
      });
  facts.add("Tags", tags_text(tags));
  const auto number_at = [&](const char* key) {
    const auto found = get(complete_state, {{"agents", name, "status", key}});
    return found && found->number() != nullptr ? std::optional(*found->number()) : std::nullopt;
  };
  if (const auto usage = number_at("cpuUsage"))
    facts.add("CPU usage", concat(std::to_string(*usage), "%"));
  if (const auto memory = number_at("freeMemory")) facts.add("Free memory", bytes_text(*memory));
  facts.add("Workloads", counts_text(rows));

  Table table{{"WORKLOAD NAME", "RUNTIME", "EXECUTION STATE", "ADDITIONAL INFO"}, {}};
  for (const auto& row : rows) {
    const auto wanted = wanted_workload(complete_state, row.instance);
    table.rows.push_back({row.instance.workload.value, wanted ? wanted->runtime : row.runtime,
                          state_text(row.state), info_text(row.state)});
  }
  std::string text = facts.text(width);
  if (table.rows.empty()) return text;
  text += "\n";
  for (const auto& line : lines_of(table, LastColumn::kWrapText, width)) append_line(text, 0, line);
  return text;
}

}  // namespace tiphys::cli
