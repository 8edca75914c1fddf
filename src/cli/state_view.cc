#include "cli/state_view.h"

#include <array>
#include <set>

#include "base/strings.h"

namespace tiphys::cli {

std::string string_at(const Tree& tree, std::string_view key) {
  const auto child = tree.child(key);
  const auto* text = child ? child->string() : nullptr;
  return text == nullptr ? std::string() : *text;
}

Tree::Map entries_at(const Tree& tree, const Path& path) {
  const auto found = get(tree, path);
  return found ? found->entries() : Tree::Map();
}

std::vector<std::string> keys_at(const Tree& tree, const Path& path) {
  std::vector<std::string> keys;
  entries_at(tree, path).for_each([&](const std::string& key, const Tree&) {
    keys.push_back(key);
  });
  return keys;
}

WorkloadPtr wanted_workload(const Tree& complete_state, std::string_view name) {
  for (const char* part : {"effectiveState", "desiredState"}) {
    const auto found = get(complete_state, {{part, "workloads", std::string(name)}});
    if (!found) continue;
    if (auto workload = read_workload(*found, {})) return *workload;
  }
  return nullptr;
}

WorkloadPtr wanted_workload(const Tree& complete_state, const InstanceName& instance) {
  auto workload = wanted_workload(complete_state, instance.workload.value);
  return workload != nullptr && workload->agent == instance.agent.value ? workload : nullptr;
}

std::vector<std::string> workload_names(const Tree& complete_state) {
  std::set<std::string> names;
  for (const auto& name : keys_at(complete_state, {{"desiredState", "workloads"}}))
    names.insert(name);
  entries_at(complete_state, {{"workloadStates"}})
      .for_each([&](const std::string&, const Tree& workloads) {
        workloads.entries().for_each(
            [&](const std::string& name, const Tree&) { names.insert(name); });
      });
  return {names.begin(), names.end()};
}

std::string tags_text(const Tags& tags) {
  std::vector<std::string> texts;
  texts.reserve(tags.size());
  for (const auto& [key, value] : tags) texts.push_back(concat(key, "=", value));
  return on_one_safe_line(join(texts, ","));
}

std::string_view condition_text(AddCondition condition) {
  constexpr std::array<std::string_view, 3> kWords{"running", "succeeded", "failed"};
  return kWords[static_cast<std::size_t>(condition)];
}

std::string on_one_safe_line(std::string_view text) {
  std::string line;
  for (const char c : trim(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      line += ", ";
    else
      line += c != '\t' && (byte < 0x20 || byte == 0x7f) ? ' ' : c;
  }
  return line;
}

}  // namespace tiphys::cli
