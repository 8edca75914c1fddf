#include "core/server/update.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "core/server/conversion.h"
#include "core/server/dependencies.h"
#include "core/server/rendering.h"
#include "model/path.h"
#include "model/reading.h"

namespace tiphys::server {
namespace {

const Path kDesiredPath{{"desiredState"}};

tl::unexpected<Error> rejected(const Error& error) {
  return fail(error.code, update_rejected(error.message));
}

tl::unexpected<Error> invalid_state(std::string_view reason) {
  return fail(Code::kInvalidArgument, concat("Resulting State is invalid, reason: '", reason, "'"));
}

tl::unexpected<Error> unreadable(const FieldError& error) {
  // Peers know another text for this one, because they look at it before they apply any mask.
  if (error.offence.starts_with("unknown enumeration value"))
    return invalid_state(concat("Failed to parse new state, '", error.offence, "'"));
  return invalid_state(concat("Could not parse into CompleteState: '", error.offence, "'"));
}

// Effective state and workload states are not for others to write. What a mask puts there is forgotten, but it has to
// be readable.
std::optional<FieldError> misread_forgotten_parts(const Tree& tree) {
  std::optional<FieldError> error;
  const auto each = [&](const std::optional<Tree>& map, const Path& path, auto visit) {
    if (map)
      map->entries().for_each([&](const std::string& key, const Tree& value) {
        if (!error) visit(value, path.child(key));
      });
  };
  const Path workloads{{"effectiveState", "workloads"}};
  each(get(tree, workloads), workloads, [&](const Tree& workload, const Path& path) {
    if (auto read = read_workload(workload, path); !read) error = std::move(read).error();
  });
  const Path states{{"workloadStates"}};
  each(get(tree, states), states, [&](const Tree& by_workload, const Path& agent) {
    each(by_workload, agent, [&](const Tree& by_id, const Path& workload) {
      each(by_id, workload, [&](const Tree& state, const Path& id) {
        if (!state.child("state")) error = FieldError{id, "missing field `state`"};
      });
    });
  });
  return error;
}

// Along a mask: what the new state has there replaces what the old one has, and what it lacks goes.
Result<Tree> apply_mask(const Tree& tree, const Tree& new_state, const std::string& mask) {
  const Path path = parse_path(mask);
  const auto value = path.empty() ? std::nullopt : get(new_state, path);
  auto changed =
      value ? set(tree, path, *value, Empties::kKeep) : remove(tree, path, Empties::kKeep);
  if (!changed) return fail(Code::kInvalidArgument, concat("Could not find field ", mask));
  return *std::move(changed);
}

// An agent without tags in the new state, which cannot be converted.
std::optional<FieldError> missing_tags(const Tree& new_state) {
  std::optional<FieldError> error;
  if (const auto agents = new_state.child("agents"))
    agents->entries().for_each([&](const std::string&, const Tree& attributes) {
      if (!error && !attributes.object<AgentAttributes>() && !attributes.child("tags"))
        error = FieldError{Path{{"agents", "agents"}}, "missing field `tags`"};
    });
  return error;
}

// [impl->swdd~update-desired-state-empty-update-mask~1]
Result<State> whole_state(const CompleteState& current, const Tree& new_state) {
  const auto inconvertible = [](const FieldError& error) {
    return invalid_state(
        concat("Could not parse into CompleteState: '", conversion_text(error), "'"));
  };
  const auto desired = new_state.child("desiredState");
  if (!desired) return inconvertible({Path{}, "missing field `desiredState`"});
  if (!desired->child("workloads"))
    return inconvertible({kDesiredPath, "missing field `workloads`"});
  auto state = read_state(*desired, kDesiredPath, current.desired);
  if (!state) return inconvertible(state.error());
  if (const auto error = missing_tags(new_state)) return inconvertible(*error);
  return *std::move(state);
}

// The tags of connected agents that the new part `agents` sets. A message that says nothing of an agent's tags leaves
// them as they are, unless a mask names them.
Result<std::map<std::string, Tags>> changed_tags(const Tree::Map& connected, const Tree& agents,
                                                 const std::vector<std::string>& masks) {
  std::map<std::string, Tags> changed;
  std::optional<FieldError> error;
  const auto named_by_mask = [&](const std::string& agent) {
    const std::string tags = concat("agents.", agent, ".tags");
    return std::find(masks.begin(), masks.end(), tags) != masks.end();
  };
  const auto read_tags = [&](const std::string& agent, const Tree& value) {
    Tags tags;
    value.entries().for_each([&](const std::string& key, const Tree& tag) {
      auto text = read_string(tag, Path{{"agents", agent, "tags", key}});
      if (text)
        tags.emplace(key, *std::move(text));
      else
        error = std::move(text).error();
    });
    return tags;
  };
  Tree::Map::difference(
      connected, agents.entries(),
      [&](const std::string& agent, const Tree* old_value, const Tree* new_value) {
        if (old_value == nullptr || new_value == nullptr) return;
        const auto value = new_value->child("tags");
        if (!value && !named_by_mask(agent)) return;
        Tags tags = value ? read_tags(agent, *value) : Tags{};
        if (tags != old_value->object<AgentAttributes>()->tags) changed[agent] = std::move(tags);
      });
  if (error) return unreadable(*error);
  return changed;
}

// What an update asks for: the whole wanted state, and the agents with the tags that they shall have.
struct Wanted {
  State state;
  Tree agents;
};

// [impl->swdd~update-desired-state-with-update-mask~1]
Result<Wanted> masked_state(const CompleteState& current, const UpdateStateRequest& request) {
  Tree tree = Tree::Map()
                  .set("desiredState", current.desired.to_tree(Empties::kKeep))
                  .set("agents", current.agents)
                  .set("workloadStates", Tree::Map())
                  .set("effectiveState", Tree::Map());
  for (const auto& mask : request.update_masks) {
    TIPHYS_TRY(tree, apply_mask(tree, request.new_state, mask));
  }
  if (const auto error = misread_forgotten_parts(tree)) return unreadable(*error);
  Wanted wanted{{}, tree.child("agents").value_or(Tree())};
  if (const auto desired = tree.child("desiredState")) {
    auto read = read_state(*desired, kDesiredPath, current.desired);
    if (!read) return unreadable(read.error());
    wanted.state = *std::move(read);
  }
  return wanted;
}

Result<Wanted> wanted_by(const CompleteState& current, const UpdateStateRequest& request) {
  if (!request.update_masks.empty()) return masked_state(current, request);
  TIPHYS_TRY(State state, whole_state(current, request.new_state));
  return Wanted{std::move(state), request.new_state.child("agents").value_or(Tree())};
}

// What is looked at before the workloads are: these errors reach a requester without any wrapping. Answers with
// warnings.
// [impl->swdd~update-desired-state-with-invalid-version~1]
// [impl->swdd~update-desired-state-with-missing-version~1]
Result<std::vector<std::string>> check_state(const CompleteState& current, const State& wanted) {
  std::vector<std::string> warnings;
  TIPHYS_TRY(const ApiVersion version, parse_api_version(wanted.api_version));
  if (version != ApiVersion::kV1) warnings.push_back(deprecation_warning(version));
  TIPHYS_REQUIRE(check_config_names(wanted, current.desired));
  return warnings;
}

// The workloads that have to be looked at, in ascending order: those that changed, and those that use a config item
// that did.
std::vector<std::string> touched_workloads(const State& current, const ConfigUsers& users,
                                           const State& wanted) {
  std::vector<std::string> names;
  Tree::Map::difference(
      current.workloads, wanted.workloads,
      [&](const std::string& name, const Tree*, const Tree*) { names.push_back(name); });
  const std::size_t changed = names.size();
  Tree::Map::difference(current.configs, wanted.configs,
                        [&](const std::string& key, const Tree*, const Tree*) {
                          const auto& of_item = users.of(key);
                          names.insert(names.end(), of_item.begin(), of_item.end());
                        });
  if (names.size() == changed) return names;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// All templates are rendered before the first name is checked: that is the order in which peers hear of faults. What
// renders to what it was is no change.
// [impl->swdd~server-state-triggers-configuration-rendering-of-workloads~1]
// [impl->swdd~server-state-compares-rendered-workloads~1]
// [impl->swdd~server-detects-new-workload~1]
// [impl->swdd~server-detects-deleted-workload~1]
// [impl->swdd~server-detects-changed-workload~1]
// [impl->swdd~server-state-triggers-validation-of-workload-fields~1]
Result<UpdatePlan> plan_workloads(const CompleteState& current, const ConfigUsers& users,
                                  State wanted) {
  UpdatePlan plan;
  const auto touched = touched_workloads(current.desired, users, wanted);
  std::vector<std::pair<const std::string*, WorkloadPtr>> rendered;
  plan.effective_workloads = current.effective_workloads;
  for (const auto& name : touched) {
    const Tree* before = current.effective_workloads.find(name);
    const WorkloadPtr after = wanted.workload(name);
    if (after == nullptr) {
      plan.deleted.push_back(before->object<WorkloadSpec>());
      plan.effective_workloads = plan.effective_workloads.erase(name);
      continue;
    }
    auto workload = render_workload(after, wanted.configs);
    if (!workload) return invalid_state(workload.error().message);
    plan.template_log.insert(plan.template_log.end(), workload->log.begin(), workload->log.end());
    if (before != nullptr) {
      const auto spec = before->object<WorkloadSpec>();
      if (spec->workload() == *workload->workload) continue;
      plan.deleted.push_back(spec);
    }
    rendered.emplace_back(&name, std::move(workload->workload));
  }
  std::vector<std::pair<std::string, Tree>> effective;
  effective.reserve(rendered.size());
  plan.added.reserve(rendered.size());
  for (auto& [name, workload] : rendered) {
    auto spec = WorkloadSpec::make(*name, std::move(workload));
    if (!spec) return invalid_state(spec.error().message);
    effective.emplace_back(*name, *spec);
    plan.added.push_back(*std::move(spec));
  }
  plan.effective_workloads = plan.effective_workloads.set_all(std::move(effective));
  plan.desired = std::move(wanted);
  return plan;
}

}  // namespace

// The order of the checks is what a requester sees when several things are wrong.
// [impl->swdd~server-provides-update-desired-state-interface~1]
// [impl->swdd~server-desired-state-field-conventions~1]
Result<UpdatePlan> plan_update(const CompleteState& current, const ConfigUsers& users,
                               const UpdateStateRequest& request) {
  auto wanted = wanted_by(current, request);
  if (!wanted) return rejected(wanted.error());
  TIPHYS_TRY(std::vector<std::string> warnings, check_state(current, wanted->state));
  auto plan = plan_workloads(current, users, std::move(wanted->state));
  if (!plan) return rejected(plan.error());
  auto tags = changed_tags(current.agents, wanted->agents, request.update_masks);
  if (!tags) return rejected(tags.error());
  plan->warnings = std::move(warnings);
  plan->agent_tags = *std::move(tags);
  return plan;
}

Result<UpdatePlan> plan_state(const CompleteState& current, const ConfigUsers& users,
                              State wanted) {
  TIPHYS_TRY(std::vector<std::string> warnings, check_state(current, wanted));
  TIPHYS_TRY(UpdatePlan plan, plan_workloads(current, users, std::move(wanted)));
  plan.warnings = std::move(warnings);
  return plan;
}

// [impl->swdd~server-state-rejects-state-with-cyclic-dependencies~1]
Status check_dependencies(const UpdatePlan& plan) {
  std::vector<std::string> starts;
  for (const auto& spec : plan.added)
    if (!spec->workload().dependencies.empty()) starts.push_back(spec->instance().workload.value);
  const auto cycle = find_cycle(plan.desired, starts);
  if (cycle.empty()) return {};
  return fail(Code::kInvalidArgument,
              concat("workload dependency '", cycle.front(), "' is part of a cycle."));
}

std::string update_rejected(std::string_view reason) {
  return concat("Update rejected: '", reason, "'");
}

// [impl->swdd~server-filters-get-complete-state-result~2]
// [impl->swdd~server-filters-get-complete-state-result-with-wildcards~1]
Result<Tree> select_state(const CompleteState& state, const std::vector<std::string>& masks) {
  Tree tree = state.to_tree();
  if (masks.empty()) return tree;

  // Each once: a request may name very many, and who names one twice gets no more.
  std::vector<Path> paths;
  std::set<Path> known;
  const auto add = [&](Path path) {
    if (known.insert(path).second) paths.push_back(std::move(path));
  };
  for (const auto& mask : masks) add(parse_path(mask));
  const std::size_t given = paths.size();
  for (std::size_t i = 0; i < given; ++i) {
    const auto segments = paths[i].segments;  // a copy: add() may move the paths
    if (segments.empty()) continue;
    for (const char* part : {"desiredState", "effectiveState"})
      if (segments[0] == part) add(Path{{part, "apiVersion"}});
    // State and sub-state are one field on the wire: one without the other would be lost.
    const auto is_name = [](const std::string& segment) {
      return segment == "*" || (!segment.empty() && has_only_name_characters(segment));
    };
    if (segments.size() == 5 && segments[0] == "workloadStates" &&
        std::all_of(segments.begin() + 1, segments.begin() + 4, is_name)) {
      Path sibling{segments};
      if (segments[4] == "state") sibling.segments[4] = "subState";
      if (segments[4] == "subState") sibling.segments[4] = "state";
      add(std::move(sibling));
    }
  }
  TIPHYS_TRY(Tree selected, select(tree, paths));
  // A part that a wildcard led to cannot be read without its version either.
  for (const char* part : {"desiredState", "effectiveState"})
    if (selected.child(part)) {
      const Path version{{part, "apiVersion"}};
      TIPHYS_TRY(selected, set(selected, version, *get(tree, version)));
    }
  return selected;
}

}  // namespace tiphys::server
