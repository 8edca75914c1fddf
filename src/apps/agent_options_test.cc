#include "apps/agent_options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "apps/test_environment.h"
#include "base/strings.h"

namespace tiphys::apps {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::string_view kRule =
    "It shall contain only regular upper and lowercase characters (a-z and A-Z), numbers and the "
    "symbols '-' and '_'.";

class AgentOptionsTest : public FolderTest {
 protected:
  OrStop<AgentOptions> read(const Words& words,
                            const std::map<std::string, std::string>& environment = {}) const {
    return read_agent_options(words, environment_of(environment), {"podman", "podman-kube"},
                              path("default.conf"));
  }
  std::string refusal(const Words& words,
                      const std::map<std::string, std::string>& environment = {}) const {
    const auto options = read(words, environment);
    return options ? "it is accepted" : options.error().text;
  }
};

TEST_F(AgentOptionsTest, HaveDefaultsButForTheName) {
  const auto options = read({"-n", "agent_A"});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->name, AgentName{"agent_A"});
  EXPECT_EQ(options->server_url, "https://127.0.0.1:25551");
  EXPECT_FALSE(options->run_folder);
  EXPECT_TRUE(options->tags.empty());
  EXPECT_FALSE(options->security.insecure);
  EXPECT_EQ(options->runtimes, (std::set<std::string>{"podman", "podman-kube"}));
  EXPECT_TRUE(options->warnings.empty());
}

TEST_F(AgentOptionsTest, ComeFromTheFileThenTheEnvironmentThenTheCommandLine) {
  const std::string config =
      file("default.conf",
           "version = 'v1'\nname = 'file'\nserver_url = 'http://file:1'\nrun_folder = '/file'\n"
           "insecure = true\nca_pem = 'file.ca'\ncrt_pem_content = 'text'\nkey_pem = 'file.key'\n"
           "runtimes = ['podman', 'docker']\n[tags]\nzone = 'file'\nfront = 'yes'\n");

  auto options = read({});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->name, AgentName{"file"});
  EXPECT_EQ(options->server_url, "http://file:1");
  EXPECT_EQ(options->run_folder, "/file");
  EXPECT_TRUE(options->security.insecure);
  EXPECT_EQ(options->security.certificate.content, "text");
  EXPECT_EQ(options->runtimes, std::set<std::string>{"podman"});
  EXPECT_EQ(options->warnings, Words{"Configured runtime 'docker' is not supported."});
  EXPECT_EQ(options->tags, (Tags{{"front", "yes"}, {"zone", "file"}}));

  options = read({"-x", config, "-n", "line", "-s", "https://line:2", "-r", "/line", "-t", "k=1",
                  "-t", "k=2", "-t", "e=", "-t", "s=a=b", "--ca_pem", "line.ca"},
                 {{"ANKAGENT_INSECURE", "false"},
                  {"ANKAGENT_CA_PEM", "env.ca"},
                  {"ANKAGENT_CRT_PEM", "env.crt"},
                  {"ANKAGENT_KEY_PEM", "env.key"}});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->name, AgentName{"line"});
  EXPECT_EQ(options->server_url, "https://line:2");
  EXPECT_EQ(options->run_folder, "/line");
  EXPECT_FALSE(options->security.insecure);
  EXPECT_EQ(options->security.ca.path, "line.ca");
  EXPECT_EQ(options->security.certificate.path, "env.crt");
  EXPECT_EQ(options->security.key.path, "env.key");
  EXPECT_EQ(options->tags, (Tags{{"e", ""}, {"k", "2"}, {"s", "a=b"}}));
}

TEST_F(AgentOptionsTest, ANameHasItsRules) {
  EXPECT_EQ(refusal({}), concat("Error encountered while checking agent name!: 'Empty agent name "
                                "is not allowed. ",
                                kRule, "'"));
  EXPECT_EQ(refusal({"-n", "a.b"}), concat("Error encountered while checking agent name!: 'Agent "
                                           "name 'a.b' is invalid. ",
                                           kRule, "'"));
}

TEST_F(AgentOptionsTest, ATagHasAnEqualsSign) {
  const auto options = read({"-n", "a", "-t", "zone"});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().kind, Stop::Kind::kUsage);
  EXPECT_TRUE(options.error().text.starts_with(
      "error: invalid value 'zone' for '--tag <KEY=VALUE>': invalid KEY=value: no `=` found in "
      "`zone`\n"))
      << options.error().text;
}

TEST_F(AgentOptionsTest, OneRuntimeAtLeastIsUsed) {
  for (const std::string list : {"[]", "['docker']"})
    EXPECT_EQ(refusal({"-n", "a", "-x", file("c", "version = 'v1'\nruntimes = " + list)}),
              "Invalid runtime configuration: 'No valid runtimes configured. Supported runtimes: "
              "[\"podman\", \"podman-kube\"]'");
}

TEST_F(AgentOptionsTest, RetriesAreLimitedUnlessTheFileSaysOtherwise) {
  const auto with = [&](const std::string& line) {
    return read({"-n", "a", "-x", file("c", "version = 'v1'\n" + line)});
  };
  EXPECT_FALSE(with("")->retries_without_end);
  EXPECT_FALSE(with("retries = 'limited'")->retries_without_end);
  EXPECT_TRUE(with("retries = 'unlimited'")->retries_without_end);
  EXPECT_EQ(refusal({"-n", "a", "-x", file("c", "version = 'v1'\nretries = 'never'")}),
            "Invalid retry configuration: 'retries is 'never', but has to be 'limited' or "
            "'unlimited'.'");
}

