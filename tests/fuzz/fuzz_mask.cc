// Random masks and values on a tree. The input is text, a step per line:
//
//   =MASK VALUE    set, where VALUE is a text, {} an empty map, [TEXT a list of that text,
//                  and @MASK what the tree has there
//   -MASK          remove
//   ?MASK          expand and select
//
// Whatever the steps are, what was written is read back, a difference leads from one tree to the
// other, a selection holds what its mask expands to, and a state that can be read from the tree can
// be read again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"
#include "model/path.h"
#include "model/state.h"

namespace tiphys {
namespace {

constexpr std::size_t kMaxSteps = 40;
constexpr std::size_t kMaxNodes = 500;  // copies of copies grow beyond all bounds

State first_state() {
  auto web = std::make_shared<Workload>();
  web->agent = "agent_A";
  web->runtime = "podman";
  web->runtime_config = "image: web";
  web->tags.edit() = {{"owner", "ops"}};
  web->dependencies.edit() = {{"db", AddCondition::kRunning}};
  web->configs.edit() = {{"c", "netcfg"}};
  web->files.edit() = {{"/etc/web.conf", File::Encoding::kText, "x"}};
  web->access.edit().allow_rules = {StateRule{Operation::kRead, {"*"}}};
  State state;
  state.workloads =
      Tree::Map().set("web", WorkloadPtr(web)).set("idle", std::make_shared<const Workload>());
  state.configs = Tree::Map()
                      .set("netcfg", Tree::Map().set("ports", Tree::List{"1", "2"}))
                      .set("plain", "text");
  return state;
}

Tree first_tree(const State& desired) {
  CompleteState state;
  state.desired = desired;
  state.workload_states.add_initial(
      {InstanceName{{"idle"}, {"1"}, {}}, InstanceName{{"web"}, {"2"}, {"agent_A"}}});
  return state.to_tree();
}

struct Extent {
  std::size_t nodes = 1;
  std::size_t depth = 0;
};

Extent extent_of(const Tree& tree) {
  Extent extent;
  const auto add = [&](const Tree& child) {
    if (extent.nodes > kMaxNodes) return;
    const Extent below = extent_of(child);
    extent.nodes += below.nodes;
    extent.depth = std::max(extent.depth, below.depth + 1);
  };
  tree.entries().for_each([&](const std::string&, const Tree& child) { add(child); });
  if (const auto* list = tree.list())
    for (const auto& child : *list) add(child);
  return extent;
}

bool is_bearable(const Tree& tree) {
  const Extent extent = extent_of(tree);
  return extent.nodes <= kMaxNodes && extent.depth <= kMaxTreeDepth;
}

Tree value_of(const Tree& tree, std::string_view text) {
  if (text == "{}") return Tree::Map();
  if (text.starts_with('[')) return Tree::List{text.substr(1)};
  if (text.starts_with('@')) return get(tree, parse_path(text.substr(1))).value_or(Tree());
  return text;
}

void check_difference(const Tree& before, const Tree& after) {
  const auto changes = difference(before, after);
  TIPHYS_CHECK(changes.empty() == (before == after), "equal trees have no difference");
  TIPHYS_CHECK(patch(before, changes) == after, "a difference leads to the other tree");
  for (const auto& change : changes) {
    TIPHYS_CHECK(get(before, change.path) == change.before, "a difference knows what was");
    TIPHYS_CHECK(get(after, change.path) == change.after, "a difference knows what is");
  }
}

void check_selection(const Tree& tree, const Path& mask) {
  const auto selected = select(tree, {mask});
  TIPHYS_CHECK(selected.has_value() != mask.empty(), "only the empty mask is refused");
  if (!selected) return;
  const auto paths = expand(tree, mask);
  TIPHYS_CHECK(expand(*selected, mask) == paths, "a selection holds all its mask expands to");
  for (const auto& path : paths)
    TIPHYS_CHECK(get(*selected, path) == get(tree, path), "a selection holds what the tree holds");
  TIPHYS_CHECK(select(*selected, {mask}) == selected, "a selection selects itself");
}

void check_state(const Tree& tree, const State& base) {
  const auto desired = tree.child("desiredState");
  if (!desired) return;
  const auto state = read_state(*desired, {}, base);
  const auto alone = read_state(*desired, {});
  TIPHYS_CHECK(state.has_value() == alone.has_value(), "what was read before stays readable");
  if (!state) return;
  TIPHYS_CHECK(*state == *alone, "it does not matter what a state was made from");
  TIPHYS_CHECK(read_state(state->to_tree(), {}) == state, "a state is read as it was written");
  static_cast<void>(check_config_names(*state, base));
}

Tree step(const Tree& tree, std::string_view line) {
  if (line.empty()) return tree;
  const std::string_view rest = line.substr(1);
  const std::size_t space = std::min(rest.find(' '), rest.size());
  if (line.front() == '=') {
    const Path path = parse_path(rest.substr(0, space));
    const Tree value = value_of(tree, rest.substr(std::min(space + 1, rest.size())));
    for (const auto empties : {Empties::kOmit, Empties::kKeep}) {
      const auto changed = set(tree, path, value, empties);
      if (!changed || !is_bearable(*changed)) return tree;
      TIPHYS_CHECK(get(*changed, path) == value, "what was written is read back");
      check_difference(tree, *changed);
      if (empties == Empties::kKeep) return *changed;
    }
  }
  if (line.front() == '-') {
    const auto changed = remove(tree, parse_path(rest), Empties::kKeep);
    if (!changed) return tree;
    TIPHYS_CHECK(!get(*changed, parse_path(rest)), "what was removed is gone");
    check_difference(tree, *changed);
    return *changed;
  }
  check_selection(tree, parse_path(rest));
  return tree;
}

}  // namespace
}  // namespace tiphys

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tiphys;
  static const State base = first_state();
  Tree tree = first_tree(base);
  std::size_t steps = 0;
  for (const auto line : split({reinterpret_cast<const char*>(data), size}, '\n')) {
    if (++steps > kMaxSteps) break;
    const Tree next = step(tree, line);
    if (!next.same_as(tree)) check_state(next, base);
    tree = next;
  }
  return 0;
}
