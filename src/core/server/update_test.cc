#include "core/server/update.h"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "base/strings.h"
#include "model/path.h"

namespace tiphys::server {
namespace {

using Strings = std::vector<std::string>;

std::shared_ptr<Workload> workload(const std::string& agent, const std::string& config) {
  auto made = std::make_shared<Workload>();
  made->agent = agent;
  made->runtime = "podman";
  made->runtime_config = config;
  return made;
}

Tree as_tree(const std::shared_ptr<Workload>& made) { return Tree(WorkloadPtr(made)); }

// web on A and db on B, a config item, and agent A with tags and a load.
CompleteState current_state() {
  State desired;
  auto web = workload("A", "nginx");
  web->tags.edit() = {{"owner", "ops"}};
  desired.workloads = Tree::Map().set("web", as_tree(web)).set("db", as_tree(workload("B", "pg")));
  desired.configs = Tree::Map().set("cfg", Tree::Map().set("a", "1").set("b", "2"));

  CompleteState state;
  const UpdatePlan plan = plan_state(state, {}, desired).value();
  state.desired = plan.desired;
  state.effective_workloads = plan.effective_workloads;
  for (const auto& spec : plan.added) state.workload_states.add_initial({spec->instance()});
  auto attributes = std::make_shared<AgentAttributes>();
  attributes->tags = {{"zone", "front"}, {"rack", "7"}};
  attributes->status = AgentStatus{12, 4096};
  state.agents = state.agents.set("A", std::shared_ptr<const AgentAttributes>(attributes));
  return state;
}

Tree desired_state(const Tree::Map& parts) { return Tree::Map().set("desiredState", parts); }
Tree with_workload(const std::string& name, const Tree& value) {
  return desired_state(
      Tree::Map().set("apiVersion", "v1").set("workloads", Tree::Map().set(name, value)));
}

Result<UpdatePlan> masked(const Tree& new_state, const Strings& masks) {
  return plan_update(current_state(), {}, {new_state, masks});
}
Result<UpdatePlan> whole(const Tree& new_state) { return masked(new_state, {}); }

std::string error_of(const Result<UpdatePlan>& plan) { return plan ? "" : plan.error().message; }

Strings names_of(const std::vector<WorkloadSpecPtr>& specs) {
  Strings names;
  for (const auto& spec : specs) names.push_back(spec->instance().workload.value);
  return names;
}

std::string invalid(const std::string& reason) {
  return concat("Update rejected: 'Resulting State is invalid, reason: '", reason, "''");
}
std::string unreadable(const std::string& offence) {
  return invalid(concat("Could not parse into CompleteState: '", offence, "'"));
}

// -- Whole updates

// [utest->swdd~update-desired-state-empty-update-mask~1]
TEST(PlanUpdate, ReplacesTheWholeStateWithoutMasks) {
  const auto plan = whole(with_workload("api", as_tree(workload("A", "api"))));
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_EQ(names_of(plan->added), Strings{"api"});
  EXPECT_EQ(names_of(plan->deleted), (Strings{"db", "web"}));
  EXPECT_EQ(plan->desired.workloads.size(), 1U);
  EXPECT_TRUE(plan->desired.configs.empty());
  EXPECT_EQ(plan->effective_workloads.size(), 1U);
}

TEST(PlanUpdate, NeedsAWholeStateWithoutMasks) {
  EXPECT_EQ(error_of(whole(Tree::Map())), unreadable("Missing field 'desired_state'"));
  EXPECT_EQ(error_of(whole(desired_state(Tree::Map().set("apiVersion", "v1")))),
            unreadable("Cannot convert field 'desired_state' to spec object: 'Missing field "
                       "'workloads''."));
  EXPECT_EQ(error_of(whole(with_workload("w", Tree::Map().set("agent", "A")))),
            unreadable("Cannot convert field 'desired_state' to spec object: 'Cannot convert field "
                       "'workloads' to spec object: 'Cannot convert field 'workloads' to spec "
                       "object: 'Missing field 'runtime''.'.'."));
}

TEST(PlanUpdate, TrimsTheRuntimeConfigOnEntry) {
  Tree::Map written;
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"agent", "A"}, {"runtime", "podman"}, {"runtimeConfig", "\n nginx \t"}})
    written = written.set(key, value);
  const auto plan = whole(with_workload("web", written));
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_EQ(plan->added.at(0)->instance().id, workload_id_of("nginx"));
}