TEST_F(AgentOptionsTest, AServerHasAnUrl) {
  for (const std::string url : {"127.0.0.1:25551", "ftp://x", "http://", "https://", ""})
    EXPECT_EQ(refusal({"-n", "a", "--server-url=" + url}),
              concat("Failed to create communications client.: 'Wrong server address format: '",
                     url, "'.'"));
}

TEST_F(AgentOptionsTest, TheHelpNamesWhatTheContractNames) {
  const std::string help = refusal({"--help"});
  for (const char* word :
       {"-x, --agent-config <PATH>", "-n, --name <NAME>", "-s, --server-url <URL>",
        "-r, --run-folder <DIR>", "-k, --insecure", "-t, --tag <KEY=VALUE>", "--ca_pem <PATH>",
        "--crt_pem <PATH>", "--key_pem <PATH>", "ANKAGENT_INSECURE", "ANKAGENT_CA_PEM",
        "ANKAGENT_CRT_PEM", "ANKAGENT_KEY_PEM"})
    EXPECT_NE(help.find(word), std::string::npos) << word << " is not in\n" << help;
}

TEST(DefaultRunFolder, LiesInTheFolderForTemporaryFiles) {
  EXPECT_EQ(default_run_folder(environment_of({})), "/tmp/ankaios");
  EXPECT_EQ(default_run_folder(environment_of({{"TMPDIR", ""}})), "/tmp/ankaios");
  EXPECT_EQ(default_run_folder(environment_of({{"TMPDIR", "/var/tmp//"}})), "/var/tmp/ankaios");
  EXPECT_EQ(default_run_folder(environment_of({{"TMPDIR", "/"}})), "/ankaios");
}

TEST(DefaultRunFolder, IsKnownByItsNameWithASlashToo) {
  EXPECT_TRUE(is_same_folder("/tmp/ankaios/", "/tmp/ankaios"));
  EXPECT_FALSE(is_same_folder("/tmp/ankaios/x", "/tmp/ankaios"));
}

class RunFolderTest : public FolderTest {
 protected:
  static std::string prepare(const std::string& base, bool is_default) {
    const auto folder = prepare_run_folder(base, is_default, AgentName{"agent_A"});
    return folder ? *folder : folder.error().text;
  }
};

TEST_F(RunFolderTest, TheDefaultOneIsMadeForEverybody) {
  const std::string base = path("deep/ankaios");
  EXPECT_EQ(prepare(base + "/", true), base + "/agent_A_io");
  EXPECT_EQ(fs::status(base).permissions(), fs::perms(0777));
  EXPECT_TRUE(fs::is_directory(base + "/agent_A_io"));
  EXPECT_EQ(prepare(base, true), base + "/agent_A_io") << "it is used again";
}

TEST_F(RunFolderTest, OneThatAUserNamedHasToBeThere) {
  EXPECT_EQ(prepare(path("absent/"), false),
            concat("Run folder creation failed. Cannot continue without run folder.: 'Could not "
                   "find directory \"",
                   path("absent"), "\"'"));
  EXPECT_FALSE(fs::exists(path("absent")));
  EXPECT_EQ(prepare(folder_, false), path("agent_A_io"));
}

TEST_F(RunFolderTest, OneOfAnotherUserIsRefused) {
  ASSERT_EQ(prepare(folder_, false), path("agent_A_io"));
  const auto refused = prepare_run_folder(folder_, false, AgentName{"agent_A"}, ::geteuid() + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text,
            concat("Run folder creation failed. Cannot continue without run folder.: 'Could not "
                   "use directory \"",
                   path("agent_A_io"), "\": it belongs to another user (uid ",
                   std::to_string(::geteuid()),
                   "); remove it, or name another folder with --run-folder'"));
}

TEST_F(RunFolderTest, ALinkInPlaceOfTheAgentsFolderIsRefused) {
  fs::create_directory(path("elsewhere"));
  for (const std::string& target : {path("elsewhere"), path("nowhere")}) {
    fs::create_symlink(target, path("agent_A_io"));
    EXPECT_EQ(prepare(folder_, false),
              concat("Run folder creation failed. Cannot continue without run folder.: 'Could not "
                     "use directory \"",
                     path("agent_A_io"),
                     "\": it is a symbolic link; remove it, or name another folder with "
                     "--run-folder'"));
    fs::remove(path("agent_A_io"));
  }
  EXPECT_TRUE(fs::is_empty(path("elsewhere")));
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

TEST_F(RunFolderTest, ALinkToTheBaseIsItsOwnersChoice) {
  fs::create_directory(path("elsewhere"));
  fs::create_symlink(path("elsewhere"), path("base"));
  EXPECT_EQ(prepare(path("base"), false), path("base/agent_A_io"));
  EXPECT_EQ(prepare(path("base"), true), path("base/agent_A_io"));
  EXPECT_TRUE(fs::is_directory(path("elsewhere/agent_A_io")));
}

TEST_F(RunFolderTest, ItsPathBeginsAtTheRoot) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  fs::create_directory("run");
  EXPECT_EQ(prepare("run", false), path("run/agent_A_io"));
  fs::current_path(before);
}

TEST_F(RunFolderTest, OneThatCannotBeUsedIsNamed) {
  const std::string taken = file("agent_A_io", "a file");
  EXPECT_EQ(prepare(folder_, false),
            concat("Run folder creation failed. Cannot continue without run folder.: 'Could not "
                   "create directory \"",
                   taken, "\": File exists (os error 17)'"));
  EXPECT_EQ(prepare(taken + "/below", true),
            concat("Run folder creation failed. Cannot continue without run folder.: 'Could not "
                   "create directory \"",
                   taken, "/below\": File exists (os error 17)'"));
}

}  // namespace
}  // namespace tiphys::apps
