#include "io/host/log_filter.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

namespace tiphys::host {
namespace {

using shell::Level;

// The least urgent level that is shown, as a letter; "-" if nothing is.
std::string shown(const LogFilter& filter, std::string_view target) {
  std::string last = "-";
  for (const auto& [level, letter] : {std::pair{Level::kError, "E"},
                                      {Level::kWarn, "W"},
                                      {Level::kInfo, "I"},
                                      {Level::kDebug, "D"},
                                      {Level::kTrace, "T"}}) {
    if (!filter.shows(level, target)) break;
    last = letter;
  }
  return last;
}

TEST(LogFilter, ReadsDirectivesAsUsersOfRustProgramsWriteThem) {
  for (const auto& [text, server, grpc] : std::vector<std::tuple<std::string, char, char>>{
           {"", 'I', 'I'},
           {"debug", 'D', 'D'},
           {"DEBUG", 'D', 'D'},
           {"off", '-', '-'},
           {"trace", 'T', 'T'},
           {"ank_server=trace,grpc=off", 'T', '-'},
           {"ank_server", 'T', '-'},
           {"ank_server=", 'T', '-'},
           {"=warn", 'W', 'W'},
           {"error,ank_server=debug", 'D', 'E'},
           {"ank_server=debug,error", 'D', 'E'},
           {"ank=warn,ank_server=debug", 'D', '-'},
           {"ank_server=debug,ank=warn", 'D', '-'},
           {"ank=warn", 'W', '-'},
           {"info,warn", 'W', 'W'},
           {" info , ank_server = error ,", 'E', 'I'},
       }) {
    SCOPED_TRACE(text);
    const auto parsed = LogFilter::parse(text);
    EXPECT_TRUE(parsed.warnings.empty());
    EXPECT_EQ(shown(parsed.filter, "ank_server"), std::string(1, server));
    EXPECT_EQ(shown(parsed.filter, "grpc"), std::string(1, grpc));
  }
}

TEST(LogFilter, LeavesOutWhatItCannotReadAndSaysSo) {
  const auto parsed = LogFilter::parse("ank_server=loud,debug,a=b=c");
  EXPECT_EQ(shown(parsed.filter, "ank_server"), "D");
  EXPECT_EQ(parsed.warnings,
            (std::vector<std::string>{
                "invalid logging spec 'ank_server=loud', ignoring it: a level is off, error, warn, "
                "info, debug or trace",
                "invalid logging spec 'a=b=c', ignoring it: a level is off, error, warn, info, "
                "debug or trace"}));
  EXPECT_EQ(shown(LogFilter::parse("ank_server=loud").filter, "ank_server"), "I");
}

TEST(LogFilter, FiltersNoMessages) {
  const auto parsed = LogFilter::parse("debug/foo.*");
  EXPECT_EQ(shown(parsed.filter, "ank_server"), "D");
  EXPECT_EQ(parsed.warnings,
            std::vector<std::string>{"invalid logging spec '/foo.*', ignoring it: a filter on "
                                     "messages is not supported by this version"});
}

LogSettings settings_of(const std::map<std::string, std::string>& environment, bool is_terminal) {
  return log_settings(
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? std::optional<std::string>() : found->second;
      },
      is_terminal);
}

TEST(LogSettings, OurVariableWinsOverThatOfRust) {
  EXPECT_EQ(shown(settings_of({}, false).filter, "ank_server"), "I");
  EXPECT_EQ(shown(settings_of({{"RUST_LOG", "warn"}}, false).filter, "ank_server"), "W");
  EXPECT_EQ(shown(settings_of({{"RUST_LOG", "warn"}, {"TIPHYS_LOG", "debug"}}, false).filter,
                  "ank_server"),
            "D");
  EXPECT_EQ(
      shown(settings_of({{"RUST_LOG", "warn"}, {"TIPHYS_LOG", ""}}, false).filter, "ank_server"),
      "W");
}

TEST(LogSettings, AWarningNamesTheVariable) {
  EXPECT_EQ(settings_of({{"RUST_LOG", "x=y"}}, false).warnings,
            std::vector<std::string>{"RUST_LOG: invalid logging spec 'x=y', ignoring it: a level "
                                     "is off, error, warn, info, debug or trace"});
}

TEST(LogSettings, ColoursAreForTerminalsUnlessAskedForOtherwise) {
  for (const auto& [environment, terminal, expected] :
       std::vector<std::tuple<std::map<std::string, std::string>, bool, bool>>{
           {{}, true, true},
           {{}, false, false},
           {{{"NO_COLOR", "1"}}, true, false},
           {{{"NO_COLOR", ""}}, true, true},
           {{{"TERM", "dumb"}}, true, false},
           {{{"RUST_LOG_STYLE", "never"}}, true, false},
           {{{"RUST_LOG_STYLE", "always"}}, false, true},
           {{{"RUST_LOG_STYLE", "auto"}}, false, false},
       })
    EXPECT_EQ(settings_of(environment, terminal).colours, expected);
}

}  // namespace
}  // namespace tiphys::host
