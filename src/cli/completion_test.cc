#include "cli/completion.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "cli/ank.h"
#include "cli/completer.h"
#include "cli/completion_scripts.h"
#include "cli/explain.h"
#include "cli/test_console.h"
#include "cli/test_server.h"

namespace tiphys::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::vector<std::string> names_of(WordKind kind, const std::string&) {
  switch (kind) {
    case WordKind::kFile:
      return {"a.yaml", "sub/"};
    case WordKind::kWorkload:
      return {"w1", "w2"};
    case WordKind::kConfig:
      return {"k1"};
    case WordKind::kAgent:
      return {"agent_A"};
    case WordKind::kStateMask:
      return {"desiredState", "agents"};
    case WordKind::kManifestField:
      return {"workload.tags"};
    case WordKind::kText:
      break;
  }
  return {};
}

std::string completed(const Words& words) {
  std::vector<std::string> texts;
  for (const auto& candidate : complete(command_table(), words, names_of))
    texts.push_back(candidate.text);
  return join(texts, " ");
}

TEST(Completion, OffersWhatFitsThePlace) {
  for (const auto& [words, expected] : std::vector<std::pair<Words, std::string>>{
           // Commands, by their names, or by their aliases where only these begin so.
           {{"g"}, "get"},
           {{"h"}, "help"},
           {{"get", "w"}, "workload"},
           {{"get", "workloads"}, "workloads"},
           {{"delete", ""}, "workload config help --help"},
           {{"help", "de"}, "delete describe"},
           {{"help", "get", "w"}, "workload"},
           {{"get", "help", "s"}, "state"},
           // Options: long ones for nothing and for two dashes, letters for one.
           {{"get", "state", "-"}, "-o -h"},
           {{"get", "state", "--"}, "--help"},
           {{"--v"}, "--verbose --version"},
           {{"apply", "-"}, "--agent -d --dry-run --detailed-exitcode -h"},
           {{"set", "state", "-"}, "-h"},
           {{"logs", "-fn"}, "-fnf -fnt -fnn -fns -fnu -fnh"},
           // Values of options.
           {{"get", "state", "-o", ""}, "yaml json"},
           {{"get", "state", "-o", "j"}, "json"},
           {{"get", "state", "-oj"}, "-ojson"},
           {{"get", "state", "-o=j"}, "-o=json"},
           {{"wait", "workload", "--for=r"}, "--for=running --for=removed"},
           {{"wait", "workload", "--for", "s"}, "succeeded"},
           {{"--color", ""}, "auto always never"},
           {{"-x", ""}, "a.yaml sub/"},
           {{"-kx", "s"}, "sub/"},
           {{"--ca_pem=s"}, "--ca_pem=sub/"},
           {{"run", "workload", "--agent", ""}, ""},
           {{"-s", ""}, ""},
           {{"--insecure=", ""},
            "get set delete run apply logs plan wait describe explain schema help --ank-config "
            "--server-url --response-timeout --verbose --quiet --no-wait --insecure --ca_pem "
            "--crt_pem --key_pem --color --help --version"},
           // Names.
           {{"get", "workload", "w"}, "w1 w2"},
           {{"get", "workload", "w1", "-a", "x", "w"}, "w1 w2"},
           {{"-k", "-s", "http://x", "delete", "config", ""}, "k1 --help"},
           {{"describe", "agent", ""}, "agent_A --help"},
           {{"describe", "agents", "agent_A", "a"}, "agent_A"},
           {{"explain", ""}, "workload.tags --help"},
           {{"explain", "workload.tags", ""}, "--help"},
           {{"schema", ""}, "--help"},
           {{"apply", ""}, "a.yaml sub/ --agent -d --dry-run --detailed-exitcode --help"},
           {{"apply", "--", "-"}, ""},
           {{"apply", "--", ""}, "a.yaml sub/"},
           // A mask comes first; after it the file may come, or another mask.
           {{"set", "state", ""}, "desiredState agents --help"},
           {{"set", "state", "agents", ""}, "desiredState agents a.yaml sub/ --help"},
           {{"set", "state", "agents", "agents", "a"}, "agents a.yaml"},
           {{"get", "events", "d"}, "desiredState"},
           {{"run", "workload", ""}, "--runtime --config --agent --tags --help"},
           // What makes no sense leads nowhere.
           {{"nonsense", ""}, ""},
           {{"get", "nonsense", ""}, ""},
           {{"--nonsense="}, ""},
           {{"help", "nonsense", ""}, ""},
           {{}, ""},
       }) {
    SCOPED_TRACE(join(words, " "));
    EXPECT_EQ(completed(words), expected);
  }
}

