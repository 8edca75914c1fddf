#include "cli/options.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/strings.h"

namespace tiphys::cli {
namespace {

using Words = std::vector<std::string>;

Invocation parsed(Words words, const Environment& environment = {}) {
  auto result = parse_command_line(std::move(words), environment);
  if (const auto* printout = std::get_if<Printout>(&result)) ADD_FAILURE() << printout->text;
  return std::get<Invocation>(result);
}

template <class T>
T command(Words words) {
  return std::get<T>(parsed(std::move(words)).command);
}

Printout printed(Words words, const Environment& environment = {}) {
  return std::get<Printout>(parse_command_line(std::move(words), environment));
}

// The first line of what is wrong.
std::string offence(Words words, const Environment& environment = {}) {
  const Printout printout = printed(std::move(words), environment);
  EXPECT_EQ(printout.kind, Printout::Kind::kUsageError);
  return printout.text.substr(0, printout.text.find('\n'));
}

TEST(Options, ReadEveryCommand) {
  EXPECT_EQ(command<GetState>({"get", "state", "-o", "json", "a", "b.c"}).format,
            OutputFormat::kJson);
  EXPECT_EQ(command<GetState>({"get", "state", "a", "b.c"}).masks, (Words{"a", "b.c"}));
  const auto workloads =
      command<GetWorkloads>({"get", "workloads", "x", "-a", "", "--state=S", "-w", "state"});
  EXPECT_EQ(workloads.filter.agent, "");
  EXPECT_EQ(workloads.filter.state, "S");
  EXPECT_EQ(workloads.filter.names, (Words{"x", "state"}));
  EXPECT_TRUE(workloads.watch);
  command<GetAgents>({"get", "agents"});
  command<GetConfigs>({"get", "config"});
  EXPECT_TRUE(command<GetEvents>({"get", "events", "-c"}).includes_current_state);
  const auto set = command<SetState>({"set", "state", "a", "b", "-"});
  EXPECT_EQ(set.masks, (Words{"a", "b"}));
  EXPECT_EQ(set.file, "-");
  EXPECT_EQ(command<DeleteWorkloads>({"delete", "workload", "a", "get"}).names,
            (Words{"a", "get"}));
  EXPECT_EQ(command<DeleteConfigs>({"delete", "configs", "a"}).names, (Words{"a"}));
  const auto run = command<RunWorkload>({"run", "workload", "w", "--runtime", "r", "--config=-x",
                                         "--agent", "a", "--tags", "k=v=w", "--tags", "l="});
  EXPECT_EQ(run.runtime_config, "-x");
  EXPECT_EQ(run.tags, (Tags{{"k", "v=w"}, {"l", ""}}));
  const auto apply = command<Apply>({"apply", "m", "--agent=", "-d", "-"});
  EXPECT_EQ(apply.files, (Words{"m", "-"}));
  EXPECT_EQ(apply.agent, "");
  EXPECT_TRUE(apply.deletes);
  const auto logs = command<Logs>({"logs", "-fn", "--tail=-1", "-s", "x", "w", "v"});
  EXPECT_TRUE(logs.follow && logs.shows_names);
  EXPECT_EQ(logs.tail, -1);
  EXPECT_EQ(logs.since, "x");
}

TEST(Options, ReadTheCommandsBeyondStock) {
  const auto listing =
      command<GetWorkloads>({"get", "workloads", "-o", "wide", "--no-headers", "--sort-by=agent"})
          .listing;
  EXPECT_EQ(listing.format, ListFormat::kWide);
  EXPECT_FALSE(listing.has_headers);
  EXPECT_EQ(listing.sort_by, "agent");
  EXPECT_EQ(command<GetAgents>({"get", "agents", "-ojson"}).listing.format, ListFormat::kJson);
  EXPECT_EQ(command<GetConfigs>({"get", "configs"}).listing.format, ListFormat::kTable);
  const auto plan = command<Plan>({"plan", "--detailed-exitcode", "-d", "a", "b", "-o", "yaml"});
  EXPECT_EQ(plan.files, (Words{"a", "b"}));
  EXPECT_TRUE(plan.detailed_exit_code && plan.deletes);
  EXPECT_EQ(plan.format, PlanFormat::kYaml);
  EXPECT_TRUE(
      command<Apply>({"apply", "--dry-run", "--detailed-exitcode", "a"}).detailed_exit_code);
  const auto wait =
      command<WaitFor>({"wait", "workload", "--for=removed", "--timeout", "5m", "a", "b"});
  EXPECT_EQ(wait.goal, WaitFor::Goal::kRemoved);
  EXPECT_EQ(wait.timeout, std::chrono::minutes(5));
  EXPECT_EQ(wait.names, (Words{"a", "b"}));
  EXPECT_EQ(command<DescribeWorkloads>({"describe", "workloads", "a"}).names, (Words{"a"}));
  EXPECT_EQ(command<DescribeAgents>({"describe", "agent", "a"}).names, (Words{"a"}));
  EXPECT_EQ(command<Explain>({"explain"}).field, "");
  EXPECT_EQ(command<Explain>({"explain", "workload"}).field, "workload");
  command<Schema>({"schema"});
  EXPECT_EQ(parsed({"--color", "never", "schema"}).options.color, Colours::kNever);
}

TEST(Options, RefuseWhatDoesNotGoTogether) {
  EXPECT_EQ(offence({"get", "workloads", "-w", "-o", "json"}),
            "the argument '--watch' cannot be used with '-o json'");
  EXPECT_EQ(offence({"apply", "--detailed-exitcode", "a"}),
            "the argument '--detailed-exitcode' needs '--dry-run'");
  for (const char* text : {"5", "s", "-1s", "5d", "99999999999h", "1.5s", ""})
    EXPECT_EQ(offence({"wait", "workload", "--for=running", concat("--timeout=", text), "a"}),
              concat("invalid value '", text,
                     "' for '--timeout <DURATION>': expected a number and "
                     "a unit, such as 500ms, 30s or 5m"));
  EXPECT_EQ(offence({"wait", "workload", "--for=runing", "a"}),
            "invalid value 'runing' for '--for <STATE>'");
}

TEST(Options, TakeShortFormsInAllSpellings) {
  for (const Words& words :
       {Words{"-kvs", "u", "get", "agents"}, Words{"-k", "-v", "-su", "get", "agents"},
        Words{"-kvs=u", "get", "agents"},
        Words{"--insecure", "--verbose", "--server-url=u", "get", "agents"}}) {
    const auto options = parsed(words).options;
    EXPECT_EQ(options.server_url, "u");
    EXPECT_EQ(options.insecure, true);
    EXPECT_TRUE(options.verbose);
  }
}

TEST(Options, TakeWhateverComesAfterTwoDashesForAnArgument) {
  for (const Words& words :
       {Words{"delete", "workload", "a", "--", "-b"}, Words{"delete", "workload", "--", "a", "-b"}})
    EXPECT_EQ(command<DeleteWorkloads>(words).names, (Words{"a", "-b"}));
  const auto workloads = command<GetWorkloads>(
      {"-s", "u", "get", "workloads", "-a", "x", "b", "--state=S", "-w", "--", "--help"});
  EXPECT_EQ(workloads.filter.agent, "x");
  EXPECT_EQ(workloads.filter.state, "S");
  EXPECT_TRUE(workloads.watch);
  EXPECT_EQ(workloads.filter.names, (Words{"b", "--help"}));
  EXPECT_EQ(command<Apply>({"apply", "--agent", "a", "m", "--", "-"}).files, (Words{"m", "-"}));
}

TEST(Options, TakeTheEnvironmentWhereTheWordsSayNothing) {
  const Environment environment{{"ANK_SERVER_URL", "e"},
                                {"ANK_INSECURE", "false"},
                                {"ANK_CA_PEM", "c"},
                                {"ANK_CRT_PEM", "d"},
                                {"ANK_KEY_PEM", "f"}};
  const auto options = parsed({"get", "agents"}, environment).options;
  EXPECT_EQ(options.server_url, "e");
  EXPECT_EQ(options.insecure, false);
  EXPECT_EQ(options.ca_pem, "c");
  EXPECT_EQ(options.crt_pem, "d");
  EXPECT_EQ(options.key_pem, "f");
  const auto overridden =
      parsed({"-k", "-s", "w", "--ca_pem", "x", "get", "agents"}, environment).options;
  EXPECT_EQ(overridden.server_url, "w");
  EXPECT_EQ(overridden.insecure, true);
  EXPECT_EQ(overridden.ca_pem, "x");
}

TEST(Options, RefuseWordsThatMakeNoCommand) {
  for (const auto& [words, expected] : std::vector<std::pair<Words, std::string>>{
           {{"frob"}, "unrecognized subcommand 'frob'"},
           {{"get", "frob"}, "unrecognized subcommand 'frob'"},
           {{"--frob", "get", "agents"}, "unexpected argument '--frob' found"},
           {{"get", "agents", "-k"}, "unexpected argument '-k' found"},
           {{"get", "-k", "agents"}, "unexpected argument '-k' found"},
           {{"get", "agents", "x"}, "unexpected argument 'x' found"},
           {{"-k", "-k", "get", "agents"},
            "the argument '--insecure' cannot be used multiple times"},
           {{"-s", "a", "-s", "b", "get", "agents"},
            "the argument '--server-url <SERVER_URL>' cannot be used multiple times"},
           {{"--insecure=false", "get", "agents"},
            "unexpected value 'false' for '--insecure' found"},
           {{"-s"}, "a value is required for '--server-url' but none was supplied"},
           {{"get", "state", "-o", "JSON"}, "invalid value 'JSON' for '-o <OUTPUT_FORMAT>'"},
           {{"--response-timeout", "abc", "get", "agents"},
            "invalid value 'abc' for '--response-timeout <RESPONSE_TIMEOUT_MS>': expected a number "
            "up "
            "to 18446744073709551615"},
           {{"--response-timeout", "-1", "get", "agents"},
            "a value is required for '--response-timeout' but '-1' follows"},
           {{"logs", "-t", "99999999999", "w"},
            "invalid value '99999999999' for '--tail <TAIL>': expected a number up to 2147483647"},
           {{"run", "workload", "w", "--config", "-x"},
            "a value is required for '--config' but '-x' follows"},
           {{"run", "workload", "w"}, "the following required arguments were not provided:"},
           {{"delete", "workload"}, "the following required arguments were not provided:"},
           {{"set", "state", "x"}, "the following required arguments were not provided:"},
           {{"help", "frob"}, "unrecognized subcommand 'frob'"},
           {{"run", "workload", "w", "--runtime", "r", "--config", "c", "--agent", "a", "--tags",
             "x"},
            "invalid value 'x' for '--tags <TAGS>': invalid KEY=value: no `=` found in `x`"}}) {
    EXPECT_EQ(offence(words), expected);
  }
  EXPECT_EQ(offence({"get", "agents"}, {{"ANK_INSECURE", "1"}}),
            "invalid value '1' for '--insecure'");
  EXPECT_EQ(offence({"get", "agents"}, {{"ANK_INSECURE", ""}}),
            "a value is required for '--insecure' but none was supplied");
}

TEST(Options, SuggestWhatWasProbablyMeant) {
  EXPECT_NE(printed({"gett"}).text.find("tip: a similar subcommand exists: 'get'"),
            std::string::npos);
  EXPECT_NE(printed({"--insecur", "get", "agents"}).text.find("exists: '--insecure'"),
            std::string::npos);
  EXPECT_EQ(printed({"frobnicate"}).text.find("tip:"), std::string::npos);
}

TEST(Options, SuggestAtEveryLevel) {
  for (const auto& [words, tip, usage] : std::vector<std::tuple<Words, std::string, std::string>>{
           {{"get", "wrokloads"}, "'workloads'", "ank get <COMMAND>"},
           {{"delete", "cnofigs"}, "'configs'", "ank delete <COMMAND>"},
           {{"desc"}, "'describe'", "ank [OPTIONS] <COMMAND>"},
           {{"help", "gte"}, "'get'", "ank [OPTIONS] <COMMAND>"},
           {{"help", "get", "wrokload"}, "'workload'", "ank get <COMMAND>"},
           {{"get", "help", "stat"}, "'state'", "ank get <COMMAND>"},
           {{"--insecur", "get", "state"}, "'--insecure'", "ank [OPTIONS] <COMMAND>"},
           {{"get", "workloads", "--agnt=x"}, "'--agent'", "ank get workload [OPTIONS]"},
           {{"apply", "--dry", "x"}, "'--dry-run'", "ank apply [OPTIONS]"},
           {{"get", "agents", "--insecure"},
            "'--insecure' stands before the command: 'ank --insecure ...'",
            "ank get agent [OPTIONS]"},
           {{"apply", "-k", "x"}, "'-k' stands before the command", "ank apply [OPTIONS]"},
           {{"schema", "--server-url=x"}, "'--server-url' stands before", "ank schema"}}) {
    SCOPED_TRACE(join(words, " "));
    const Printout printout = printed(words);
    EXPECT_EQ(printout.kind, Printout::Kind::kUsageError);
    EXPECT_NE(printout.text.find("tip: "), std::string::npos) << printout.text;
    EXPECT_NE(printout.text.find(tip), std::string::npos) << printout.text;
    EXPECT_NE(printout.text.find("Usage: " + usage), std::string::npos) << printout.text;
  }
  EXPECT_EQ(printed({"help", "help"}).text, printed({"--help"}).text);
}

TEST(Options, EndAUsageErrorWithTheUsage) {
  EXPECT_EQ(printed({"get", "stuff"}).text,
            "unrecognized subcommand 'stuff'\n\nUsage: ank get <COMMAND>\n\n"
            "For more information, try '--help'.\n");
}

TEST(Options, PrintHelpAndVersion) {
  EXPECT_EQ(printed({"--version"}).text, "ank 1.1.0+tiphys.0.1.0\n");
  EXPECT_EQ(exit_code(printed({"-V"}).kind), 0);
  for (const Words& words : {Words{"--help"}, Words{"help"}, Words{"get", "state", "-h"},
                             Words{"help", "get", "state"}, Words{"get", "help", "state"}}) {
    EXPECT_EQ(printed(words).kind, Printout::Kind::kHelp);
    EXPECT_NE(printed(words).text.find("Usage: ank"), std::string::npos);
  }
  EXPECT_EQ(printed({"help", "get", "state"}).text, printed({"get", "state", "--help"}).text);
}

TEST(Options, PrintHelpAsAnErrorWhereACommandIsMissing) {
  for (const Words& words : {Words{}, Words{"-k"}, Words{"get"}, Words{"set"}, Words{"delete"},
                             Words{"run"}, Words{"apply"}, Words{"logs"}}) {
    EXPECT_EQ(printed(words).kind, Printout::Kind::kMissingCommand);
    EXPECT_EQ(exit_code(printed(words).kind), 2);
  }
}

TEST(Options, RefuseToSortByWhatIsNoColumn) {
  const Printout printout = printed({"get", "agents", "--sort-by", "CPU_usge"});
  EXPECT_EQ(printout.kind, Printout::Kind::kUsageError);
  EXPECT_TRUE(
      printout.text.starts_with("invalid value 'CPU_usge' for '--sort-by <COLUMN>'\n"
                                "  [columns: name, workloads, cpu-usage, free-memory, tags]\n\n"
                                "  tip: a similar column exists: 'cpu-usage'\n"))
      << printout.text;
}

}  // namespace
}  // namespace tiphys::cli
