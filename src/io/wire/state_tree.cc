#include "io/wire/state_tree.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "model/execution_state.h"
#include "model/state.h"
#include "model/workload.h"

namespace tiphys::wire {
namespace {

// -- Trees to messages. What stands in a place where it has no meaning is left out.

template <class Use>
void with_map(const Tree::Map& entries, std::string_view key, Use use) {
  const Tree* child = entries.find(key);
  if (child != nullptr && child->is_map()) use(*child);
}

template <class Use>
void with_list(const Tree::Map& entries, std::string_view key, Use use) {
  const Tree* child = entries.find(key);
  if (child != nullptr && child->list() != nullptr) use(*child->list());
}

template <class Use>
void with_string(const Tree::Map& entries, std::string_view key, Use use) {
  const Tree* child = entries.find(key);
  if (child != nullptr && child->string() != nullptr) use(with_valid_utf8(*child->string()));
}

template <class Use>
void with_number(const Tree::Map& entries, std::string_view key, Use use) {
  const Tree* child = entries.find(key);
  if (child != nullptr && child->number() != nullptr) use(*child->number());
}

// A word of an enumeration, or the number that was received in place of one.
template <class WireEnum, class Parse, class Use>
void with_word(const Tree* value, Parse parse, Use use) {
  if (value == nullptr) return;
  if (const auto* number = value->number()) use(static_cast<WireEnum>(*number));
  if (const auto* word = value->string())
    if (const auto parsed = parse(*word)) use(static_cast<WireEnum>(*parsed));
}

template <class StringMap>
void strings_to_wire(const Tree& tree, StringMap& wire) {
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    if (value.string() != nullptr) wire[with_valid_utf8(key)] = with_valid_utf8(*value.string());
  });
}

template <class Strings>
void strings_to_wire(const Tree::Map& entries, std::string_view key, Strings& wire) {
  with_list(entries, key, [&](const Tree::List& list) {
    for (const auto& item : list)
      if (item.string() != nullptr) *wire.Add() = with_valid_utf8(*item.string());
  });
}

void dependencies_to_wire(const Tree& tree, ank_base::Dependencies& wire) {
  tree.entries().for_each([&](const std::string& name, const Tree& value) {
    with_word<ank_base::AddCondition>(&value, parse_add_condition, [&](auto condition) {
      (*wire.mutable_dependencies())[with_valid_utf8(name)] = condition;
    });
  });
}

void file_to_wire(const Tree& tree, ank_base::File& wire) {
  const Tree::Map entries = tree.entries();
  with_string(entries, "mountPoint",
              [&](std::string text) { wire.set_mountpoint(std::move(text)); });
  with_string(entries, "data", [&](std::string text) { wire.set_data(std::move(text)); });
  with_string(entries, "binaryData",
              [&](std::string text) { wire.set_binarydata(std::move(text)); });
}

void rule_to_wire(const Tree& tree, ank_base::AccessRightsRule& wire) {
  const Tree::Map entries = tree.entries();
  with_string(entries, "type", [&](const std::string& type) {
    if (type == "StateRule") {
      auto& rule = *wire.mutable_staterule();
      with_word<ank_base::ReadWriteEnum>(
          entries.find("operation"),
          [](const std::string& word) -> std::optional<ank_base::ReadWriteEnum> {
            const auto operation = parse_operation(word);
            return operation ? std::optional(to_wire(*operation)) : std::nullopt;
          },
          [&](auto operation) { rule.set_operation(operation); });
      strings_to_wire(entries, "filterMasks", *rule.mutable_filtermasks());
    } else if (type == "LogRule") {
      strings_to_wire(entries, "workloadNames", *wire.mutable_logrule()->mutable_workloadnames());
    }
  });
}

template <class Rules>
void rules_to_wire(const Tree::Map& entries, std::string_view key, Rules& wire) {
  with_list(entries, key, [&](const Tree::List& list) {
    for (const auto& rule : list) rule_to_wire(rule, *wire.Add());
  });
}

