#include "model/state.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys {
namespace {

Tree::Map part(std::string_view api_version, const Tree::Map& workloads, const Tree::Map& configs,
               Empties empties) {
  auto entries = Tree::Map().set("apiVersion", api_version).set("workloads", workloads);
  return configs.empty() && empties == Empties::kOmit ? entries : entries.set("configs", configs);
}

Read<Tree::Map> read_map(const Tree& parent, const Path& path, const std::string& key) {
  const auto value = parent.child(key);
  if (!value || value->is_null()) return Tree::Map();
  if (!value->is_map())
    return misread(path.child(key), concat("expected a map, found ", value->kind()));
  return value->entries();
}

std::optional<FieldError> misread_config_item(const Tree& item, const Path& path,
                                              std::size_t depth = 1) {
  if (item.string() != nullptr) return std::nullopt;
  if (depth > kMaxTreeDepth)
    return FieldError{path,
                      concat("nested more than ", std::to_string(kMaxTreeDepth), " levels deep")};
  std::optional<FieldError> error;
  if (const auto* list = item.list()) {
    for (std::size_t i = 0; i < list->size() && !error; ++i)
      error = misread_config_item((*list)[i], path.child(std::to_string(i)), depth + 1);
    return error;
  }
  if (!item.is_map())
    return FieldError{path, concat("expected a string, a list or a map, found ", item.kind())};
  item.entries().for_each([&](const std::string& key, const Tree& value) {
    if (!error) error = misread_config_item(value, path.child(key), depth + 1);
  });
  return error;
}

// Maps inside lists inside lists are as free as peers leave them; all other keys are checked.
Status check_config_item_keys(const Tree& item) {
  Status status;
  const auto check_map = [&](const Tree& map) {
    map.entries().for_each([&](const std::string& key, const Tree& value) {
      if (status) status = check_config_item_key(key);
      if (status) status = check_config_item_keys(value);
    });
  };
  if (const auto* list = item.list()) {
    for (const auto& element : *list) check_map(element);
  } else {
    check_map(item);
  }
  return status;
}

}  // namespace

WorkloadPtr State::workload(std::string_view name) const {
  const Tree* entry = workloads.find(name);
  return entry == nullptr ? nullptr : entry->object<Workload>();
}

Tree State::to_tree(Empties empties) const {
  return part(api_version, workloads, configs, empties);
}

// [impl->swdd~api-conversions-between-ank-base-and-spec~1]
Read<State> read_state(const Tree& tree, const Path& path, const State& base) {
  if (!tree.is_map()) return misread(path, concat("expected a map, found ", tree.kind()));
  State state;
  TIPHYS_READ(state.api_version, read_required_string(tree, path, "apiVersion"));
  TIPHYS_READ(state.workloads, read_map(tree, path, "workloads"));
  TIPHYS_READ(state.configs, read_map(tree, path, "configs"));

  std::optional<FieldError> error;
  const Path path_of_workloads = path.child("workloads");
  std::vector<std::pair<std::string, Tree>> workloads;
  const auto read = [&](const std::string& name, const Tree* known, const Tree* given) {
    if (given == nullptr || error) return;
    auto workload = at(path_of_workloads, name, read_workload(*given, {}));
    const WorkloadPtr before = known == nullptr ? nullptr : known->object<Workload>();
    if (!workload) {
      error = std::move(workload).error();
    } else if (before != nullptr && *before == **workload) {
      workloads.emplace_back(name, before);  // what did not change stays shared
    } else if (!given->object<Workload>()) {
      workloads.emplace_back(name, *std::move(workload));
    }
  };
  // Not by equality: a map that equals a workload still has to become one.
  Tree::Map::difference(base.workloads, state.workloads, read,
                        [](const Tree& a, const Tree& b) { return a.same_as(b); });
  Tree::Map::difference(base.configs, state.configs,
                        [&](const std::string& key, const Tree*, const Tree* changed) {
                          if (changed != nullptr && !error)
                            error = misread_config_item(*changed, path.child("configs").child(key));
                        });
  if (error) return tl::unexpected<FieldError>(*std::move(error));
  state.workloads = state.workloads.set_all(std::move(workloads));
  return state;
}

Status check_config_names(const State& state, const State& base) {
  Status status;
  Tree::Map::difference(base.configs, state.configs,
                        [&](const std::string& key, const Tree*, const Tree* changed) {
                          if (changed == nullptr || !status) return;
                          status = check_config_item_key(key);
                          if (status) status = check_config_item_keys(*changed);
                        });
  const auto check_workloads = [&](auto check) {
    Tree::Map::difference(base.workloads, state.workloads,
                          [&](const std::string&, const Tree*, const Tree* changed) {
                            if (changed == nullptr) return;
                            const WorkloadPtr workload = changed->object<Workload>();
                            TIPHYS_CHECK(workload != nullptr, "a state holds only workloads");
                            for (const auto& mapping : workload->configs)
                              if (status) status = check(mapping);
                          });
  };
  check_workloads([](const auto& mapping) { return check_config_alias(mapping.first); });
  check_workloads([](const auto& mapping) { return check_config_reference(mapping.second); });
  return status;
}

std::optional<Tree> AgentAttributes::field(std::string_view key) const {
  const Tree::Map all = fields(Empties::kOmit);
  const Tree* value = all.find(key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

Tree::Map AgentAttributes::fields(Empties empties) const {
  Tree::Map map;
  if (status)
    map = map.set(
        "status",
        Tree::Map().set("cpuUsage", status->cpu_usage).set("freeMemory", status->free_memory));
  if (!tags.empty() || empties == Empties::kKeep) {
    Tree::Map tag_map;
    for (const auto& [key, value] : tags) tag_map = tag_map.set(key, value);
    map = map.set("tags", tag_map);
  }
  return map;
}

// [impl->swdd~api-object-serialization~1]
Tree CompleteState::to_tree() const {
  return Tree::Map()
      .set("desiredState", desired.to_tree())
      .set("workloadStates", workload_states.tree())
      .set("agents", agents)
      .set("effectiveState", part(desired.api_version, effective_workloads, {}, Empties::kOmit));
}

}  // namespace tiphys