// -- Masked updates

// [utest->swdd~update-desired-state-with-update-mask~1]
TEST(PlanUpdate, ReplacesWhatTheMasksName) {
  const Tree::Map only_version = Tree::Map().set("apiVersion", "v1");
  using Row = std::tuple<std::string, Tree, Strings, Strings>;  // mask, new state, added, deleted
  for (const auto& [mask, new_state, added, deleted] : std::vector<Row>{
           {"desiredState", Tree::Map(), {}, {"db", "web"}},
           {"desiredState", desired_state(only_version), {}, {"db", "web"}},
           {"desiredState.workloads", desired_state(only_version), {}, {"db", "web"}},
           {"desiredState.workloads.web", Tree::Map(), {}, {"web"}},
           {"desiredState.workloads.nope", Tree::Map(), {}, {}},
           {"desiredState.workloads.api",
            with_workload("api", as_tree(workload("A", "api"))),
            {"api"},
            {}},
           {"desiredState.workloads.web",
            with_workload("web", as_tree(workload("B", "nginx"))),
            {"web"},
            {"web"}},
           {"desiredState.workloads.web.tags.owner",
            with_workload("web", Tree::Map().set("tags", Tree::Map().set("owner", "you"))),
            {"web"},
            {"web"}},
           {"desiredState.workloads.db.tags.first",
            with_workload("db", Tree::Map().set("tags", Tree::Map().set("first", "1"))),
            {"db"},
            {"db"}},
           {"desiredState.workloads.web.restartPolicy", Tree::Map(), {}, {}},
           {"desiredState.configs.cfg.a",
            desired_state(
                Tree::Map().set("configs", Tree::Map().set("cfg", Tree::Map().set("a", "new")))),
            {},
            {}},
           {"unknown", Tree::Map(), {}, {}},
           {"workloadStates", Tree::Map(), {}, {}},
           {"effectiveState", with_workload("q", as_tree(workload("A", "q"))), {}, {}},
       }) {
    SCOPED_TRACE(mask);
    const auto plan = masked(new_state, {mask});
    ASSERT_TRUE(plan.has_value()) << error_of(plan);
    EXPECT_EQ(names_of(plan->added), added);
    EXPECT_EQ(names_of(plan->deleted), deleted);
  }
}

TEST(PlanUpdate, CreatesMissingParentsAndDeletesWhatIsMissing) {
  const Tree configs = desired_state(Tree::Map().set(
      "configs", Tree::Map().set("x", Tree::Map().set("y", Tree::Map().set("z", "deep")))));
  const auto plan = masked(configs, {"desiredState.configs.x.y.z", "desiredState.configs.cfg"});
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_EQ(Tree(plan->desired.configs),
            Tree(Tree::Map().set("x", Tree::Map().set("y", Tree::Map().set("z", "deep")))));
}

TEST(PlanUpdate, AppliesMasksInTheirOrder) {
  const Tree new_state = with_workload(
      "api", Tree::Map().set("agent", "A").set("runtime", "podman").set("runtimeConfig", "api"));
  const auto plan =
      masked(new_state, {"desiredState.workloads.api.agent", "desiredState.workloads.api.runtime",
                         "desiredState.workloads.api.runtimeConfig"});
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_EQ(names_of(plan->added), Strings{"api"});
}