void workload_to_wire(const Tree& tree, Empties empties, ank_base::Workload& wire) {
  if (const auto spec = tree.object<WorkloadSpec>())
    return to_wire(spec->workload(), empties, wire);
  if (const auto workload = tree.object<Workload>()) return to_wire(*workload, empties, wire);

  if (empties == Empties::kKeep) {
    wire.mutable_dependencies();
    wire.mutable_tags();
    wire.mutable_controlinterfaceaccess();
    wire.mutable_configs();
    wire.mutable_files();
  }
  const Tree::Map entries = tree.entries();
  with_string(entries, "agent", [&](std::string text) { wire.set_agent(std::move(text)); });
  with_word<ank_base::RestartPolicy>(entries.find("restartPolicy"), parse_restart_policy,
                                     [&](auto policy) { wire.set_restartpolicy(policy); });
  with_map(entries, "dependencies",
           [&](const Tree& map) { dependencies_to_wire(map, *wire.mutable_dependencies()); });
  with_map(entries, "tags",
           [&](const Tree& map) { strings_to_wire(map, *wire.mutable_tags()->mutable_tags()); });
  with_string(entries, "runtime", [&](std::string text) { wire.set_runtime(std::move(text)); });
  with_string(entries, "runtimeConfig",
              [&](std::string text) { wire.set_runtimeconfig(std::move(text)); });
  with_map(entries, "controlInterfaceAccess", [&](const Tree& map) {
    auto& access = *wire.mutable_controlinterfaceaccess();
    rules_to_wire(map.entries(), "allowRules", *access.mutable_allowrules());
    rules_to_wire(map.entries(), "denyRules", *access.mutable_denyrules());
  });
  with_map(entries, "configs", [&](const Tree& map) {
    strings_to_wire(map, *wire.mutable_configs()->mutable_configs());
  });
  with_list(entries, "files", [&](const Tree::List& list) {
    auto& files = *wire.mutable_files();
    for (const auto& file : list) file_to_wire(file, *files.add_files());
  });
}

void config_item_to_wire(const Tree& item, ank_base::ConfigItem& wire) {
  if (const auto* text = item.string()) {
    wire.set_string(with_valid_utf8(*text));
  } else if (const auto* list = item.list()) {
    auto& array = *wire.mutable_array();
    for (const auto& element : *list) config_item_to_wire(element, *array.add_values());
  } else if (item.is_map()) {
    auto& fields = *wire.mutable_object()->mutable_fields();
    item.entries().for_each([&](const std::string& key, const Tree& value) {
      config_item_to_wire(value, fields[with_valid_utf8(key)]);
    });
  }
}

void state_to_wire(const Tree& tree, Empties empties, ank_base::State& wire) {
  if (empties == Empties::kKeep) wire.mutable_configs();
  const Tree::Map entries = tree.entries();
  with_string(entries, "apiVersion",
              [&](std::string text) { wire.set_apiversion(std::move(text)); });
  with_map(entries, "workloads", [&](const Tree& map) {
    auto& workloads = *wire.mutable_workloads()->mutable_workloads();
    map.entries().for_each([&](const std::string& name, const Tree& workload) {
      workload_to_wire(workload, empties, workloads[with_valid_utf8(name)]);
    });
  });
  with_map(entries, "configs", [&](const Tree& map) {
    auto& configs = *wire.mutable_configs()->mutable_configs();
    map.entries().for_each([&](const std::string& key, const Tree& item) {
      config_item_to_wire(item, configs[with_valid_utf8(key)]);
    });
  });
}

void execution_state_to_wire(const Tree& tree, ank_base::ExecutionState& wire) {
  if (const auto state = tree.object<ExecutionState>()) return to_wire(*state, wire);
  const Tree::Map entries = tree.entries();
  with_string(entries, "additionalInfo",
              [&](std::string text) { wire.set_additionalinfo(std::move(text)); });
  // The two words are one field on the wire: one without the other cannot be told.
  with_string(entries, "state", [&](const std::string& state) {
    with_string(entries, "subState", [&](const std::string& sub_state) {
      if (const auto phase = phase_of(state, sub_state))
        set_member(wire, row_of(*phase).wire_field, row_of(*phase).wire_value);
    });
    with_number(entries, "subState", [&](std::uint64_t value) {
      for (const auto& row : kPhases)
        if (row.state == state) set_member(wire, row.wire_field, static_cast<int>(value));
    });
  });
}

