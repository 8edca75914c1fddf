#include "model/path.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "model/alterations.h"
#include "model/state.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Counted in this test binary, to show that a change touches only its path. Not inlined: g++ would
// see free() on what came from new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tiphys {
namespace {

using Texts = std::vector<std::string>;

// Maps, lists, scalars, an empty key, empty collections and two workloads as objects: one with
// everything and one with only what it needs.
CompleteState sample_state() {
  auto web = std::make_shared<Workload>();
  web->agent = "agent_A";
  web->runtime = "podman";
  web->runtime_config = "image: web";
  web->tags.edit() = {{"owner", "ops"}, {"tier", "front"}};
  web->dependencies.edit() = {{"db", AddCondition::kRunning}};
  web->configs.edit() = {{"c", "netcfg"}};
  web->files.edit() = {{"/etc/web.conf", File::Encoding::kText, "x"}};
  web->access.edit().allow_rules = {StateRule{Operation::kRead, {"*"}}};
  auto db = std::make_shared<Workload>();
  db->agent = "agent_B";
  db->runtime = "podman";
  db->runtime_config = "image: db";

  CompleteState state;
  state.desired.workloads = Tree::Map().set("web", WorkloadPtr(web)).set("db", WorkloadPtr(db));
  state.desired.configs = Tree::Map()
                              .set("netcfg", Tree::Map()
                                                 .set("host", "example")
                                                 .set("ports", Tree::List{"1", "2"})
                                                 .set("nested", Tree::Map().set("deep", "x")))
                              .set("plain", "text")
                              .set("lst", Tree::List{"a", Tree::Map().set("k", "v")})
                              .set("empty", Tree::Map());
  state.workload_states.update({{{"web"}, {"1"}, {"agent_A"}}, ExecutionState(Phase::kRunningOk)});
  state.workload_states.add_initial({InstanceName{{"idle"}, {"2"}, {}}});
  return state;
}

Tree sample() { return sample_state().to_tree(); }

Tree map_of(std::initializer_list<std::pair<const char*, Tree>> entries) {
  Tree::Map map;
  for (const auto& [key, value] : entries) map = map.set(key, value);
  return map;
}

Texts texts(const std::vector<Path>& paths) {
  Texts result;
  for (const auto& path : paths) result.push_back(to_string(path));
  return result;
}

Path path_of_length(std::size_t length, const std::string& segment = "a") {
  return Path{std::vector<std::string>(length, segment)};
}

// A tree of nested maps, one inside the other.
Tree nested(std::size_t depth) {
  Tree tree = "leaf";
  for (std::size_t i = 0; i < depth; ++i) tree = map_of({{"a", tree}});
  return tree;
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message;
}

// -- Path

TEST(Path, IsSplitAtEveryDot) {
  for (const auto& [text, segments] : std::vector<std::pair<std::string, Texts>>{
           {"", {}},
           {".", {"", ""}},
           {"..", {"", "", ""}},
           {"*", {"*"}},
           {"*.*", {"*", "*"}},
           {"a", {"a"}},
           {"a.b", {"a", "b"}},
           {"a.", {"a", ""}},
           {".a", {"", "a"}},
           {"workloadStates..idle", {"workloadStates", "", "idle"}}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(parse_path(text).segments, segments);
    EXPECT_EQ(parse_path(text).empty(), text.empty());
  }
}

TEST(Path, IsReadAsItWasWritten) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const Path path = parse_path(text);
    RC_ASSERT(to_string(path) == text);
    RC_ASSERT(parse_path(to_string(path)) == path);
  }));
}

TEST(Path, GrowsByAChild) {
  EXPECT_EQ(parse_path("a.b").child("c"), parse_path("a.b.c"));
  EXPECT_EQ(Path{}.child("a"), parse_path("a"));
  EXPECT_LT(parse_path("a.b"), parse_path("a.b.c"));
}

// -- get