TEST(PlanUpdate, SaysWhyAMaskDoesNotFit) {
  using Row = std::tuple<std::string, Tree, std::string>;
  for (const auto& [mask, new_state, error] : std::vector<Row>{
           {"", Tree::Map(), "Update rejected: 'Could not find field '"},
           {"desiredState.workloads.web.foo.bar", Tree::Map(),
            "Update rejected: 'Could not find field desiredState.workloads.web.foo.bar'"},
           {"desiredState.workloads.nope.tags", Tree::Map(),
            "Update rejected: 'Could not find field desiredState.workloads.nope.tags'"},
           {"desiredState.workloads.web.agent.x", with_workload("web", as_tree(workload("A", "x"))),
            "Update rejected: 'Could not find field desiredState.workloads.web.agent.x'"},
           {"desiredState.apiVersion", Tree::Map(), unreadable("missing field `apiVersion`")},
           {"desiredState.workloads.api.agent", with_workload("api", Tree::Map().set("agent", "A")),
            unreadable("missing field `runtime`")},
           {"desiredState.workloads.web.restartPolicy",
            with_workload("web", Tree::Map().set("restartPolicy", Tree(std::uint64_t{77}))),
            invalid("Failed to parse new state, 'unknown enumeration value 77'")},
           {"effectiveState.workloads.web.agent",
            Tree::Map().set("effectiveState",
                            Tree::Map().set("workloads",
                                            Tree::Map().set("web", Tree::Map().set("agent", "A")))),
            unreadable("missing field `runtime`")},
           {"workloadStates.A.web.x.additionalInfo",
            Tree::Map().set(
                "workloadStates",
                Tree::Map().set(
                    "A", Tree::Map().set(
                             "web", Tree::Map().set("x", Tree::Map().set("additionalInfo", "i"))))),
            unreadable("missing field `state`")},
       }) {
    SCOPED_TRACE(mask);
    EXPECT_EQ(error_of(masked(new_state, {mask})), error);
  }
}

// [utest->swdd~update-desired-state-with-missing-version~1]
TEST(PlanUpdate, RefusesAStateWithoutAnApiVersion) {
  const Tree no_version =
      desired_state(Tree::Map().set("apiVersion", "").set("workloads", Tree::Map()));
  const std::string error = "Unsupported API version. Received '', expected 'v1'";
  EXPECT_EQ(error_of(masked(no_version, {"desiredState"})), error);
  EXPECT_EQ(error_of(whole(no_version)), error);
}

TEST(PlanUpdate, TakesTheOldApiVersionWithAWarning) {
  const Tree old_version =
      desired_state(Tree::Map().set("apiVersion", "v0.1").set("workloads", Tree::Map()));
  const auto plan = whole(old_version);
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_EQ(plan->desired.api_version, "v0.1");
  EXPECT_EQ(plan->warnings.size(), 1U);
}

// -- Rules of the workloads

// [utest->swdd~server-state-triggers-validation-of-workload-fields~1]
TEST(PlanUpdate, ChecksWhatChangedInThisOrder) {
  const std::string constraint(kNameConstraint);
  Tree::Map parts =
      Tree::Map().set("apiVersion", "v9").set("configs", Tree::Map().set("bad key", "x"));
  auto bad = workload("bad agent", "x");
  bad->configs.edit() = {{"bad alias", "bad reference"}};
  bad->access.edit().allow_rules = {StateRule{Operation::kRead, {"a..b"}}};
  const auto check = [&](const std::string& name) {
    return error_of(whole(desired_state(
        parts.set("workloads", Tree::Map().set(name, as_tree(std::make_shared<Workload>(*bad)))))));
  };
  EXPECT_EQ(check("bad name"), "Unsupported API version. Received 'v9', expected 'v1'");
  parts = parts.set("apiVersion", "v1");
  EXPECT_EQ(check("bad name"), "Unsupported config item key 'bad key'. " + constraint);
  parts = parts.erase(std::string("configs"));
  EXPECT_EQ(check("bad name"), "Unsupported config alias 'bad alias'. " + constraint);
  bad->configs.edit() = {{"alias", "bad reference"}};
  EXPECT_EQ(check("bad name"), "Unsupported config reference key 'bad reference'. " + constraint);
  bad->configs = {};
  EXPECT_EQ(check("bad name"),
            invalid("Unsupported workload name 'bad name'. Expected to have characters in "
                    "[a-zA-Z0-9_-]."));
  EXPECT_EQ(check("name"), invalid("Unsupported agent name 'bad agent'. " + constraint));
  bad->agent = "A";
  EXPECT_EQ(check("name"),
            invalid("Unsupported filter mask 'a..b'. Only \".\" separated sequences allowed where "
                    "each part is either a wildcard \"*\" or chars in [a-zA-Z0-9_-]"));
  bad->access = {};
  EXPECT_EQ(check("name"), "");
}