void workload_states_to_wire(const Tree& tree, ank_base::WorkloadStatesMap& wire) {
  tree.entries().for_each([&](const std::string& agent, const Tree& by_workload) {
    auto& workloads =
        *(*wire.mutable_agentstatemap())[with_valid_utf8(agent)].mutable_wlnamestatemap();
    by_workload.entries().for_each([&](const std::string& workload, const Tree& by_id) {
      auto& ids = *workloads[with_valid_utf8(workload)].mutable_idstatemap();
      by_id.entries().for_each([&](const std::string& id, const Tree& state) {
        execution_state_to_wire(state, ids[with_valid_utf8(id)]);
      });
    });
  });
}

void agent_to_wire(const Tree& tree, Empties empties, ank_base::AgentAttributes& wire) {
  if (const auto attributes = tree.object<AgentAttributes>())
    return to_wire(*attributes, empties, wire);
  if (empties == Empties::kKeep) wire.mutable_tags();
  const Tree::Map entries = tree.entries();
  with_map(entries, "status", [&](const Tree& status) {
    auto& wire_status = *wire.mutable_status();
    with_number(status.entries(), "cpuUsage", [&](std::uint64_t percent) {
      wire_status.mutable_cpu_usage()->set_cpu_usage(static_cast<std::uint32_t>(percent));
    });
    with_number(status.entries(), "freeMemory", [&](std::uint64_t bytes) {
      wire_status.mutable_free_memory()->set_free_memory(bytes);
    });
  });
  with_map(entries, "tags",
           [&](const Tree& map) { strings_to_wire(map, *wire.mutable_tags()->mutable_tags()); });
}

// -- Messages to trees

// A Tree holds no negative numbers; the lower half of an unknown one is enough to say what was received.
Tree unknown_number(int value) { return Tree(static_cast<std::uint32_t>(value)); }

bool has_empty_collection(const ank_base::Workload& wire) {
  const auto& access = wire.controlinterfaceaccess();
  return (wire.has_configs() && wire.configs().configs().empty()) ||
         (wire.has_controlinterfaceaccess() && access.allowrules().empty() &&
          access.denyrules().empty()) ||
         (wire.has_dependencies() && wire.dependencies().dependencies().empty()) ||
         (wire.has_files() && wire.files().files().empty()) ||
         (wire.has_tags() && wire.tags().tags().empty());
}

class Reader {
  using Entries = std::vector<std::pair<std::string, Tree>>;

 public:
  explicit Reader(Empties agent_tags) : agent_tags_(agent_tags) {}
  // Workloads keep the message and are read on demand.
  Reader(Empties agent_tags, Kept<ank_base::CompleteState> message)
      : agent_tags_(agent_tags), message_(std::move(message)) {}

  // True once an empty collection was met that was set all the same.
  [[nodiscard]] bool met_empties() const { return met_empties_; }

  Tree read(const ank_base::CompleteState& wire) {
    Tree::Map entries;
    if (wire.has_desiredstate()) entries = entries.set("desiredState", read(wire.desiredstate()));
    if (wire.has_workloadstates())
      entries = entries.set("workloadStates", read(wire.workloadstates()));
    if (wire.has_agents()) entries = entries.set("agents", read(wire.agents()));
    if (wire.has_effectivestate())
      entries = entries.set("effectiveState", read(wire.effectivestate()));
    return entries;
  }

  // The most frequent message: its fields are read in the order of their names, for one go at the map.
  Tree::Map fields_of(const ank_base::Workload& wire) {
    Entries entries;
    entries.reserve(9);
    const auto add_collection = [&](const char* key, auto collection) {
      if (!collection.empty()) entries.emplace_back(key, std::move(collection));
    };
    if (wire.has_agent()) entries.emplace_back("agent", wire.agent());
    if (wire.has_configs()) add_collection("configs", read_map(wire.configs().configs()));
    if (wire.has_controlinterfaceaccess())
      add_collection("controlInterfaceAccess", read(wire.controlinterfaceaccess()));
    if (wire.has_dependencies())
      add_collection("dependencies", read_map(wire.dependencies().dependencies()));
    if (wire.has_files()) add_collection("files", read_list(wire.files().files()));
    if (wire.has_restartpolicy()) entries.emplace_back("restartPolicy", read(wire.restartpolicy()));
    if (wire.has_runtime()) entries.emplace_back("runtime", wire.runtime());
    if (wire.has_runtimeconfig()) entries.emplace_back("runtimeConfig", wire.runtimeconfig());
    if (wire.has_tags()) add_collection("tags", read_map(wire.tags().tags()));
    return Tree::Map::of_sorted(std::move(entries));
  }

