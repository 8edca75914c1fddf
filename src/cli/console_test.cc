#include "cli/console.h"

#include <gtest/gtest.h>

#include "cli/ank.h"
#include "cli/test_console.h"

namespace tiphys::cli {
namespace {

// What stock shows on a terminal for the same words.
TEST(Console, ColoursUsageErrorsWhereColoursAreWanted) {
  const std::string text =
      "unrecognized subcommand 'gte'\n\n  tip: a similar subcommand exists: 'get'\n\n"
      "Usage: ank [OPTIONS] <COMMAND>\n\nFor more information, try '--help'.\n";
  RecordingConsole plain;
  plain.usage_error(text);
  EXPECT_EQ(plain.err, "error: " + text);
  RecordingConsole coloured;
  coloured.choose_colours(Colours::kAlways);
  coloured.usage_error(text);
  EXPECT_EQ(coloured.err,
            "\x1b[1m\x1b[31merror:\x1b[0m unrecognized subcommand '\x1b[33mgte\x1b[0m'\n\n"
            "  \x1b[32mtip:\x1b[0m a similar subcommand exists: '\x1b[32mget\x1b[0m'\n\n"
            "\x1b[1m\x1b[4mUsage:\x1b[0m \x1b[1mank\x1b[0m [OPTIONS] <COMMAND>\n\n"
            "For more information, try '\x1b[1m--help\x1b[0m'.\n");
}

TEST(Console, TheCommandLineDecidesAboutColours) {
  for (const auto& [choice, on_terminal, expected] :
       std::vector<std::tuple<const char*, bool, bool>>{{"auto", true, true},
                                                        {"auto", false, false},
                                                        {"always", true, true},
                                                        {"always", false, true},
                                                        {"never", true, false}}) {
    SCOPED_TRACE(choice);
    RecordingConsole console = on_terminal ? RecordingConsole(80) : RecordingConsole();
    // A warning, because HOME is not there; then an error.
    run_ank({"--color", choice, "-k", "-s", "nonsense", "get", "agents"}, {}, console);
    EXPECT_EQ(console.out.starts_with("\x1b[38;5;11mwarn:\x1b[39m "), expected) << console.out;
    EXPECT_EQ(console.err.starts_with("\x1b[38;5;9m\x1b[1merror:\x1b[0m "), expected)
        << console.err;
  }
}

}  // namespace
}  // namespace tiphys::cli
