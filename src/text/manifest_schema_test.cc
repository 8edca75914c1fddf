#include "text/manifest_schema.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "model/path.h"
#include "text/json.h"
#include "text/manifest_fields.h"

namespace tiphys {
namespace {

Tree schema() { return parse_json(manifest_schema()).value(); }

void visit(const Tree& tree, const std::function<void(const Tree&)>& see) {
  see(tree);
  if (const auto* list = tree.list())
    for (const auto& item : *list) visit(item, see);
  if (tree.is_map())
    tree.entries().for_each([&](const std::string&, const Tree& below) { visit(below, see); });
}

Tree at(const std::string& path) {
  const auto found = get(schema(), parse_path(path));
  EXPECT_TRUE(found.has_value()) << path;
  return found.value_or(Tree());
}

TEST(ManifestSchema, IsAlwaysTheSame) { EXPECT_EQ(manifest_schema(), manifest_schema()); }

TEST(ManifestSchema, SaysWhatItIs) {
  EXPECT_EQ(at("$schema"), Tree("http://json-schema.org/draft-07/schema#"));
  EXPECT_EQ(at("title"), Tree("desiredState"));
  EXPECT_TRUE(manifest_schema().starts_with("{\n  \"$schema\""));
  EXPECT_TRUE(manifest_schema().ends_with("}\n"));
}

TEST(ManifestSchema, DefinesWhatItRefersTo) {
  const auto definitions = schema().child("definitions").value();
  std::set<std::string> used;
  visit(schema(), [&](const Tree& tree) {
    if (const auto target = tree.child("$ref")) {
      ASSERT_NE(target->string(), nullptr);
      EXPECT_EQ(tree.entries().size(), 1U) << "nothing counts beside a reference";
      used.insert(target->string()->substr(std::string("#/definitions/").size()));
    }
  });
  std::set<std::string> defined;
  definitions.entries().for_each(
      [&](const std::string& name, const Tree&) { defined.insert(name); });
  EXPECT_EQ(used, defined);
  EXPECT_EQ(defined,
            (std::set<std::string>{"accessRightsRule", "addCondition", "configItem", "configMap",
                                   "controlInterfaceAccess", "file", "logRule", "readWriteEnum",
                                   "restartPolicy", "stateRule", "workload", "workloadMap"}));
}

TEST(ManifestSchema, HasTheRulesOfTheDescription) {
  EXPECT_EQ(at("required"), Tree(Tree::List{"apiVersion"}));
  EXPECT_EQ(at("definitions.workload.required"), Tree(Tree::List{"runtime", "runtimeConfig"}));
  EXPECT_EQ(at("definitions.workloadMap.type"), Tree(Tree::List{"object", "null"}));
  EXPECT_EQ(at("definitions.workloadMap.propertyNames.maxLength"), Tree(63U));
  EXPECT_EQ(at("definitions.restartPolicy.enum"),
            Tree(Tree::List{"NEVER", "ON_FAILURE", "ALWAYS"}));
  EXPECT_EQ(at("definitions.restartPolicy.default"), Tree("NEVER"));
  EXPECT_EQ(at("definitions.stateRule.required"), Tree(Tree::List{"operation", "filterMasks"}));
  EXPECT_EQ(at("definitions.configItem.additionalProperties.$ref"),
            Tree("#/definitions/configItem"));
}

TEST(ManifestSchema, GivesEditorsHelpForEveryField) {
  std::size_t descriptions = 0;
  visit(schema(), [&](const Tree& tree) {
    const auto properties = tree.child("properties");
    if (!properties || !tree.child("description")) return;
    properties->entries().for_each([&](const std::string& key, const Tree& property) {
      const bool refers = property.child("$ref").has_value();
      EXPECT_TRUE(refers || property.child("description").has_value()) << key;
      ++descriptions;
    });
  });
  EXPECT_GT(descriptions, 15U);
}

}  // namespace
}  // namespace tiphys