 private:
  // The map with the collection under that key, unless it is empty.
  Tree::Map with(Tree::Map entries, const char* key, Tree::Map collection) {
    if (!collection.empty()) return entries.set(key, std::move(collection));
    met_empties_ = true;
    return entries;
  }

  // The entries of a map of the wire come in no order.
  template <class Messages>
  Tree::Map read_map(const Messages& wire) {
    Entries entries;
    entries.reserve(static_cast<std::size_t>(wire.size()));
    for (const auto& [key, value] : wire) entries.emplace_back(key, read(value));
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return Tree::Map::of_sorted(std::move(entries));
  }
  template <class Messages>
  Tree::List read_list(const Messages& wire) {
    Tree::List list;
    list.reserve(static_cast<std::size_t>(wire.size()));
    for (const auto& value : wire) list.push_back(read(value));
    return list;
  }

  static Tree read(const std::string& text) { return text; }

  static Tree read(ank_base::AddCondition condition) {
    return ank_base::AddCondition_IsValid(condition)
               ? Tree(to_string(static_cast<AddCondition>(condition)))
               : unknown_number(condition);
  }

  static Tree read(ank_base::RestartPolicy policy) {
    return ank_base::RestartPolicy_IsValid(policy)
               ? Tree(to_string(static_cast<RestartPolicy>(policy)))
               : unknown_number(policy);
  }

  static Tree read(ank_base::ReadWriteEnum operation) {
    const auto known = from_wire(operation);
    return known ? Tree(to_string(*known)) : unknown_number(operation);
  }

  Tree read(const ank_base::State& wire) {
    auto entries = Tree::Map().set("apiVersion", wire.apiversion());
    if (wire.has_workloads())
      entries = entries.set("workloads", read_map(wire.workloads().workloads()));
    if (wire.has_configs())
      entries = with(std::move(entries), "configs", read_map(wire.configs().configs()));
    return entries;
  }

  Tree read(const ank_base::Workload& wire);

  Tree::Map read(const ank_base::ControlInterfaceAccess& wire) {
    Tree::Map entries;
    if (wire.allowrules_size() > 0)
      entries = entries.set("allowRules", read_list(wire.allowrules()));
    if (wire.denyrules_size() > 0) entries = entries.set("denyRules", read_list(wire.denyrules()));
    return entries;
  }

  Tree read(const ank_base::AccessRightsRule& wire) {
    switch (wire.AccessRightsRuleEnum_case()) {
      case ank_base::AccessRightsRule::kStateRule:
        return Tree::Map()
            .set("type", "StateRule")
            .set("operation", read(wire.staterule().operation()))
            .set("filterMasks", read_list(wire.staterule().filtermasks()));
      case ank_base::AccessRightsRule::kLogRule:
        return Tree::Map()
            .set("type", "LogRule")
            .set("workloadNames", read_list(wire.logrule().workloadnames()));
      case ank_base::AccessRightsRule::ACCESSRIGHTSRULEENUM_NOT_SET:
        break;
    }
    return Tree::Map();
  }

  static Tree read(const ank_base::File& wire) {
    auto entries = Tree::Map().set("mountPoint", wire.mountpoint());
    if (wire.has_data()) entries = entries.set("data", wire.data());
    if (wire.has_binarydata()) entries = entries.set("binaryData", wire.binarydata());
    return entries;
  }

  // Parsing refuses messages that nest deeper than a hundred levels, which bounds this recursion.
  Tree read(const ank_base::ConfigItem& wire) {
    switch (wire.ConfigItemEnum_case()) {
      case ank_base::ConfigItem::kString:
        return wire.string();
      case ank_base::ConfigItem::kArray:
        return read_list(wire.array().values());
      case ank_base::ConfigItem::kObject:
        return read_map(wire.object().fields());
      case ank_base::ConfigItem::CONFIGITEMENUM_NOT_SET:
        break;
    }
    return {};
  }

