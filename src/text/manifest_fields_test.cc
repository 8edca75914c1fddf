#include "text/manifest_fields.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <regex>
#include <set>

#include "base/strings.h"
#include "model/access_rules.h"
#include "model/workload.h"
#include "text/manifest.h"
#include "text/yaml.h"

namespace tiphys {
namespace {

using Kind = FieldSpec::Kind;

// Every field with its path.
void visit(const FieldSpec& field, const std::string& path,
           const std::function<void(const FieldSpec&, const std::string&)>& see) {
  see(field, path);
  for (const auto& below : field.below)
    visit(below, path.empty() ? std::string(below.name) : concat(path, ".", below.name), see);
}

std::set<const TextRule*> all_rules() {
  std::set<const TextRule*> rules;
  visit(manifest_fields(), "", [&](const FieldSpec& field, const std::string&) {
    if (field.rule != nullptr) rules.insert(field.rule);
  });
  return rules;
}

const FieldSpec& field_at(std::initializer_list<std::string_view> names) {
  const FieldSpec* field = &manifest_fields();
  for (const auto name : names) {
    while (field->kind == Kind::kMap || field->kind == Kind::kList) field = &field->below.front();
    field = field->find(name);
  }
  return *field;
}

std::set<std::string> words_of(const FieldSpec& field) {
  std::set<std::string> words;
  for (const auto& word : field.words) words.emplace(word.word);
  return words;
}

TEST(ManifestFields, SayWhatEverythingIsFor) {
  visit(manifest_fields(), "", [](const FieldSpec& field, const std::string& path) {
    EXPECT_FALSE(field.summary.empty()) << path;
    EXPECT_FALSE(field.summary.ends_with('.')) << path;
    EXPECT_EQ(field.kind == Kind::kWord, !field.words.empty()) << path;
    EXPECT_EQ(field.kind == Kind::kMap || field.kind == Kind::kList || field.kind == Kind::kObject,
              !field.below.empty())
        << path;
    EXPECT_FALSE(field.is_required && !field.fallback.empty()) << path;
    // What stands in a list or below a key of the author's is shown in the example of its parent.
    const bool has_key = !field.name.empty() && !field.name.starts_with('<');
    EXPECT_FALSE(has_key && field.example.empty()) << path;
    for (const auto key : field.needs_one_of) EXPECT_NE(field.find(key), nullptr) << path;
  });
}

TEST(ManifestFields, ExamplesAreYamlOfTheField) {
  visit(manifest_fields(), "", [](const FieldSpec& field, const std::string& path) {
    if (field.example.empty()) return;
    const auto parsed = parse_yaml(field.example);
    ASSERT_TRUE(parsed.has_value()) << path << to_string(parsed.error());
    ASSERT_EQ(parsed->kind, YamlNode::Kind::kMap) << path;
    const bool has_key = !field.name.empty() && !field.name.starts_with('<');
    if (has_key) {
      EXPECT_EQ(parsed->entries.size(), 1U) << path;
      EXPECT_EQ(parsed->entries.front().key, field.name) << path;
    }
  });
}

// The pattern is for tools, the function for us: no text may tell them apart.
TEST(ManifestFields, APatternSaysTheSameAsItsFunction) {
  EXPECT_EQ(all_rules().size(), 4U);
  const auto piece = rc::gen::element<std::string>("a", "Z", "0", "_", "-", ".", "*", "{{", "}}",
                                                   "{", " ", "\xc3\xa4", "name");
  const auto text =
      rc::gen::map(rc::gen::resize(10, rc::gen::container<std::vector<std::string>>(piece)),
                   [](const std::vector<std::string>& pieces) { return join(pieces, ""); });
  for (const auto* rule : all_rules()) {
    SCOPED_TRACE(rule->pattern);
    const std::regex pattern{std::string(rule->pattern)};
    const auto agree = [&](const std::string& sample) {
      const bool has_length = sample.size() >= rule->min_length &&
                              (rule->max_length == 0 || sample.size() <= rule->max_length);
      return rule->fits(sample) == (has_length && std::regex_search(sample, pattern));
    };
    EXPECT_TRUE(rc::check([&] { RC_ASSERT(agree(*text)); }));
    for (const auto* sample :
         {"",     "a",    "*",      "**",     "a*",  "*a",    "a*b",   "a*b*",
          "a.b",  "a..b", ".",      "a.",     "*.*", "a.*.b", "{{a}}", "x{{a.b}}y{{c}}",
          "{{}}", "{{a",  "{{a.}}", "{{.a}}", "a}}"})
      EXPECT_TRUE(agree(sample)) << sample;
    for (const std::size_t size : {62U, 63U, 64U, 65U, 10'000U})
      EXPECT_TRUE(agree(std::string(size, 'a'))) << size;
  }
}

TEST(ManifestFields, TheWordsAreThoseOfTheModel) {
  for (const auto& word : words_of(field_at({"workloads", "restartPolicy"})))
    EXPECT_TRUE(parse_restart_policy(word)) << word;
  for (const auto& word : words_of(field_at({"workloads", "dependencies"}).below.front()))
    EXPECT_TRUE(parse_add_condition(word)) << word;
  for (const auto& word :
       words_of(field_at({"workloads", "controlInterfaceAccess", "allowRules", "operation"})))
    EXPECT_TRUE(parse_operation(word)) << word;
  EXPECT_EQ(words_of(field_at({"workloads", "restartPolicy"})).size(), 3U);
}

// The reader of manifests knows every field, and says so of one that it does not.
TEST(ManifestFields, AreReadByTheReaderOfManifests) {
  const auto warnings = [](const std::string& field) {
    std::string text = "apiVersion: v1\nworkloads:\n  w:\n    agent: a\n";
    for (const std::string_view needed : {"runtime", "runtimeConfig"})
      if (!field.starts_with(concat(needed, ":"))) text += concat("    ", needed, ": x\n");
    if (field.starts_with("agent:")) text = text.replace(text.find("    agent: a\n"), 13, "");
    for (const auto line : split(field, '\n')) text += concat("    ", line, "\n");
    const auto manifest = parse_manifest(text, "m");
    return manifest ? manifest->warnings : std::vector{to_string(manifest.error())};
  };
  EXPECT_EQ(warnings("unknown: x").size(), 1U);
  for (const auto& field : fields_within(field_at({"workloads"})))
    EXPECT_EQ(warnings(std::string(field.example)), std::vector<std::string>()) << field.name;
}

TEST(ManifestFields, AComplaintNamesTheTextAndTheRule) {
  const TextRule& name = *field_at({"workloads"}).rule;
  EXPECT_EQ(complaint(name, "a b"),
            "'a b' is no name. Only a-z, A-Z, 0-9 chars, underscore (_), and hyphen (-) allowed. "
            "Maximum length is 63 characters.");
  EXPECT_EQ(complaint(name, ""), "a name must not be empty");
}

}  // namespace
}  // namespace tiphys
