#include "cli/command_table.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/strings.h"
#include "cli/options.h"

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

// Every command with its path, those that only have others below them included.
void visit(const CommandSpec& command, const Words& path,
           const std::function<void(const CommandSpec&, const Words&)>& see) {
  see(command, path);
  for (const auto& below : command.commands) {
    Words longer = path;
    longer.emplace_back(below.name);
    visit(below, longer, see);
  }
}

std::string path_text(const Words& words) {
  return words.empty() ? "ank" : concat("ank ", join(words, " "));
}

TEST(CommandTable, EveryCommandShowsItsHelp) {
  visit(command_table(), {}, [](const CommandSpec& command, const Words& path) {
    Words words = path;
    words.emplace_back("--help");
    const auto printed = std::get<Printout>(parse_command_line(words, {}));
    EXPECT_EQ(printed.kind, Printout::Kind::kHelp);
    EXPECT_EQ(printed.text, help_of(path_text(path), command));
    EXPECT_NE(printed.text.find(concat("Usage: ", path_text(path))), std::string::npos);
  });
}

TEST(CommandTable, SaysWhatEverythingIsFor) {
  visit(command_table(), {}, [](const CommandSpec& command, const Words& path) {
    EXPECT_FALSE(command.summary.empty()) << path_text(path);
    EXPECT_FALSE(command.summary.ends_with('.')) << path_text(path);
    for (const auto& option : command.options) {
      EXPECT_FALSE(option.help.empty()) << path_text(path) << " --" << option.name;
      EXPECT_TRUE(option.letter != 0 || !option.name.empty()) << path_text(path);
      EXPECT_TRUE(!option.is_required || !option.name.empty()) << path_text(path);
    }
    for (const auto& argument : command.arguments)
      EXPECT_FALSE(argument.help.empty()) << path_text(path) << " " << argument.label;
  });
}

// So that they can be read with any locale.
TEST(CommandTable, HelpIsPlainAscii) {
  visit(command_table(), {}, [](const CommandSpec& command, const Words& path) {
    for (const char c : help_of(path_text(path), command))
      EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << path_text(path);
  });
}

// The parser must know how a word is to be read before it knows the command.
TEST(CommandTable, NoLetterOrNameIsAFlagHereAndTakesAValueThere) {
  std::map<std::string, bool> takes_value;
  visit(command_table(), {}, [&](const CommandSpec& command, const Words& path) {
    for (const auto& option : command.options)
      for (const std::string& name :
           {std::string(option.letter == 0 ? 0 : 1, option.letter), std::string(option.name)}) {
        if (name.empty()) continue;
        const bool takes = !option.value.empty();
        EXPECT_EQ(takes_value.emplace(name, takes).first->second, takes)
            << path_text(path) << " " << name;
      }
  });
}

TEST(CommandTable, ExamplesAreCommandLines) {
  visit(command_table(), {}, [](const CommandSpec& command, const Words& path) {
    for (const auto& example : command.examples) {
      EXPECT_TRUE(example.words.starts_with(path_text(path))) << example.words;
      EXPECT_FALSE(example.what.ends_with('.')) << example.what;
    }
  });
}

TEST(CommandTable, ShowsUsage) {
  const auto usage = [](std::string_view path, const Words& names) {
    const CommandSpec* command = &command_table();
    for (const auto& name : names)
      for (const auto& below : command->commands)
        if (below.name == name) {
          command = &below;
          break;
        }
    return usage_of(path, *command);
  };
  EXPECT_EQ(usage("ank", {}), "ank [OPTIONS] <COMMAND>");
  EXPECT_EQ(usage("ank get", {"get"}), "ank get <COMMAND>");
  EXPECT_EQ(usage("ank get state", {"get", "state"}),
            "ank get state [OPTIONS] [OBJECT_FIELD_MASK]...");
  EXPECT_EQ(usage("ank set state", {"set", "state"}),
            "ank set state <OBJECT_FIELD_MASK>... <STATE_OBJECT_FILE>");
  EXPECT_EQ(usage("ank run workload", {"run", "workload"}),
            "ank run workload [OPTIONS] --runtime <RUNTIME_NAME> --config <RUNTIME_CONFIG> --agent "
            "<AGENT_NAME> <WORKLOAD_NAME>");
}

}  // namespace
}  // namespace tiphys::cli