TEST(Completion, KnowsWhichWordsTellWhereTheServerIs) {
  for (const auto& [words, expected] :
       std::vector<std::pair<Words, std::size_t>>{{{}, 0},
                                                  {{"get", "workload"}, 0},
                                                  {{"-k", "-s", "get", "get", "workload"}, 3},
                                                  {{"-ks", "help", "help"}, 2},
                                                  {{"-k", "nonsense"}, 1},
                                                  {{"-k", "--server-url=x"}, 2}}) {
    SCOPED_TRACE(join(words, " "));
    EXPECT_EQ(count_of_global_words(command_table(), words), expected);
  }
}

TEST(Completion, MasksNameWhatThereIs) {
  const Tree something = Tree::Map().set("x", "y");
  const Tree state =
      Tree::Map()
          .set("desiredState", Tree::Map()
                                   .set("apiVersion", "v1")
                                   .set("workloads", Tree::Map().set("w1", something)))
          .set("workloadStates", Tree::Map().set("a", Tree::Map().set("w1", something)))
          .set("agents", Tree::Map().set("a", Tree::Map().set("tags", something)))
          .set("effectiveState", something);
  EXPECT_EQ(join(state_masks(state), " "),
            "desiredState desiredState.workloads desiredState.workloads.w1 workloadStates "
            "workloadStates.a workloadStates.a.w1 agents agents.a agents.a.tags");
  EXPECT_TRUE(state_masks(Tree()).empty());
}

TEST(Completion, FieldsOfManifestsAreThoseThatCanBeExplained) {
  const auto names = manifest_field_names("");
  for (const char* name : {"apiVersion", "workload", "workload.restartPolicy",
                           "workload.controlInterfaceAccess.allowRules.type", "config"})
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  for (const char* word : {"", "workloads", "configs"})
    for (const auto& name : manifest_field_names(word)) {
      const auto text = explain(name, 80);
      ASSERT_TRUE(text.has_value()) << name;
      EXPECT_TRUE(std::all_of(text->begin(), text->end(), [](char c) { return c > 0; })) << *text;
    }
  const auto plural = manifest_field_names("workloads.r");
  EXPECT_EQ(std::count(plural.begin(), plural.end(), "workloads.runtime"), 1);
}

// -- As shells ask

struct Outcome {
  int exit;
  std::string out;
  std::string err;
};

Outcome asked(const std::string& shell, const Words& words, Environment environment = {}) {
  RecordingConsole console;
  environment["COMPLETE"] = shell;
  environment.try_emplace("HOME", "/nowhere");
  const int exit = run_ank(words, environment, console);
  return {exit, console.out, console.err};
}

TEST(Completer, PrintsTheScriptOfEachShell) {
  for (const char* shell : {"bash", "zsh", "fish", "elvish", "powershell", "/usr/bin/zsh"}) {
    SCOPED_TRACE(shell);
    const Outcome outcome = asked(shell, {});
    EXPECT_EQ(outcome.exit, 0);
    EXPECT_NE(outcome.out.find("ank"), std::string::npos);
    EXPECT_EQ(outcome.out, asked(shell, {"get", "state"}).out);
    EXPECT_EQ(outcome.out, asked(shell, {"--"}).out);
  }
  const Outcome unknown = asked("ksh", {});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_EQ(
      unknown.err,
      "error: unknown shell `ksh`, expected one of `bash`, `elvish`, `fish`, `powershell`, `zsh`");
  for (const char* off : {"", "0"}) EXPECT_TRUE(asked(off, {"--version"}).out.starts_with("ank "));
}