TEST(Get, DescendsMapsByKeyAndListsByIndex) {
  for (const auto& [path, value] : std::vector<std::pair<std::string, Tree>>{
           {"desiredState.apiVersion", "v1"},
           {"desiredState.workloads.web.agent", "agent_A"},
           {"desiredState.workloads.web.restartPolicy", "NEVER"},
           {"desiredState.workloads.web.tags.owner", "ops"},
           {"desiredState.workloads.web.files.0.mountPoint", "/etc/web.conf"},
           {"desiredState.workloads.web.controlInterfaceAccess.allowRules.0.filterMasks.0", "*"},
           {"desiredState.configs.netcfg.ports.1", "2"},
           {"desiredState.configs.netcfg.ports.01", "2"},
           {"desiredState.configs.lst.1.k", "v"},
           {"desiredState.configs.empty", Tree::Map()},
           {"workloadStates..idle.2.subState", "NotScheduled"},
           {"agents", Tree::Map()}}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(get(sample(), parse_path(path)), value);
  }
}

TEST(Get, GivesTheTreeItselfForTheEmptyPath) {
  EXPECT_TRUE(get(sample(), Path{}) == sample());
  EXPECT_EQ(get(Tree("scalar"), Path{}), Tree("scalar"));
}

TEST(Get, GivesNothingForWhatIsNotThere) {
  for (const char* path : {".",
                           "..",
                           "*",
                           "*.*",
                           "nope",
                           "desiredState.",
                           ".desiredState",
                           "desiredState..workloads",
                           "desiredState.apiVersion.x",
                           "desiredState.workloads.nope.agent",
                           "desiredState.workloads.web.agent.0",
                           "desiredState.workloads.db.tags",
                           "desiredState.workloads.db.files",
                           "desiredState.configs.netcfg.ports.2",
                           "desiredState.configs.netcfg.ports.x",
                           "desiredState.configs.netcfg.ports.",
                           "desiredState.configs.netcfg.ports.-1",
                           "desiredState.configs.netcfg.ports.1x",
                           "desiredState.configs.netcfg.ports.99999999999999999999999",
                           "desiredState.configs.netcfg.ports.*",
                           "workloadStates.idle"})
    EXPECT_EQ(get(sample(), parse_path(path)), std::nullopt) << path;
}

