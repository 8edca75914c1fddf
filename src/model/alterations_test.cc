#include "model/alterations.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys {
namespace {

using Texts = std::vector<std::string>;
using Leaves = std::map<std::string, Tree>;

Tree tree(const Leaves& leaves) {
  Tree made{Tree::Map()};
  for (const auto& [path, value] : leaves) made = *set(made, parse_path(path), value);
  return made;
}

Texts texts(const std::vector<Path>& paths) {
  Texts found;
  for (const auto& path : paths) found.push_back(to_string(path));
  std::sort(found.begin(), found.end());
  return found;
}

struct Expected {
  Texts added;
  Texts updated;
  Texts removed;
};

struct Row {
  std::string what;
  Leaves before;
  Leaves after;
  Texts masks;
  Expected expected;
};

void check(const Row& row) {
  SCOPED_TRACE(row.what + " / " + join(row.masks, ", "));
  const Alterations alterations(tree(row.before), tree(row.after));
  const AlteredPaths found = alterations.matching(Masks(row.masks));
  EXPECT_EQ(texts(found.added), row.expected.added);
  EXPECT_EQ(texts(found.updated), row.expected.updated);
  EXPECT_EQ(texts(found.removed), row.expected.removed);
}

Leaves with(Leaves leaves, const Leaves& more) {
  for (const auto& [path, value] : more) leaves[path] = value;
  return leaves;
}

const Tree kNoEntries{Tree::Map()};
const Tree kEmptyList{Tree::List{}};
const Leaves kNothing{{"desiredState.workloads", kNoEntries}, {"agents", kNoEntries}};

const std::string kSimple = "desiredState.workloads.simple";
const Leaves kWorkload =
    with(kNothing, {{kSimple + ".agent", "agent_A"}, {kSimple + ".runtime", "podman"}});
const Leaves kChanged =
    with(kWorkload, {{kSimple + ".agent", "agent_B"},
                     {kSimple + ".dependencies.some_other_workload", "ADD_COND_RUNNING"}});

const std::string kConfig = "desiredState.configs.some_config";
const Leaves kConfigs = with(kNothing, {{kConfig + ".param1", "1"},
                                        {kConfig + ".param2", "2"},
                                        {kConfig + ".some_sub_config.sub_param1", "3"}});

// The examples that peers go by.
// [utest->swdd~server-calculates-state-differences~1]
// [utest->swdd~event-handler-creates-altered-fields-and-filter-masks~1]
TEST(Alterations, AreNamedAsPeersExpect) {
  const std::string first = "workloadStates.agent_A.old.1";
  const std::string sleepy = "workloadStates.agent_A.sleepy";
  const Leaves states{{first + ".state", "Running"}};
  const Leaves initial = with(states, {{sleepy + ".7.state", "Pending"},
                                       {sleepy + ".7.subState", "Initial"},
                                       {sleepy + ".7.additionalInfo", ""}});
  const Leaves starting =
      with(initial, {{sleepy + ".7.subState", "Starting"}, {sleepy + ".7.additionalInfo", "soon"}});
  const std::string agent = "agents.agent_B";
  const Leaves connected = with(kNothing, {{agent, kNoEntries}});
  const auto loaded = [&](std::uint64_t cpu, std::uint64_t memory) {
    return with(kNothing,
                {{agent + ".status.cpuUsage", cpu}, {agent + ".status.freeMemory", memory}});
  };
  for (const Row& row : std::vector<Row>{
           {"workload created", kNothing, kWorkload, {kSimple}, {{kSimple}, {}, {}}},
           {"workload created",
            kNothing,
            kWorkload,
            {"desiredState.workloads"},
            {{kSimple}, {}, {}}},
           {"workload created",
            kNothing,
            kWorkload,
            {"desiredState.workloads.*"},
            {{kSimple}, {}, {}}},
           {"workload created", kNothing, kWorkload, {}, {{kSimple}, {}, {}}},
           {"workload created",
            kNothing,
            kWorkload,
            {"desiredState.workloads.*.agent"},
            {{kSimple + ".agent"}, {}, {}}},
           {"agent changed and dependencies introduced",
            kWorkload,
            kChanged,
            {kSimple},
            {{kSimple + ".dependencies"}, {kSimple + ".agent"}, {}}},
           {"agent changed and dependencies introduced",
            kWorkload,
            kChanged,
            {"desiredState.workloads.*.*.some_other_workload"},
            {{kSimple + ".dependencies.some_other_workload"}, {}, {}}},
           {"workload deleted",
            kWorkload,
            kNothing,
            {"desiredState.workloads.*.agent"},
            {{}, {}, {kSimple + ".agent"}}},
           {"first config item created",
            kNothing,
            kConfigs,
            {"desiredState.configs"},
            {{"desiredState.configs"}, {}, {}}},
           {"first config item created",
            kNothing,
            kConfigs,
            {"desiredState.configs.*.*"},
            {{kConfig + ".param1", kConfig + ".param2", kConfig + ".some_sub_config"}, {}, {}}},
           {"nested config values changed",
            kConfigs,
            with(kConfigs,
                 {{kConfig + ".param1", "x"}, {kConfig + ".some_sub_config.sub_param1", "y"}}),
            {"desiredState.configs"},
            {{}, {kConfig + ".param1", kConfig + ".some_sub_config.sub_param1"}, {}}},
           {"new workload on an agent that has states",
            states,
            initial,
            {"workloadStates"},
            {{sleepy}, {}, {}}},
           {"initial to starting",
            initial,
            starting,
            {"workloadStates"},
            {{}, {sleepy + ".7.additionalInfo", sleepy + ".7.subState"}, {}}},
           {"last instance removed", initial, states, {"workloadStates"}, {{}, {}, {sleepy}}},
           {"agent connects", kNothing, connected, {agent}, {{agent}, {}, {}}},
           {"first load report", connected, loaded(1, 2), {agent}, {{agent + ".status"}, {}, {}}},
           {"later load report",
            loaded(1, 2),
            loaded(3, 4),
            {agent},
            {{}, {agent + ".status.cpuUsage", agent + ".status.freeMemory"}, {}}},
           {"later load report",
            loaded(1, 2),
            loaded(3, 2),
            {agent},
            {{}, {agent + ".status.cpuUsage"}, {}}},
           {"agent disconnects", loaded(1, 2), kNothing, {agent}, {{}, {}, {agent}}},
       })
    check(row);
}

// Where peers keep silent or say something else, and a subscriber would be left with a wrong view.
// [utest->swdd~event-handler-expands-subscriber-field-mask-using-altered-field-masks~1]
TEST(Alterations, ReachEveryMaskBelowOrAboveThem) {
  const Leaves tagged = with(kWorkload, {{kSimple + ".tags.owner", "me"}});
  const std::string list = "desiredState.configs.list";
  const Leaves empty = with(kNothing, {{list, kEmptyList}});
  const Leaves filled = with(kNothing, {{list, Tree(Tree::List{"x"})}});
  const Leaves other = with(kNothing, {{list, Tree(Tree::List{"y"})}});
  const Leaves text = with(kNothing, {{list, "x"}});
  const Leaves map = with(kNothing, {{list + ".k.l", "x"}});
  const std::string idle = "workloadStates..idle";
  const Leaves not_scheduled = with(kNothing, {{idle + ".7.state", "NotScheduled"}});
  const std::string first = "workloadStates.agent_A.simple";
  const Leaves pending = with(kNothing, {{first + ".7.state", "Pending"}});
  for (const Row& row : std::vector<Row>{
           {"inner node of what came",
            kNothing,
            tagged,
            {kSimple + ".tags"},
            {{kSimple + ".tags"}, {}, {}}},
           {"inner node of what went",
            tagged,
            kNothing,
            {kSimple + ".tags"},
            {{}, {}, {kSimple + ".tags"}}},
           {"first workload of an agent", kNothing, pending, {first}, {{first}, {}, {}}},
           {"last workload of an agent",
            pending,
            kNothing,
            {first + ".*"},
            {{}, {}, {first + ".7"}}},
           {"list filled", empty, filled, {}, {{list}, {}, {}}},
           {"list filled", empty, filled, {list}, {{list}, {}, {}}},
           {"list filled", empty, filled, {"desiredState.configs.*"}, {{list}, {}, {}}},
           {"list emptied", filled, empty, {list}, {{}, {}, {list}}},
           {"list changed", filled, other, {list}, {{}, {list}, {}}},
           {"list changed", filled, other, {list + ".0"}, {}},
           {"empty list instead of text", text, empty, {list}, {{}, {list}, {}}},
           {"map instead of text", text, map, {list}, {{}, {list}, {}}},
           {"map instead of text", text, map, {"*"}, {{}, {list}, {}}},
           {"map instead of text", text, map, {list + ".*"}, {{list + ".k"}, {}, {}}},
           {"map instead of list", filled, map, {list + ".k.l"}, {{list + ".k.l"}, {}, {}}},
           {"text instead of map", map, text, {list}, {{}, {list}, {}}},
           {"text instead of map", map, text, {list + ".k"}, {{}, {}, {list + ".k"}}},
           {"first not scheduled", kNothing, not_scheduled, {}, {{"workloadStates"}, {}, {}}},
           {"first not scheduled", kNothing, not_scheduled, {idle}, {{idle}, {}, {}}},
           {"first not scheduled",
            pending,
            with(pending, not_scheduled),
            {},
            {{"workloadStates."}, {}, {}}},
           {"last not scheduled",
            with(pending, not_scheduled),
            pending,
            {"workloadStates.*.idle"},
            {{}, {}, {idle}}},
           {"nothing below", kNothing, kWorkload, {kSimple + ".agent.x"}, {}},
           {"elsewhere",
            kNothing,
            kWorkload,
            {"workloadStates", "desiredState.workloads.sim", "nope"},
            {}},
           {"nothing changed", kChanged, kChanged, {}, {}},
       })
    check(row);
}

TEST(Alterations, AreToldOnceForEachMaskThatLeadsToThem) {
  check({"workload created",
         kNothing,
         kWorkload,
         {kSimple, "desiredState.workloads.*", kSimple + ".agent"},
         {{kSimple, kSimple, kSimple + ".agent"}, {}, {}}});
  check(
      {"workload created", kNothing, kWorkload, {kSimple, kSimple}, {{kSimple, kSimple}, {}, {}}});
  const Texts very_many(3 * kMaxRepeatedPaths, kSimple);
  const Alterations alterations(tree(kNothing), tree(kWorkload));
  EXPECT_LE(alterations.matching(Masks(very_many)).added.size(), kMaxRepeatedPaths + 1);
}

// Small trees in which maps, lists and texts take each other's places.
Tree random_tree(int depth) {
  switch (*rc::gen::inRange(0, depth == 0 ? 2 : 5)) {
    case 0:
      return Tree(*rc::gen::element<std::string>("x", "y"));
    case 1:
      return Tree(Tree::List(static_cast<std::size_t>(*rc::gen::inRange(0, 2)), Tree("z")));
    default: {
      Tree::Map map;
      for (const char* key : {"", "a", "b"})
        if (*rc::gen::inRange(0, 3) > 0) map = map.set(key, random_tree(depth - 1));
      return map;
    }
  }
}

Tree random_map(int depth) {
  Tree::Map map;
  for (const char* key : {"", "a", "b"})
    if (*rc::gen::inRange(0, 4) > 0) map = map.set(key, random_tree(depth));
  return map;
}

// Without the maps and lists that hold nothing: to a subscriber they are the same as none.
Tree without_empties(const Tree& tree) {
  if (!tree.is_map()) return tree;
  Tree::Map kept;
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    const Tree child = without_empties(value);
    const bool is_empty =
        child.is_map() ? child.entries().empty() : child.list() != nullptr && child.list()->empty();
    if (!is_empty) kept = kept.set(key, child);
  });
  return kept;
}