TEST(Completer, AnswersInTheFormOfTheShell) {
  const Words words{"--", "ank", "get", "wor", "left out"};
  const Environment at_2{{"_CLAP_COMPLETE_INDEX", "2"}, {"_CLAP_IFS", "|"}};
  EXPECT_EQ(asked("bash", words, at_2).out, "workload");
  EXPECT_EQ(asked("zsh", words, at_2).out, "workload:Show workloads");
  EXPECT_EQ(asked("fish", {"--", "ank", "get", "wor"}).out, "workload\tShow workloads\n");
  EXPECT_EQ(asked("powershell", {"--", "ank", "get", "wor"}).out, "workload\tShow workloads\n");
  EXPECT_EQ(
      asked("bash", {"--", "ank", "set"}, {{"_CLAP_COMPLETE_INDEX", "2"}, {"_CLAP_IFS", "|"}}).out,
      "state|help|--help");
  EXPECT_EQ(asked("bash", {"--", "ank"}).out, "");
}

// A folder that is the current one for as long as a test runs.
class InFolder {
 public:
  InFolder() : before_(fs::current_path()) {
    fs::create_directories(here_ / "sub");
    for (const char* name : {"a.yaml", "b:c.yaml", ".hidden", "sub/c.yaml", "bad\nname"})
      std::ofstream(here_ / name).put('x');
    fs::create_symlink("nowhere", here_ / "dangling");
    fs::current_path(here_);
  }
  ~InFolder() {
    fs::current_path(before_);
    fs::remove_all(here_);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

  [[nodiscard]] std::string path() const { return here_.string(); }

 private:
  fs::path before_;
  fs::path here_ =
      fs::temp_directory_path() / concat("tiphys-completion-", std::to_string(::getpid()));
};

TEST(Completer, OffersFilesWhereAFileIsExpected) {
  const InFolder folder;
  const auto files = [&](const std::string& word, const std::string& shell = "bash") {
    return asked(shell, {"--", "ank", "-x", word}, {{"_CLAP_IFS", " "}, {"HOME", folder.path()}})
        .out;
  };
  EXPECT_EQ(files(""), "a.yaml b:c.yaml dangling sub/");
  EXPECT_EQ(files("b", "zsh"), "b\\:c.yaml");
  EXPECT_EQ(files("su"), "sub/");
  EXPECT_EQ(files("sub/"), "sub/c.yaml");
  EXPECT_EQ(files("./a"), "./a.yaml");
  EXPECT_EQ(files("~/su"), "~/sub/");
  EXPECT_EQ(files("."), ".hidden");
  EXPECT_EQ(files(folder.path() + "/sub/c"), folder.path() + "/sub/c.yaml");
  EXPECT_EQ(files("nowhere/"), "");
  EXPECT_EQ(files("a.yaml/"), "");
}

TEST(Completer, AsksTheServerThatTheWordsName) {
  const MachineServer server(
      "apiVersion: v1\nworkloads:\n  w1: {agent: a, runtime: r, runtimeConfig: c}\n"
      "configs:\n  k1: one\n");
  const auto names = [&](Words words, const Environment& environment = {}) {
    words.insert(words.begin(), {"--", "ank"});
    const Outcome outcome = asked("bash", words, environment);
    EXPECT_EQ(outcome.exit, 0);
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  };
  EXPECT_EQ(names({"-k", "-s", server.url(), "get", "workload", "w"}), "w1");
  EXPECT_EQ(names({"-ks", server.url(), "delete", "config", "k"}), "k1");
  EXPECT_EQ(names({"logs", "w"}, {{"ANK_SERVER_URL", server.url()}, {"ANK_INSECURE", "true"}}),
            "w1");
  EXPECT_EQ(names({"-k", "-s", server.url(), "get", "state", "desiredState.w"}),
            "desiredState.workloads\ndesiredState.workloads.w1");
  EXPECT_EQ(names({"-k", "-s", server.url(), "describe", "agent", ""}), "--help");
}

TEST(Completer, OffersNoNamesWhereNoServerAnswers) {
  for (const Words& options : std::vector<Words>{{"-k", "-s", "http://127.0.0.1:1"},
                                                 {"-k", "-s", "nonsense"},
                                                 {"-x", "/nowhere/ank.conf"},
                                                 {"--color", "pink"},
                                                 {}}) {
    SCOPED_TRACE(join(options, " "));
    Words words{"--", "ank"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"get", "state", ""});
    const Outcome outcome = asked("bash", words);
    EXPECT_EQ(outcome.exit, 0);
    EXPECT_EQ(outcome.out, "-o\n--help");
    EXPECT_EQ(outcome.err, "");
  }
}

}  // namespace
}  // namespace tiphys::cli