// -- Rendering

// web on A with a template, and the config items that it uses.
struct Templates {
  CompleteState state;
  ConfigUsers users;

  Templates() {
    State wanted;
    auto web = workload("A", "port {{p}}");
    web->configs.edit() = {{"p", "port"}};
    wanted.workloads =
        Tree::Map().set("web", as_tree(web)).set("plain", as_tree(workload("A", "{{p}}")));
    wanted.configs = Tree::Map().set("port", "80").set("other", "1");
    const UpdatePlan plan = plan_state({}, {}, wanted).value();
    users.follow({}, plan.desired.workloads);
    state.desired = plan.desired;
    state.effective_workloads = plan.effective_workloads;
  }

  [[nodiscard]] Result<UpdatePlan> set_item(const std::string& key,
                                            const std::optional<std::string>& value) const {
    const Tree::Map configs = value ? Tree::Map().set(key, *value) : Tree::Map();
    return plan_update(state, users,
                       {desired_state(Tree::Map().set("apiVersion", "v1").set("configs", configs)),
                        {"desiredState.configs." + key}});
  }
};

// [utest->swdd~server-state-triggers-configuration-rendering-of-workloads~1]
// [utest->swdd~server-state-compares-rendered-workloads~1]
TEST(PlanUpdate, ComparesWhatWasRendered) {
  const Templates templates;
  const auto plan = templates.set_item("port", "81");
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_EQ(names_of(plan->added), Strings{"web"});
  EXPECT_EQ(names_of(plan->deleted), Strings{"web"});
  EXPECT_EQ(plan->added[0]->instance().id, workload_id_of("port 81"));
  EXPECT_TRUE(plan->added[0]->workload().configs.empty());
  EXPECT_EQ(plan->desired.workload("web")->runtime_config, "port {{p}}");

  for (const auto& [key, value] : {std::pair{"other", "2"}, std::pair{"port", "80"}}) {
    const auto same = templates.set_item(key, value);
    ASSERT_TRUE(same.has_value()) << error_of(same);
    EXPECT_TRUE(same->added.empty());
    EXPECT_TRUE(same->deleted.empty());
  }
  auto rewritten = workload("A", "port 80");
  rewritten->configs.edit() = {{"p", "port"}};
  const auto same =
      plan_update(templates.state, templates.users,
                  {with_workload("web", as_tree(rewritten)), {"desiredState.workloads.web"}});
  ASSERT_TRUE(same.has_value()) << error_of(same);
  EXPECT_TRUE(same->added.empty());
  EXPECT_EQ(same->desired.workload("web")->runtime_config, "port 80");
}

TEST(PlanUpdate, RefusesToTakeAwayWhatAWorkloadUses) {
  const Templates templates;
  EXPECT_EQ(error_of(templates.set_item("port", std::nullopt)),
            invalid("Workload references config key 'port' that does not exist"));
  EXPECT_TRUE(templates.set_item("other", std::nullopt).has_value());
}