// What a mask of literals and wildcards selects.
Tree selected(const Tree& tree, const std::vector<Path>& masks) {
  return without_empties(masks.empty() ? tree : *select(tree, masks));
}

// Whatever changes, and whatever the masks: who takes the altered paths over has what a new read would give.
TEST(Alterations, BringAViewUpToDate) {
  EXPECT_TRUE(rc::check([] {
    const Tree before = random_map(3);
    const Tree after = random_map(3);
    std::vector<Path> masks;
    Texts mask_texts;
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
      Path mask;
      for (int j = *rc::gen::inRange(1, 5); j > 0; --j)
        mask.segments.push_back(*rc::gen::element<std::string>("a", "b", "*"));
      masks.push_back(mask);
      mask_texts.push_back(to_string(mask));
    }
    const AlteredPaths altered = Alterations(before, after).matching(Masks(mask_texts));
    Tree view = selected(before, masks);
    for (const auto& path : altered.removed)
      if (get(view, path)) view = *remove(view, path);
    for (const auto* paths : {&altered.updated, &altered.added})
      for (const auto& path : *paths) {
        RC_ASSERT(get(after, path).has_value());
        auto next = set(view, path, *get(after, path));
        // A scalar that made room for a map goes with the first path below it.
        for (Path above = path; !next; above.segments.pop_back())
          if (auto cleared = remove(view, above))
            next = set(view = *cleared, path, *get(after, path));
        view = *next;
      }
    RC_ASSERT(without_empties(view) == selected(after, masks));
    if (without_empties(before) == without_empties(after)) return;
    RC_ASSERT(!Alterations(before, after).empty());
  }));
}

}  // namespace
}  // namespace tiphys