TEST(Get, TakesAbsurdlyLongPaths) {
  EXPECT_EQ(get(sample(), path_of_length(100'000)), std::nullopt);
  EXPECT_EQ(get(sample(), path_of_length(100'000, "")), std::nullopt);
}

// -- set

TEST(Set, InsertsOrReplacesTheLastSegment) {
  const Tree tree = map_of({{"a", map_of({{"b", "old"}})}});
  EXPECT_EQ(set(tree, parse_path("a.b"), "new"), map_of({{"a", map_of({{"b", "new"}})}}));
  EXPECT_EQ(set(tree, parse_path("a.c"), 1U), map_of({{"a", map_of({{"b", "old"}, {"c", 1U}})}}));
  EXPECT_EQ(set(tree, parse_path("a"), Tree()), map_of({{"a", Tree()}}));
}

TEST(Set, CreatesMissingMapsOnTheWay) {
  EXPECT_EQ(set(Tree::Map(), parse_path("p.q.r"), "9"),
            map_of({{"p", map_of({{"q", map_of({{"r", "9"}})}})}}));
}

TEST(Set, TakesEverySegmentAsAKey) {
  for (const char* path : {".", "..", "*", "*.*", "a.", ".a", "0"}) {
    SCOPED_TRACE(path);
    const auto changed = set(Tree::Map(), parse_path(path), "x");
    ASSERT_TRUE(changed.has_value());
    EXPECT_EQ(get(*changed, parse_path(path)), Tree("x"));
    EXPECT_EQ(texts(expand(*changed, parse_path(path))), Texts{path});
  }
}

TEST(Set, RefusesTheEmptyPath) {
  EXPECT_EQ(message_of(set(sample(), Path{}, "x")), "The given path is empty");
}

TEST(Set, RefusesAWayThroughWhatIsNoMap) {
  for (const char* path : {"desiredState.apiVersion.x", "desiredState.workloads.web.tags.owner.x",
                           "desiredState.workloads.web.files.0", "desiredState.configs.plain.x",
                           "desiredState.configs.lst.0", "desiredState.configs.lst.1.k"})
    EXPECT_EQ(message_of(set(sample(), parse_path(path), "x")), "object is not a mapping") << path;
  EXPECT_EQ(message_of(set(Tree("scalar"), parse_path("a"), "x")), "object is not a mapping");
}

TEST(Set, RefusesAPathDeeperThanATreeMayBe) {
  EXPECT_TRUE(set(Tree::Map(), path_of_length(kMaxTreeDepth), "x").has_value());
  EXPECT_EQ(message_of(set(Tree::Map(), path_of_length(kMaxTreeDepth + 1), "x")),
            "The given path has 129 segments, at most 128 are allowed");
  EXPECT_EQ(message_of(set(Tree::Map(), path_of_length(100'000, ""), "x")),
            "The given path has 100000 segments, at most 128 are allowed");
}

TEST(Set, LeavesTheOldTreeAsItWas) {
  const Tree before = sample();
  const auto after = set(before, parse_path("desiredState.workloads.web.agent"), "agent_C");
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(before, sample());
  EXPECT_FALSE(*after == before);
}

TEST(Set, TurnsAnObjectIntoAMapWithoutItsEmptyFields) {
  const auto after = set(sample(), parse_path("desiredState.workloads.db.agent"), "agent_C");
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(get(*after, parse_path("desiredState.workloads.db")),
            map_of({{"agent", "agent_C"},
                    {"restartPolicy", "NEVER"},
                    {"runtime", "podman"},
                    {"runtimeConfig", "image: db"}}));
}

TEST(Set, KeepsTheEmptyFieldsOfAnObjectOnDemand) {
  const auto after =
      set(sample(), parse_path("desiredState.workloads.db.agent"), "agent_C", Empties::kKeep);
  ASSERT_TRUE(after.has_value());
  for (const char* field : {"tags", "dependencies", "configs"})
    EXPECT_EQ(get(*after, parse_path(concat("desiredState.workloads.db.", field))),
              Tree(Tree::Map()));
}

// -- remove

TEST(Remove, TakesTheLastSegmentAway) {
  const Tree tree = map_of({{"a", map_of({{"b", "1"}, {"", "2"}, {"*", "3"}})}});
  EXPECT_EQ(remove(tree, parse_path("a.b")), map_of({{"a", map_of({{"", "2"}, {"*", "3"}})}}));
  EXPECT_EQ(remove(tree, parse_path("a.")), map_of({{"a", map_of({{"b", "1"}, {"*", "3"}})}}));
  EXPECT_EQ(remove(tree, parse_path("a.*")), map_of({{"a", map_of({{"b", "1"}, {"", "2"}})}}));
  EXPECT_EQ(remove(tree, parse_path("a")), Tree(Tree::Map()));
}

TEST(Remove, IsContentWhenTheLastKeyIsMissing) {
  for (const char* path : {"nope", "desiredState.nope", "desiredState.workloads.nope", "*",
                           "desiredState.workloads.", "desiredState.workloads.*",
                           "desiredState.workloads.web.nope", "desiredState.configs.empty.nope"})
    EXPECT_EQ(remove(sample(), parse_path(path)), sample()) << path;
}

TEST(Remove, RefusesTheEmptyPath) {
  EXPECT_EQ(message_of(remove(sample(), Path{})), "The given path is empty");
}

TEST(Remove, RefusesAMissingParent) {
  for (const auto& [path, error] : std::vector<std::pair<std::string, std::string>>{
           {"nope.x", "there is no 'nope'"},
           {".", "there is no ''"},
           {"desiredState.workloads.nope.tags", "there is no 'nope'"},
           {"desiredState.workloads.web.foo.bar", "there is no 'foo'"},
           {"desiredState.workloads.db.tags.n", "there is no 'tags'"},
           {"desiredState.workloads.*.agent", "there is no '*'"},
           {"desiredState.configs.lst.0", "object is not a mapping"},
           {"desiredState.configs.plain.x", "object is not a mapping"},
           {"desiredState.workloads.web.agent.x", "object is not a mapping"}})
    EXPECT_EQ(message_of(remove(sample(), parse_path(path))), error) << path;
  EXPECT_EQ(message_of(remove(sample(), path_of_length(100'000))), "there is no 'a'");
}

TEST(Remove, FindsTheEmptyFieldsOfAnObjectOnDemand) {
  const Path first_tag = parse_path("desiredState.workloads.db.tags.n");
  EXPECT_FALSE(remove(sample(), first_tag).has_value());
  EXPECT_TRUE(remove(sample(), first_tag, Empties::kKeep).has_value());
}

// -- expand

TEST(Expand, GivesTheExistingPathsOfAMask) {
  for (const auto& [mask, paths] : std::vector<std::pair<std::string, Texts>>{
           {"*", {"agents", "desiredState", "effectiveState", "workloadStates"}},
           {"*.apiVersion", {"desiredState.apiVersion", "effectiveState.apiVersion"}},
           {"desiredState.workloads.*.agent",
            {"desiredState.workloads.db.agent", "desiredState.workloads.web.agent"}},
           {"desiredState.workloads.*.tags.*",
            {"desiredState.workloads.web.tags.owner", "desiredState.workloads.web.tags.tier"}},
           {"desiredState.workloads.*.tags", {"desiredState.workloads.web.tags"}},
           {"desiredState.workloads.w*", {}},
           {"desiredState.configs.*.*",
            {"desiredState.configs.netcfg.host", "desiredState.configs.netcfg.nested",
             "desiredState.configs.netcfg.ports"}},
           {"workloadStates.*", {"workloadStates.", "workloadStates.agent_A"}},
           {"workloadStates.*.*.*.state",
            {"workloadStates..idle.2.state", "workloadStates.agent_A.web.1.state"}},
           {"workloadStates..idle", {"workloadStates..idle"}},
           {"*.", {"workloadStates."}},
           {"**", {}},
           {"agents.*", {}},
           {"nope", {}},
           {".", {}},
           {"..", {}},
           {"workloadStates..", {}},
           {"desiredState.apiVersion.x", {}},
           {"desiredState.apiVersion.*", {}}}) {
    SCOPED_TRACE(mask);
    EXPECT_EQ(texts(expand(sample(), parse_path(mask))), paths);
  }
}

TEST(Expand, NeverMatchesElementsOfAList) {
  for (const char* mask :
       {"desiredState.configs.netcfg.ports.0", "desiredState.configs.netcfg.ports.*",
        "desiredState.configs.lst.1", "desiredState.configs.lst.1.k", "desiredState.configs.lst.*",
        "desiredState.workloads.web.files.0", "desiredState.workloads.web.files.*",
        "desiredState.workloads.web.controlInterfaceAccess.allowRules.0"})
    EXPECT_EQ(texts(expand(sample(), parse_path(mask))), Texts{}) << mask;
}

TEST(Expand, GivesTheEmptyPathForTheEmptyMask) {
  EXPECT_EQ(expand(sample(), Path{}), std::vector<Path>{Path{}});
}

TEST(Expand, TakesAbsurdlyLongMasks) {
  EXPECT_EQ(texts(expand(sample(), path_of_length(10'000, "*"))), Texts{});
  EXPECT_EQ(texts(expand(sample(), path_of_length(100'000))), Texts{});
  EXPECT_EQ(expand(nested(kMaxTreeDepth), path_of_length(kMaxTreeDepth, "*")),
            std::vector<Path>{path_of_length(kMaxTreeDepth)});
}

// -- select

Result<Tree> select_texts(const Texts& masks) {
  std::vector<Path> paths;
  for (const auto& mask : masks) paths.push_back(parse_path(mask));
  return select(sample(), paths);
}

TEST(Select, CopiesWhatTheMasksNameAndNothingElse) {
  EXPECT_EQ(select_texts({"desiredState.workloads.*.agent", "desiredState.apiVersion"}),
            map_of({{"desiredState",
                     map_of({{"apiVersion", "v1"},
                             {"workloads", map_of({{"db", map_of({{"agent", "agent_B"}})},
                                                   {"web", map_of({{"agent", "agent_A"}})}})}})}}));
  EXPECT_EQ(
      select_texts({"workloadStates..idle.*.state"}),
      map_of({{"workloadStates",
               map_of({{"", map_of({{"idle",
                                     map_of({{"2", map_of({{"state", "NotScheduled"}})}})}})}})}}));
}

TEST(Select, GivesEverythingForAWildcard) {
  EXPECT_EQ(select_texts({"*"}), sample());
  EXPECT_EQ(select_texts({"desiredState", "workloadStates", "agents", "effectiveState"}), sample());
}

TEST(Select, LeavesOutWhatIsNotThere) {
  EXPECT_EQ(select_texts({}), Tree(Tree::Map()));
  EXPECT_EQ(select_texts({"nope", ".", "..", "**", "workloads.web", "desiredState.workloads..",
                          "desiredState.configs.lst.0"}),
            Tree(Tree::Map()));
}

TEST(Select, KeepsEmptyCollectionsThatWereAskedFor) {
  EXPECT_EQ(select_texts({"agents"}), map_of({{"agents", Tree::Map()}}));
}

TEST(Select, DoesNotMindTheOrderOfOverlappingMasks) {
  const auto outer = select_texts({"desiredState.workloads.web"});
  EXPECT_EQ(select_texts({"desiredState.workloads.web", "desiredState.workloads.web.agent"}),
            outer);
  EXPECT_EQ(select_texts({"desiredState.workloads.web.agent", "desiredState.workloads.web"}),
            outer);
  EXPECT_EQ(select_texts({"desiredState.workloads.web", "desiredState.workloads.web"}), outer);
}

TEST(Select, RefusesAnEmptyMaskWhereverItStands) {
  EXPECT_EQ(message_of(select_texts({""})), "The given path is empty");
  EXPECT_EQ(message_of(select_texts({"desiredState", ""})), "The given path is empty");
}

TEST(Select, TakesAbsurdlyLongMasks) {
  EXPECT_EQ(select(sample(), {path_of_length(10'000, "*"), path_of_length(10'000, "")}),
            Tree(Tree::Map()));
}

// -- difference and patch

TEST(Difference, IsTakenAtTheTopmostPlaceWhereTreesDiffer) {
  const Tree before = map_of({{"gone", map_of({{"x", "1"}})},
                              {"kept", map_of({{"same", "1"}, {"changed", "1"}})},
                              {"list", Tree::List{"a"}},
                              {"kind", "text"}});
  const Tree after = map_of({{"added", map_of({{"y", "1"}})},
                             {"kept", map_of({{"same", "1"}, {"changed", "2"}})},
                             {"list", Tree::List{"a", "b"}},
                             {"kind", Tree::Map()}});
  EXPECT_EQ(difference(before, after),
            (std::vector<Change>{
                {parse_path("added"), std::nullopt, map_of({{"y", "1"}})},
                {parse_path("gone"), map_of({{"x", "1"}}), std::nullopt},
                {parse_path("kept.changed"), Tree("1"), Tree("2")},
                {parse_path("kind"), Tree("text"), Tree(Tree::Map())},
                {parse_path("list"), Tree(Tree::List{"a"}), Tree(Tree::List{"a", "b"})}}));
}

TEST(Difference, OfTreesWithoutAKeyInCommonHasTheEmptyPath) {
  EXPECT_EQ(difference("a", "b"), (std::vector<Change>{{Path{}, Tree("a"), Tree("b")}}));
  EXPECT_EQ(difference(Tree(), Tree::Map()),
            (std::vector<Change>{{Path{}, Tree(), Tree(Tree::Map())}}));
  EXPECT_TRUE(difference("a", "a").empty());
}

TEST(Difference, LooksIntoObjects) {
  CompleteState state = sample_state();
  const Tree before = state.to_tree();
  state.workload_states.update(
      {{{"web"}, {"1"}, {"agent_A"}}, ExecutionState(Phase::kFailedLost, "gone")});
  EXPECT_EQ(difference(before, state.to_tree()),
            (std::vector<Change>{
                {parse_path("workloadStates.agent_A.web.1.additionalInfo"), Tree(""), Tree("gone")},
                {parse_path("workloadStates.agent_A.web.1.state"), Tree("Running"), Tree("Failed")},
                {parse_path("workloadStates.agent_A.web.1.subState"), Tree("Ok"), Tree("Lost")}}));
}

TEST(Difference, OfAnObjectAndAMapWithItsFieldsIsNone) {
  const Path web = parse_path("desiredState.workloads.web");
  const auto rewritten = set(sample(), web, get(sample(), web)->entries());
  ASSERT_TRUE(rewritten.has_value());
  EXPECT_TRUE(difference(sample(), *rewritten).empty());
}

TEST(Patch, WithTheEmptyPathReplacesTheTree) {
  EXPECT_EQ(patch("a", {{Path{}, Tree("a"), Tree("b")}}), Tree("b"));
  EXPECT_EQ(patch("a", {{Path{}, Tree("a"), std::nullopt}}), Tree());
}

TEST(Patch, TakesTreesOfAnyDepth) {
  const Tree deep = nested(2 * kMaxTreeDepth);
  const Tree other = set(deep, parse_path("a.b"), "x").value();
  EXPECT_EQ(patch(deep, difference(deep, other)), other);
  EXPECT_EQ(patch(nested(200), {{path_of_length(200), Tree("leaf"), Tree("x")}}),
            patch(Tree::Map(), {{path_of_length(200), std::nullopt, Tree("x")}}));
}

TEST(Patch, StopsTheProcessWhenTheChangeIsNotOfThatTree) {
  EXPECT_DEATH(static_cast<void>(patch("scalar", {{parse_path("a"), std::nullopt, Tree("x")}})),
               "a difference fits the tree");
}

// -- The same on plain nested maps

struct Plain {
  std::string leaf;
  std::map<std::string, Plain> children;
  bool is_map = false;
};

Tree tree_of(const Plain& plain) {
  if (!plain.is_map) return plain.leaf;
  Tree::Map map;
  for (const auto& [key, child] : plain.children) map = map.set(key, tree_of(child));
  return map;
}

// False, with the tree perhaps half changed, where set() and remove() must fail.
bool plain_set(Plain& plain, const Path& path, const Plain& value, std::size_t at = 0) {
  if (at == path.segments.size()) {
    plain = value;
    return true;
  }
  if (!plain.is_map) return false;
  const bool known = plain.children.contains(path.segments[at]);
  Plain& child = plain.children[path.segments[at]];
  if (!known) child.is_map = true;
  return plain_set(child, path, value, at + 1);
}

bool plain_remove(Plain& plain, const Path& path, std::size_t at = 0) {
  if (!plain.is_map) return false;
  if (at + 1 == path.segments.size()) {
    plain.children.erase(path.segments[at]);
    return true;
  }
  const auto child = plain.children.find(path.segments[at]);
  return child != plain.children.end() && plain_remove(child->second, path, at + 1);
}

// Few keys and short paths, so that they meet each other again.
rc::Gen<Path> any_path() {
  return rc::gen::map(
      rc::gen::resize(4, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
                             rc::gen::element<std::string>("a", "b", "c", "", "*")))),
      [](std::vector<std::string> segments) { return Path{std::move(segments)}; });
}

rc::Gen<Plain> any_plain(int depth) {
  auto leaf = rc::gen::map(rc::gen::element<std::string>("", "x", "y"),
                           [](std::string text) { return Plain{std::move(text), {}, false}; });
  if (depth == 0) return leaf;
  const auto map = rc::gen::map(
      rc::gen::resize(3, rc::gen::container<std::map<std::string, Plain>>(
                             rc::gen::element<std::string>("a", "b", "c", "", "*"),
                             rc::gen::lazy([=] { return any_plain(depth - 1); }))),
      [](std::map<std::string, Plain> children) { return Plain{"", std::move(children), true}; });
  return rc::gen::weightedOneOf<Plain>({{1, leaf}, {3, map}});
}

rc::Gen<Plain> any_plain_map() {
  return rc::gen::map(any_plain(3), [](Plain plain) {
    plain.is_map = true;
    plain.leaf = {};
    return plain;
  });
}

struct Update {
  Path path;
  bool sets;
  Plain value;
};

rc::Gen<Update> any_update() {
  return rc::gen::construct<Update>(any_path(), rc::gen::arbitrary<bool>(), any_plain(2));
}

TEST(MaskedUpdates, DoTheSameToATreeAndToPlainMaps) {
  EXPECT_TRUE(rc::check([] {
    const auto updates = *rc::gen::container<std::vector<Update>>(any_update());
    Plain plain = *any_plain_map();
    Tree tree = tree_of(plain);
    for (const auto& [path, sets, value] : updates) {
      Plain changed = plain;
      const bool possible = sets ? plain_set(changed, path, value) : plain_remove(changed, path);
      const auto result = sets ? set(tree, path, tree_of(value)) : remove(tree, path);
      RC_ASSERT(result.has_value() == possible);
      if (!possible) continue;
      plain = std::move(changed);
      tree = *result;
      RC_ASSERT(tree == tree_of(plain));
    }
  }));
}

TEST(MaskedUpdates, AreReadBackWhereTheyWereWritten) {
  EXPECT_TRUE(rc::check([] {
    const Tree tree = tree_of(*any_plain_map());
    const Path path = *any_path();
    const Tree value = tree_of(*any_plain(2));
    const auto changed = set(tree, path, value);
    RC_PRE(changed.has_value());
    RC_ASSERT(get(*changed, path) == value);
    const auto removed = remove(*changed, path);
    RC_ASSERT(removed.has_value());
    RC_ASSERT(get(*removed, path) == std::nullopt);
  }));
}

TEST(Patch, WithADifferenceGivesTheOtherTree) {
  EXPECT_TRUE(rc::check([] {
    const Tree before = tree_of(*any_plain(3));
    const Tree after = tree_of(*any_plain(3));
    const auto changes = difference(before, after);
    RC_ASSERT(patch(before, changes) == after);
    RC_ASSERT(changes.empty() == (before == after));
    RC_ASSERT(std::is_sorted(changes.begin(), changes.end(),
                             [](const Change& a, const Change& b) { return a.path < b.path; }));
    for (const auto& change : changes) {
      RC_ASSERT(get(before, change.path) == change.before);
      RC_ASSERT(get(after, change.path) == change.after);
    }
  }));
}

// All paths to leaves, where an empty map is a leaf.
void leaves(const Plain& plain, const Path& here, std::vector<Path>& found) {
  if (!plain.is_map || plain.children.empty()) found.push_back(here);
  for (const auto& [key, child] : plain.children) leaves(child, here.child(key), found);
}

TEST(Select, WithAllSinglePathsGivesTheTree) {
  EXPECT_TRUE(rc::check([] {
    const Plain plain = *any_plain_map();
    RC_PRE(!plain.children.empty());
    std::vector<Path> masks;
    leaves(plain, Path{}, masks);
    RC_ASSERT((select(tree_of(plain), masks) == tree_of(plain)));
  }));
}

TEST(Select, GivesExactlyWhatTheMasksExpandTo) {
  EXPECT_TRUE(rc::check([] {
    const Tree tree = tree_of(*any_plain_map());
    const Path mask = *any_path();
    const auto selected = select(tree, {mask});
    RC_ASSERT(selected.has_value());
    const auto paths = expand(tree, mask);
    RC_ASSERT(expand(*selected, mask) == paths);
    for (const auto& path : paths) RC_ASSERT(get(*selected, path) == get(tree, path));
    RC_ASSERT((select(*selected, {mask}) == selected));
  }));
}

TEST(Expand, GivesThePathsThatMatchSegmentBySegment) {
  EXPECT_TRUE(rc::check([] {
    const Plain plain = *any_plain_map();
    const Path mask = *any_path();
    // The same by brute force: every existing path, filtered.
    std::vector<Path> level{Path{}};
    for (const auto& segment : mask.segments) {
      std::vector<Path> next;
      for (const auto& path : level)
        get(tree_of(plain), path)->entries().for_each([&](const std::string& key, const Tree&) {
          if (segment == "*" || segment == key) next.push_back(path.child(key));
        });
      level = std::move(next);
    }
    RC_ASSERT(expand(tree_of(plain), mask) == level);
  }));
}

// -- The price of one leaf among 10,000 workloads

// Counts how often anybody looks at it.
struct Watched final : Tree::Object {
  [[nodiscard]] std::optional<Tree> field(std::string_view key) const override {
    ++looks;
    return key == "agent" ? std::optional<Tree>("agent_A") : std::nullopt;
  }
  [[nodiscard]] Tree::Map fields(Empties) const override {
    ++looks;
    return Tree::Map().set("agent", "agent_A");
  }
  static int looks;
};
int Watched::looks = 0;

Tree watched_workloads(int count) {
  Tree::Map workloads;
  for (int i = 0; i < count; ++i)
    workloads = workloads.set("w" + std::to_string(i), std::make_shared<const Watched>());
  return map_of({{"desiredState", map_of({{"workloads", workloads}})}});
}

struct Cost {
  int looks;
  std::size_t allocations;
};

template <class Action>
Cost cost_of(const Action& action) {
  Watched::looks = 0;
  const std::size_t before = allocations;
  action();
  return {Watched::looks, allocations - before};
}

TEST(OneLeafOfTenThousandWorkloads, IsReadWithoutALookAtTheOthers) {
  const Path leaf = parse_path("desiredState.workloads.w7.agent");
  for (const int count : {10, 10'000}) {
    const Tree tree = watched_workloads(count);
    const Cost cost = cost_of([&] { EXPECT_TRUE(get(tree, leaf).has_value()); });
    EXPECT_EQ(cost.looks, 1) << count;
    EXPECT_EQ(cost.allocations, 0U) << count;
  }
}

TEST(OneLeafOfTenThousandWorkloads, IsChangedByCopyingItsPathOnly) {
  const Path leaf = parse_path("desiredState.workloads.w7.agent");
  const Tree tree = watched_workloads(10'000);
  Tree changed;
  const Cost cost = cost_of([&] { changed = set(tree, leaf, "agent_B").value(); });
  EXPECT_EQ(cost.looks, 1);
  EXPECT_LT(cost.allocations, 60U);
  int shared = 0;
  get(tree, parse_path("desiredState.workloads"))
      ->entries()
      .for_each([&](const std::string& name, const Tree& workload) {
        const auto now = get(changed, parse_path("desiredState.workloads").child(name));
        shared += now->same_as(workload) ? 1 : 0;
      });
  EXPECT_EQ(shared, 9'999);
}

TEST(OneLeafOfTenThousandWorkloads, IsFoundByTheDifferenceWithoutALookAtTheOthers) {
  const Path leaf = parse_path("desiredState.workloads.w7.agent");
  const Tree tree = watched_workloads(10'000);
  const Tree changed = set(tree, leaf, "agent_B").value();
  std::vector<Change> changes;
  const Cost cost = cost_of([&] { changes = difference(tree, changed); });
  EXPECT_EQ(changes, (std::vector<Change>{{leaf, Tree("agent_A"), Tree("agent_B")}}));
  EXPECT_EQ(cost.looks, 1);
  EXPECT_LT(cost.allocations, 60U);
}

TEST(OneLeafOfTenThousandWorkloads, IsSelectedWithoutALookAtTheOthers) {
  const Tree tree = watched_workloads(10'000);
  const Cost cost = cost_of([&] {
    EXPECT_TRUE(select(tree, {parse_path("desiredState.workloads.w7.agent")}).has_value());
  });
  EXPECT_LE(cost.looks, 2);
  EXPECT_LT(cost.allocations, 60U);
}

TEST(OneLeafOfTenThousandWorkloads, IsToldToSubscribersWithoutALookAtTheOthers) {
  const Tree before = watched_workloads(10'000);
  const Tree after = *set(before, parse_path("desiredState.workloads.w7.agent"), "agent_B");
  const Masks masks(Texts{"desiredState.workloads.*.agent", "desiredState.workloads.w7", "agents"});
  const Cost cost =
      cost_of([&] { EXPECT_EQ(Alterations(before, after).matching(masks).updated.size(), 2U); });
  EXPECT_EQ(cost.looks, 1);
  EXPECT_LT(cost.allocations, 100U);
}

}  // namespace
}  // namespace tiphys