TEST(PlanUpdate, RendersEverythingBeforeItLooksAtNames) {
  auto bad_name = workload("A", "x");
  auto bad_template = workload("A", "{{");
  bad_template->configs.edit() = {{"p", "cfg"}};
  const Tree workloads = Tree::Map().set("a b", as_tree(bad_name)).set("w", as_tree(bad_template));
  const auto error = error_of(
      masked(desired_state(Tree::Map().set("apiVersion", "v1").set("workloads", workloads)),
             {"desiredState.workloads"}));
  EXPECT_NE(error.find("Failed to render field 'runtimeConfig'"), std::string::npos) << error;
}

// -- The difference

TEST(PlanUpdate, DeletesAndAddsAWorkloadWhenAnyFieldDiffers) {
  using Change = std::function<void(Workload&)>;
  for (const auto& [what, change] : std::vector<std::pair<std::string, Change>>{
           {"agent", [](Workload& w) { w.agent = "B"; }},
           {"no agent", [](Workload& w) { w.agent.clear(); }},
           {"runtime", [](Workload& w) { w.runtime = "podman-kube"; }},
           {"runtimeConfig", [](Workload& w) { w.runtime_config = "httpd"; }},
           {"restartPolicy", [](Workload& w) { w.restart_policy = RestartPolicy::kAlways; }},
           {"tags", [](Workload& w) { w.tags.edit()["owner"] = "you"; }},
           {"files",
            [](Workload& w) { w.files.edit().push_back({"/a", File::Encoding::kText, "x"}); }},
           {"access",
            [](Workload& w) { w.access.edit().deny_rules.emplace_back(LogRule{{"db"}}); }},
       }) {
    SCOPED_TRACE(what);
    auto web = std::make_shared<Workload>(*current_state().desired.workload("web"));
    change(*web);
    const auto plan = masked(with_workload("web", as_tree(web)), {"desiredState.workloads.web"});
    ASSERT_TRUE(plan.has_value()) << error_of(plan);
    EXPECT_EQ(names_of(plan->added), Strings{"web"});
    EXPECT_EQ(names_of(plan->deleted), Strings{"web"});
    EXPECT_EQ(plan->deleted[0]->instance().id, workload_id_of("nginx"));
    EXPECT_EQ(plan->deleted[0]->instance().agent, AgentName{"A"});
  }
}

// [utest->swdd~server-state-updates-state-on-unmodified-workloads~1]
TEST(PlanUpdate, KeepsTheStateOfConfigsWhenNoWorkloadChanges) {
  const CompleteState current = current_state();
  const auto plan =
      plan_update(current, {},
                  {desired_state(Tree::Map().set("configs", Tree::Map().set("n", "1"))),
                   {"desiredState.configs.n"}});
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_TRUE(plan->added.empty());
  EXPECT_TRUE(plan->deleted.empty());
  EXPECT_EQ(*plan->desired.configs.find("n"), Tree("1"));
  EXPECT_TRUE(plan->effective_workloads.same_as(current.effective_workloads));
}

TEST(PlanUpdate, FindsNoDifferenceInAnEqualWorkload) {
  const auto web = std::make_shared<Workload>(*current_state().desired.workload("web"));
  const auto plan = masked(with_workload("web", as_tree(web)), {"desiredState.workloads.web"});
  ASSERT_TRUE(plan.has_value()) << error_of(plan);
  EXPECT_TRUE(plan->added.empty());
  EXPECT_TRUE(plan->deleted.empty());
}

// -- Tags of agents

Tree agents(const std::string& name, const Tree::Map& attributes) {
  return Tree::Map().set("agents", Tree::Map().set(name, attributes));
}
Tree::Map tags(const Tree::Map& map) { return Tree::Map().set("tags", map); }