  Tree read(const ank_base::WorkloadStatesMap& wire) { return read_map(wire.agentstatemap()); }
  Tree read(const ank_base::ExecutionsStatesOfWorkload& wire) {
    return read_map(wire.wlnamestatemap());
  }
  Tree read(const ank_base::ExecutionsStatesForId& wire) { return read_map(wire.idstatemap()); }

  static Tree read(const ank_base::ExecutionState& wire) {
    if (auto whole = from_wire(wire))
      return std::make_shared<const ExecutionState>(*std::move(whole));
    Tree::Map entries;
    if (wire.has_additionalinfo()) entries = entries.set("additionalInfo", wire.additionalinfo());
    const int value = member_value(wire);
    for (const auto& row : kPhases)
      if (row.wire_field == wire.ExecutionStateEnum_case()) {
        const auto phase = phase_of_wire(row.wire_field, value);
        return entries.set("state", row.state)
            .set("subState", phase ? Tree(row_of(*phase).sub_state) : unknown_number(value));
      }
    return entries;
  }

  Tree read(const ank_base::AgentMap& wire) { return read_map(wire.agents()); }

  Tree read(const ank_base::AgentAttributes& wire) {
    Tree::Map entries;
    if (wire.has_status()) entries = entries.set("status", read(wire.status()));
    if (wire.has_tags()) {
      Tree::Map tags = read_map(wire.tags().tags());
      entries = agent_tags_ == Empties::kKeep ? entries.set("tags", std::move(tags))
                                              : with(std::move(entries), "tags", std::move(tags));
    }
    return entries;
  }

  static Tree read(const ank_base::AgentStatus& wire) {
    Tree::Map entries;
    if (wire.has_cpu_usage()) entries = entries.set("cpuUsage", wire.cpu_usage().cpu_usage());
    if (wire.has_free_memory())
      entries = entries.set("freeMemory", wire.free_memory().free_memory());
    return entries;
  }

  Empties agent_tags_;
  Kept<ank_base::CompleteState> message_;  // null: all of it is read at once
  bool met_empties_ = false;
};

class ReceivedWorkload final : public Tree::Object {
 public:
  explicit ReceivedWorkload(Kept<ank_base::Workload> wire) : wire_(std::move(wire)) {}

  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override {
    // These two are asked for with every line of a list.
    if (key == "agent" && wire_->has_agent()) return wire_->agent();
    if (key == "runtime" && wire_->has_runtime()) return wire_->runtime();
    return Tree(Reader(Empties::kOmit).fields_of(*wire_)).child(key);
  }
  [[nodiscard]] Tree::Map fields(Empties) const override {
    return Reader(Empties::kOmit).fields_of(*wire_);
  }

 private:
  Kept<ank_base::Workload> wire_;
};

Tree Reader::read(const ank_base::Workload& wire) {
  met_empties_ = met_empties_ || has_empty_collection(wire);
  if (message_ == nullptr) return fields_of(wire);
  return std::make_shared<const ReceivedWorkload>(part_of(message_, wire));
}

}  // namespace

// [impl->swdd~api-conversions-between-ank-base-and-spec~1]
void to_wire(const Tree& complete_state, Empties empties, ank_base::CompleteState& wire) {
  const Tree::Map entries = complete_state.entries();
  with_map(entries, "desiredState",
           [&](const Tree& state) { state_to_wire(state, empties, *wire.mutable_desiredstate()); });
  with_map(entries, "workloadStates", [&](const Tree& states) {
    workload_states_to_wire(states, *wire.mutable_workloadstates());
  });
  with_map(entries, "agents", [&](const Tree& agents) {
    auto& map = *wire.mutable_agents()->mutable_agents();
    agents.entries().for_each([&](const std::string& name, const Tree& attributes) {
      agent_to_wire(attributes, empties, map[with_valid_utf8(name)]);
    });
  });
  with_map(entries, "effectiveState", [&](const Tree& state) {
    state_to_wire(state, empties, *wire.mutable_effectivestate());
  });
}

Tree update_from_wire(const ank_base::CompleteState& wire) {
  return Reader(Empties::kKeep).read(wire);
}

Answer answer_from_wire(const Kept<ank_base::CompleteState>& wire) {
  Reader reader(Empties::kOmit, wire);
  Tree complete_state = reader.read(*wire);
  return {std::move(complete_state), reader.met_empties() ? Empties::kKeep : Empties::kOmit};
}

}  // namespace tiphys::wire
