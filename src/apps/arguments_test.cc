#include "apps/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/test_environment.h"
#include "base/strings.h"
#include "base/version.h"

namespace tiphys::apps {
namespace {

using Words = std::vector<std::string>;

const Program kProgram{
    .name = "prog",
    .purpose = "Does things.",
    .options = {{.letter = 'a',
                 .name = "address",
                 .value = "<IP:PORT>",
                 .variable = "PROG_ADDRESS",
                 .help = "Where it is",
                 .fallback = "here",
                 .hidden_letter = 'z',
                 .hidden_name = "place"},
                {.letter = 'k', .name = "insecure", .variable = "PROG_INSECURE", .help = "Unsafe"},
                {.letter = 't',
                 .name = "tag",
                 .value = "<TAG>",
                 .help = "A tag that has so long an explanation that it does not fit into one line "
                         "of a terminal",
                 .repeatable = true}}};

// "address=...; insecure=...; tag=..." of what was given, or the first line of why not.
std::string read(const Words& words, const std::map<std::string, std::string>& environment = {}) {
  const auto arguments = read_arguments(kProgram, words, environment_of(environment));
  if (!arguments) return std::string(split(arguments.error().text, '\n').front());
  Words given;
  for (const char* name : {"address", "insecure", "tag"})
    if (const auto values = arguments->values(name); !values.empty())
      given.push_back(concat(name, "=", join(values, ",")));
  return join(given, "; ");
}

TEST(Arguments, AreReadInAllTheFormsThatUsersKnow) {
  for (const auto& [words, expected] : std::vector<std::pair<Words, std::string>>{
           {{}, ""},
           {{"--address", "x", "--insecure"}, "address=x; insecure=true"},
           {{"--address=x=y"}, "address=x=y"},
           {{"--address="}, "address="},
           {{"-a", "x", "-k"}, "address=x; insecure=true"},
           {{"-ka", "x"}, "address=x; insecure=true"},
           {{"-kax"}, "address=x; insecure=true"},
           {{"-a=x"}, "address=x"},
           {{"-a", "-"}, "address=-"},
           {{"-t", "1", "--tag", "2", "-t3"}, "tag=1,2,3"},
           {{"-z", "x"}, "address=x"},
           {{"--place", "x"}, "address=x"}})
    EXPECT_EQ(read(words), expected);
}

TEST(Arguments, WinOverTheEnvironment) {
  EXPECT_EQ(read({}, {{"PROG_ADDRESS", "x"}, {"PROG_INSECURE", "true"}}),
            "address=x; insecure=true");
  EXPECT_EQ(read({"-a", "y", "-k"}, {{"PROG_ADDRESS", "x"}, {"PROG_INSECURE", "false"}}),
            "address=y; insecure=true");
  EXPECT_EQ(read({}, {{"PROG_ADDRESS", ""}}), "");
  const auto off = read_arguments(kProgram, {}, environment_of({{"PROG_INSECURE", "false"}}));
  ASSERT_TRUE(off);
  EXPECT_EQ(off->is_on("insecure"), false);
}

TEST(Arguments, ThatNobodyUnderstandsAreNamed) {
  for (const auto& [words, expected] : std::vector<std::pair<Words, std::string>>{
           {{"--nonsense"}, "error: unexpected argument '--nonsense' found"},
           {{"--nonsense=5"}, "error: unexpected argument '--nonsense' found"},
           {{"-q"}, "error: unexpected argument '-q' found"},
           {{"-kq"}, "error: unexpected argument '-q' found"},
           {{"word"}, "error: unexpected argument 'word' found"},
           {{"--"}, "error: unexpected argument '--' found"},
           {{"-"}, "error: unexpected argument '-' found"},
           {{""}, "error: unexpected argument '' found"},
           {{"-a"}, "error: a value is required for '--address <IP:PORT>' but none was supplied"},
           {{"-a", "-k"},
            "error: a value is required for '--address <IP:PORT>' but none was supplied"},
           {{"--insecure=true"},
            "error: unexpected value 'true' for '--insecure' found; no more were expected"},
           {{"-a", "x", "-a", "y"},
            "error: the argument '--address <IP:PORT>' cannot be used multiple times"},
           {{"-kk"}, "error: the argument '--insecure' cannot be used multiple times"}})
    EXPECT_EQ(read(words), expected);
  EXPECT_EQ(read({}, {{"PROG_INSECURE", "yes"}}), "error: invalid value 'yes' for '--insecure'");
  EXPECT_EQ(read({}, {{"PROG_INSECURE", ""}}),
            "error: a value is required for '--insecure' but none was supplied");
}

TEST(Arguments, AMistakeEndsTheProgramWithItsUsage) {
  const auto arguments = read_arguments(kProgram, {"-q"}, environment_of({}));
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error(), (Stop{Stop::Kind::kUsage,
                                     "error: unexpected argument '-q' found\n"
                                     "\n"
                                     "Usage: prog [OPTIONS]\n"
                                     "\n"
                                     "For more information, try '--help'.\n"}));
  EXPECT_EQ(exit_code(Stop::Kind::kUsage), 2);
  EXPECT_EQ(exit_code(Stop::Kind::kAnswer), 0);
  EXPECT_EQ(exit_code(Stop::Kind::kFatal), 1);
}

TEST(Arguments, AWrongValueEndsTheProgramWithWhatIsPossible) {
  const auto text_of = [](const Words& words, const std::string& variable) {
    const auto arguments =
        read_arguments(kProgram, words, environment_of({{"PROG_INSECURE", variable}}));
    return arguments ? "they were read" : arguments.error().text;
  };
  EXPECT_EQ(text_of({"-a"}, "true"),
            "error: a value is required for '--address <IP:PORT>' but none was supplied\n"
            "\n"
            "For more information, try '--help'.\n");
  EXPECT_EQ(text_of({}, "1"),
            "error: invalid value '1' for '--insecure'\n"
            "  [possible values: true, false]\n"
            "\n"
            "For more information, try '--help'.\n");
  EXPECT_EQ(text_of({"--insecure=true"}, "true"),
            "error: unexpected value 'true' for '--insecure' found; no more were expected\n"
            "\n"
            "Usage: prog --insecure\n"
            "\n"
            "For more information, try '--help'.\n");
}

TEST(Arguments, TheVersionIsTheSecondWord) {
  for (const char* word : {"-V", "--version"}) {
    const auto arguments = read_arguments(kProgram, {word}, environment_of({}));
    ASSERT_FALSE(arguments);
    EXPECT_EQ(arguments.error(), (Stop{Stop::Kind::kAnswer, concat("prog ", kVersion, "\n")}));
  }
}

TEST(Arguments, TheHelpShowsEveryOptionWithVariableAndDefault) {
  for (const char* word : {"-h", "--help"}) {
    const auto arguments = read_arguments(kProgram, {"-k", word, "-q"}, environment_of({}));
    ASSERT_FALSE(arguments);
    EXPECT_EQ(arguments.error().kind, Stop::Kind::kAnswer);
    EXPECT_EQ(arguments.error().text, R"(Does things.

Usage: prog [OPTIONS]

Options:
  -a, --address <IP:PORT>         Where it is
                                  [env: PROG_ADDRESS] [default: here]
  -k, --insecure                  Unsafe
                                  [env: PROG_INSECURE]
  -t, --tag <TAG>                 A tag that has so long an explanation that it does not fit into
                                  one line of a terminal (may be given several times)
  -h, --help                      Print this help
  -V, --version                   Print the version

Environment:
  TIPHYS_LOG                      Which lines are logged: off, error, warn, info, debug or trace,
                                  for all or by target (warn,ank_server=debug). RUST_LOG counts when
                                  it is not set [default: info]
  NO_COLOR                        Log without colours, as RUST_LOG_STYLE=never does
)");
  }
}

}  // namespace
}  // namespace tiphys::apps