TEST(PlanUpdate, ChangesTagsWhenTheyAreNamedOrCarried) {
  using Row = std::tuple<Strings, Tree, std::map<std::string, Tags>>;
  const Tree one_tag = agents("A", tags(Tree::Map().set("zone", "back")));
  const std::map<std::string, Tags> unchanged;
  for (const auto& [masks, new_state, expected] : std::vector<Row>{
           {{"agents"}, one_tag, {{"A", {{"zone", "back"}}}}},
           {{"agents.A"}, one_tag, {{"A", {{"zone", "back"}}}}},
           {{"agents.A.tags"}, one_tag, {{"A", {{"zone", "back"}}}}},
           {{"agents.A.tags.zone"}, one_tag, {{"A", {{"zone", "back"}, {"rack", "7"}}}}},
           {{"agents.A.tags.zone"}, Tree::Map(), {{"A", {{"rack", "7"}}}}},
           {{"agents.A.tags"}, Tree::Map(), {{"A", {}}}},
           {{"agents.A.tags"}, agents("A", tags({})), {{"A", {}}}},
           {{"agents"}, agents("A", tags({})), {{"A", {}}}},
           {{"agents"}, agents("A", {}), unchanged},
           {{"agents.A"}, agents("A", {}), unchanged},
           {{"agents.A.status"}, agents("A", {}), unchanged},
           {{"agents"}, Tree::Map(), unchanged},
           {{"agents.A"}, Tree::Map(), unchanged},
           {{"agents.B.tags"}, agents("B", tags(Tree::Map().set("zone", "back"))), unchanged},
           {{"agents.A.tags"},
            agents("A", tags(Tree::Map().set("zone", "front").set("rack", "7"))),
            unchanged},
       }) {
    SCOPED_TRACE(join(masks, ","));
    const auto plan = masked(new_state, masks);
    ASSERT_TRUE(plan.has_value()) << error_of(plan);
    EXPECT_EQ(plan->agent_tags, expected);
    EXPECT_TRUE(plan->added.empty());
  }
  EXPECT_EQ(error_of(masked(Tree::Map(), {"agents.nope.tags.zone"})),
            "Update rejected: 'Could not find field agents.nope.tags.zone'");
  EXPECT_EQ(error_of(masked(agents("A", tags(Tree::Map().set("zone", Tree(std::uint64_t{1})))),
                            {"agents.A.tags"})),
            unreadable("expected a string, found a number"));
}

TEST(PlanUpdate, ChangesTagsOfAWholeUpdateOnlyWhenItCarriesThem) {
  const Tree::Map state = current_state().to_tree().entries();
  const auto untouched = whole(Tree(state.erase(std::string("agents"))));
  ASSERT_TRUE(untouched.has_value()) << error_of(untouched);
  EXPECT_TRUE(untouched->agent_tags.empty());
  const auto tagged =
      whole(Tree(state.set("agents", Tree::Map().set("A", tags(Tree::Map().set("zone", "back"))))));
  ASSERT_TRUE(tagged.has_value()) << error_of(tagged);
  EXPECT_EQ(tagged->agent_tags, (std::map<std::string, Tags>{{"A", {{"zone", "back"}}}}));
  EXPECT_EQ(error_of(whole(Tree(state.set("agents", Tree::Map().set("A", Tree::Map()))))),
            unreadable("Cannot convert field 'agents' to spec object: 'Cannot convert field "
                       "'agents' to spec object: 'Missing field 'tags''.'."));
}

TEST(PlanState, RefusesWithoutTheWordsOfAnUpdate) {
  State state;
  state.workloads = Tree::Map().set("bad name", as_tree(workload("A", "x")));
  EXPECT_EQ(error_of(plan_state(CompleteState(), {}, state)),
            "Resulting State is invalid, reason: 'Unsupported workload name 'bad name'. Expected "
            "to have characters in [a-zA-Z0-9_-].'");
}

// -- Reading the state

Strings paths_of(const Strings& masks) {
  const auto selected = select_state(current_state(), masks);
  if (!selected) return {selected.error().message};
  Strings paths;
  for (const auto& change : difference(Tree(Tree::Map()), *selected))
    paths.push_back(to_string(change.path));
  return paths;
}

// What a mask selects of one part, written as the paths of the leaves.
Strings leaves(const Tree& tree, const std::string& path = "") {
  if (!tree.is_map()) return {path};
  Strings found;
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    for (auto& leaf : leaves(value, path.empty() ? key : concat(path, ".", key)))
      found.push_back(std::move(leaf));
  });
  return found;
}

