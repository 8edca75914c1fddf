#include "apps/docs/man_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "apps/agent_options.h"
#include "apps/server_options.h"
#include "base/strings.h"
#include "cli/command_table.h"
#include "text/manifest_fields.h"

namespace tiphys::apps {
namespace {

// The page as a reader sees its characters.
std::string page(const std::string& file) {
  for (const auto& candidate : man_pages("2026-01-31")) {
    if (file_name(candidate) != file) continue;
    std::string text = candidate.text;
    for (const std::string_view mark : {"\\fB", "\\fR", "\\"}) {
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
        text.erase(at, mark.size());
    }
    return text;
  }
  ADD_FAILURE() << "there is no page " << file;
  return {};
}

bool has_entry(const std::string& text, std::string_view term) {
  return text.find(concat(".TP\n", term)) != std::string::npos;
}

TEST(ManPages, AreThereForEveryCommandWithAllOfItsOptions) {
  const std::function<void(const cli::CommandSpec&, const std::string&)> visit =
      [&](const cli::CommandSpec& command, const std::string& path) {
        std::string name = path;
        std::replace(name.begin(), name.end(), ' ', '-');
        const std::string text = page(name + ".1");
        SCOPED_TRACE(name);
        for (const auto& option : command.options) {
          const std::string letter = concat("-", std::string(1, option.letter));
          const std::string word = concat("--", option.name);
          const std::string term = option.letter == 0    ? word
                                   : option.name.empty() ? letter
                                                         : concat(letter, ", ", word);
          EXPECT_TRUE(has_entry(text, term)) << term;
        }
        for (const auto& argument : command.arguments)
          EXPECT_TRUE(has_entry(text, argument.label)) << argument.label;
        for (const auto& below : command.commands) {
          EXPECT_TRUE(has_entry(text, concat(name, "-", below.name, "(1)")));
          visit(below, concat(path, " ", below.name));
        }
      };
  visit(cli::command_table(), "ank");
}

TEST(ManPages, AreThereForEveryProgramWithAllOfItsOptions) {
  for (const auto* program : {&server_program(), &agent_program()}) {
    const std::string text = page(concat(program->name, ".8"));
    for (const auto& option : program->options) {
      EXPECT_NE(text.find(concat("--", option.name)), std::string::npos) << option.name;
      EXPECT_TRUE(option.variable.empty() || has_entry(text, option.variable)) << option.name;
    }
  }
}

TEST(ManPages, DescribeEveryFieldOfManifests) {
  const std::string text = page("ank-manifest.5");
  const std::function<void(const FieldSpec&)> visit = [&](const FieldSpec& field) {
    const bool has_key = !field.name.empty() && !field.name.starts_with('<');
    EXPECT_TRUE(!has_key || has_entry(text, concat(field.name, "\n"))) << field.name;
    for (const auto& word : field.words)
      EXPECT_NE(text.find(word.word), std::string::npos) << word.word;
    for (const auto& below : field.below) visit(below);
  };
  visit(manifest_fields());
}

TEST(ManPages, HaveNamesOfTheirOwnAndReferToEachOther) {
  std::set<std::string> names;
  const auto pages = man_pages("2026-01-31");
  for (const auto& each : pages)
    EXPECT_TRUE(names.insert(concat(each.name, "(", std::to_string(each.section), ")")).second);
  for (const auto& each : pages) {
    const std::string text = page(file_name(each));
    const std::string_view heading = ".SH SEE ALSO\n";
    ASSERT_NE(text.find(heading), std::string::npos) << each.name;
    std::string others = text.substr(text.find(heading) + heading.size());
    std::replace(others.begin(), others.end(), '\n', ' ');
    for (const auto other : split(trim(others), ' ')) {
      const std::string name(other.substr(0, other.find(')') + 1));
      EXPECT_TRUE(names.contains(name)) << each.name << " refers to " << name;
    }
  }
  for (const auto* name : {"ank.conf(5)", "ank-server.conf(5)", "ank-agent.conf(5)"})
    EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace tiphys::apps
