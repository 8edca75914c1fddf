#include "core/server/conversion.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "model/state.h"

namespace tiphys::server {
namespace {

// The levels, outermost first, around the offence.
std::string within(const std::vector<std::string>& levels, const std::string& offence) {
  std::string text;
  std::string end;
  for (const auto& level : levels) {
    text += concat("Cannot convert field '", level, "' to spec object: '");
    end += "'.";
  }
  return concat(text, offence, end);
}

Tree::Map one(std::string key, Tree value) {
  return Tree::Map().set(std::move(key), std::move(value));
}

Tree::Map workload() {
  return Tree::Map().set("agent", "A").set("runtime", "podman").set("runtimeConfig", "image: a");
}

// What is said about a state with this part.
std::string text_of(const std::string& part, const Tree& value) {
  const Tree state = Tree::Map().set("apiVersion", "v1").set(part, value);
  const auto read = read_state(state, Path{{"desiredState"}});
  return read ? "it can be read" : conversion_text(read.error());
}

TEST(ConversionText, NamesEveryLevelOfAWorkload) {
  const std::vector<std::string> levels{"desired_state", "workloads", "workloads"};
  const auto below = [&](std::vector<std::string> more, const std::string& offence) {
    more.insert(more.begin(), levels.begin(), levels.end());
    return within(more, offence);
  };
  const auto with = [](const char* key, Tree value) {
    return workload().set(key, std::move(value));
  };
  const Tree number(std::uint64_t{9});
  const auto rules = [&](const Tree& rule) { return one("denyRules", Tree::List{rule}); };
  for (const auto& [given, expected] : std::vector<std::pair<Tree, std::string>>{
           {Tree::Map(), below({}, "Missing field 'agent'")},
           {one("agent", "A"), below({}, "Missing field 'runtime'")},
           {one("agent", "A").set("runtime", "r"), below({}, "Missing field 'runtime_config'")},
           {with("restartPolicy", number),
            below({"restart_policy"}, "unknown enumeration value 9")},
           {with("dependencies", one("x", number)),
            below({"dependencies", "dependencies"}, "unknown enumeration value 9")},
           {with("controlInterfaceAccess", rules(one("type", "StateRule")
                                                     .set("operation", number)
                                                     .set("filterMasks", Tree::List{"a"}))),
            below({"control_interface_access", "access_rights_rule_enum", "operation"},
                  "unknown enumeration value 9")},
           {with("controlInterfaceAccess", rules(Tree::Map())),
            below({"control_interface_access"}, "Missing field 'access_rights_rule_enum'")},
           {with("files", Tree::List{one("mountPoint", "/x")}),
            below({"files"}, "Missing field 'file_content'")},
       })
    EXPECT_EQ(text_of("workloads", one("w", given)), expected);
}

TEST(ConversionText, NamesEveryLevelOfAConfigItem) {
  const std::string missing = "Missing field 'config_item_enum'";
  const Tree nothing;
  for (const auto& [item, levels] : std::vector<std::pair<Tree, std::vector<std::string>>>{
           {nothing, {}},
           {Tree::List{"a", nothing}, {"config_item_enum"}},
           {one("key", nothing), {"config_item_enum", "fields"}},
           {Tree::List{one("key", nothing)}, {"config_item_enum", "config_item_enum", "fields"}},
       }) {
    std::vector<std::string> all{"desired_state", "configs", "configs"};
    all.insert(all.end(), levels.begin(), levels.end());
    EXPECT_EQ(text_of("configs", one("c", item)), within(all, missing));
  }
}

TEST(ConversionText, HasNoLevelAboveTheState) {
  EXPECT_EQ(conversion_text({Path{}, "missing field `desiredState`"}),
            "Missing field 'desired_state'");
  EXPECT_EQ(conversion_text({Path{{"agents", "agents"}}, "missing field `tags`"}),
            within({"agents", "agents"}, "Missing field 'tags'"));
}

}  // namespace
}  // namespace tiphys::server