Strings selected(const Strings& masks) {
  return leaves(select_state(current_state(), masks).value());
}

// [utest->swdd~server-provides-interface-get-complete-state~2]
TEST(SelectState, GivesAllPartsWithoutMasks) {
  EXPECT_EQ(paths_of({}), (Strings{"agents", "desiredState", "effectiveState", "workloadStates"}));
  EXPECT_EQ(paths_of({"*"}), paths_of({}));
}

// [utest->swdd~server-filters-get-complete-state-result~2]
TEST(SelectState, GivesTheNamedFieldsAndTheApiVersion) {
  using Row = std::pair<Strings, Strings>;
  for (const auto& [masks, expected] : std::vector<Row>{
           {{"desiredState.workloads.web.runtimeConfig"},
            {"desiredState.apiVersion", "desiredState.workloads.web.runtimeConfig"}},
           {{"desiredState.apiVersion"}, {"desiredState.apiVersion"}},
           {{"desiredState.nope"}, {"desiredState.apiVersion"}},
           {{"effectiveState.workloads.db.agent"},
            {"effectiveState.apiVersion", "effectiveState.workloads.db.agent"}},
           {{"desiredState.workloads.web.agent", "desiredState.workloads.db.agent"},
            {"desiredState.apiVersion", "desiredState.workloads.db.agent",
             "desiredState.workloads.web.agent"}},
           {{"agents.A.tags.zone"}, {"agents.A.tags.zone"}},
           {{"agents.A.status"}, {"agents.A.status.cpuUsage", "agents.A.status.freeMemory"}},
           {{"desiredStateX"}, {}},
           {{"workloads.web"}, {}},
           {{"nope"}, {}},
       }) {
    SCOPED_TRACE(join(masks, ","));
    EXPECT_EQ(selected(masks), expected);
  }
}

// [utest->swdd~server-filters-get-complete-state-result-with-wildcards~1]
TEST(SelectState, LetsAWildcardStandForEveryKeyOfItsLevel) {
  using Row = std::pair<Strings, Strings>;
  for (const auto& [masks, expected] : std::vector<Row>{
           {{"desiredState.workloads.*.agent"},
            {"desiredState.apiVersion", "desiredState.workloads.db.agent",
             "desiredState.workloads.web.agent"}},
           {{"desiredState.configs.*.a"},
            {"desiredState.apiVersion", "desiredState.configs.cfg.a"}},
           {{"agents.*.tags.*"}, {"agents.A.tags.rack", "agents.A.tags.zone"}},
           {{"*.workloads.web.agent"},
            {"desiredState.apiVersion", "desiredState.workloads.web.agent",
             "effectiveState.apiVersion", "effectiveState.workloads.web.agent"}},
           {{"*.nope"}, {}},
       }) {
    SCOPED_TRACE(join(masks, ","));
    EXPECT_EQ(selected(masks), expected);
  }
}

TEST(SelectState, KeepsStateAndSubStateTogether) {
  const std::string web = concat("workloadStates.A.web.", workload_id_of("nginx").value);
  const Strings both{web + ".state", web + ".subState"};
  EXPECT_EQ(selected({web + ".state"}), both);
  EXPECT_EQ(selected({web + ".subState"}), both);
  EXPECT_EQ(selected({web + ".state", web + ".subState"}), both);
  EXPECT_EQ(selected({"workloadStates.*.web.*.subState"}), both);
  EXPECT_EQ(selected({web + ".additionalInfo"}), Strings{web + ".additionalInfo"});
  EXPECT_EQ(selected({"workloadStates..web.x.state"}), Strings{});
}

TEST(SelectState, FailsForAnEmptyMask) {
  EXPECT_FALSE(select_state(current_state(), {""}).has_value());
  EXPECT_FALSE(select_state(current_state(), {"desiredState", ""}).has_value());
}

}  // namespace
}  // namespace tiphys::server
