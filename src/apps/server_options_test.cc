#include "apps/server_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/test_environment.h"
#include "base/strings.h"

namespace tiphys::apps {
namespace {

using Words = std::vector<std::string>;

class ServerOptionsTest : public FolderTest {
 protected:
  OrStop<ServerOptions> read(const Words& words,
                             const std::map<std::string, std::string>& environment = {}) const {
    return read_server_options(words, environment_of(environment), path("default.conf"));
  }
  std::string refusal(const Words& words,
                      const std::map<std::string, std::string>& environment = {}) const {
    const auto options = read(words, environment);
    return options ? "it is accepted" : options.error().text;
  }
};

TEST_F(ServerOptionsTest, HaveDefaults) {
  const auto options = read({});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_FALSE(options->startup_manifest);
  EXPECT_EQ(options->address, "127.0.0.1:25551");
  EXPECT_FALSE(options->security.insecure);
  EXPECT_FALSE(options->security.ca.path);
}

// [utest->swdd~server-loads-config-file~1]
TEST_F(ServerOptionsTest, ComeFromTheFileThenTheEnvironmentThenTheCommandLine) {
  const std::string config =
      file("default.conf",
           "version = 'v1'\nstartup_manifest = 'file.yaml'\naddress = '[::1]:1'\ninsecure = true\n"
           "ca_pem = 'file.ca'\ncrt_pem_content = 'text of the file'\nkey_pem = 'file.key'\n");

  auto options = read({});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->startup_manifest, "file.yaml");
  EXPECT_EQ(options->address, "[::1]:1");
  EXPECT_TRUE(options->security.insecure);
  EXPECT_EQ(options->security.ca.path, "file.ca");
  EXPECT_TRUE(options->security.ca.path_of_config_file);
  EXPECT_EQ(options->security.certificate.content, "text of the file");
  EXPECT_EQ(options->security.key.path, "file.key");

  const std::map<std::string, std::string> environment{{"ANKSERVER_INSECURE", "false"},
                                                       {"ANKSERVER_CA_PEM", "env.ca"},
                                                       {"ANKSERVER_CRT_PEM", "env.crt"},
                                                       {"ANKSERVER_KEY_PEM", "env.key"}};
  options = read({}, environment);
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_FALSE(options->security.insecure);
  EXPECT_EQ(options->security.ca.path, "env.ca");
  EXPECT_FALSE(options->security.ca.path_of_config_file);
  EXPECT_EQ(options->security.certificate.path, "env.crt");
  EXPECT_FALSE(options->security.certificate.content);
  EXPECT_EQ(options->security.key.path, "env.key");

  options = read({"-x", config, "-m", "line.yaml", "-a", "0.0.0.0:2", "-k", "--ca_pem", "line.ca",
                  "--crt_pem", "line.crt", "--key_pem", "line.key"},
                 environment);
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->startup_manifest, "line.yaml");
  EXPECT_EQ(options->address, "0.0.0.0:2");
  EXPECT_TRUE(options->security.insecure);
  EXPECT_EQ(options->security.ca.path, "line.ca");
  EXPECT_EQ(options->security.certificate.path, "line.crt");
  EXPECT_EQ(options->security.key.path, "line.key");
}

TEST_F(ServerOptionsTest, TheManifestHasAnOlderName) {
  for (const Words& words : {Words{"-c", "m"}, {"--startup-config", "m"}}) {
    const auto options = read(words);
    ASSERT_TRUE(options) << options.error().text;
    EXPECT_EQ(options->startup_manifest, "m");
  }
}

TEST_F(ServerOptionsTest, AnAddressIsNumeric) {
  for (const std::string address :
       {"localhost:1", "127.0.0.1", "127.0.0.1:99999", "::1:5", "unix:/x", ""}) {
    SCOPED_TRACE(address);
    const auto options = read({"--address=" + address});
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().kind, Stop::Kind::kUsage);
    EXPECT_TRUE(options.error().text.starts_with(
        concat("error: invalid value '", address,
               "' for '--address <ADDR>': invalid socket address syntax\n")))
        << options.error().text;
  }
  const std::string config = file("c", "version = 'v1'\naddress = 'localhost:1'\n");
  EXPECT_EQ(refusal({"-x", config}),
            concat("Config file could not be parsed: 'Config file could not have been parsed due "
                   "to: ",
                   config,
                   ": address: 'localhost:1': invalid socket address syntax, expected for example "
                   "127.0.0.1:25551 or [::1]:25551'"));
}

TEST_F(ServerOptionsTest, HooksAreReadAsTheyStand) {
  const std::string config = file("c",
                                  "version = 'v1'\n"
                                  "[[mutating_hooks]]\nname = 'last'\nprio = 255\npath = '/h'\n"
                                  "[[mutating_hooks]]\nname = 'first'\nsurplus = 1\n"
                                  "[[mutating_hook]]\nname = 'misspelt'\n");
  const auto options = read({"-x", config});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->hooks, (std::vector<server::Hook>{
                                {"last", "/h", 255}, {"first", "/usr/libexec/ankaios/hooks", 0}}));
  EXPECT_TRUE(read({"-k"})->hooks.empty());
}

TEST_F(ServerOptionsTest, HooksThatAreWrongAreNamed) {
  for (const auto& [text, offence] : std::vector<std::pair<std::string, std::string>>{
           {"[[mutating_hooks]]\nprio = 1\n",
            "mutating_hooks[0].name: missing; it names the program to run"},
           {"[[mutating_hooks]]\nname = 'a'\n[[mutating_hooks]]\nname = 1\n",
            "mutating_hooks[1].name: expected a string, found a number"},
           {"[[mutating_hooks]]\nname = 'a'\nprio = 256\n",
            "mutating_hooks[0].prio: expected a number from 0 to 255, found 256"},
           {"[[mutating_hooks]]\nname = 'a'\nprio = '1'\n",
            "mutating_hooks[0].prio: expected a number from 0 to 255, found a string"},
           {"[[mutating_hooks]]\nname = 'a'\npath = true\n",
            "mutating_hooks[0].path: expected a string, found a boolean"},
           {"[mutating_hooks]\nname = 'a'\n",
            "mutating_hooks: expected tables, each as [[mutating_hooks]], found a map"},
           {"mutating_hooks = [1]\n", "mutating_hooks[0]: expected a table, found a number"}}) {
    const std::string config = file("c", "version = 'v1'\n" + text);
    EXPECT_EQ(refusal({"-x", config}),
              concat("Config file could not be parsed: 'Config file could not have been parsed due "
                     "to: ",
                     config, ": ", offence, "'"));
  }
  const std::string negative =
      refusal({"-x", file("c", "version = 'v1'\n[[mutating_hooks]]\nname = 'a'\nprio = -1\n")});
  EXPECT_NE(negative.find("c:4:8: only integers from 0 on"), std::string::npos) << negative;
}

TEST_F(ServerOptionsTest, TheHelpNamesWhatTheContractNames) {
  const std::string help = refusal({"--help"});
  for (const char* word :
       {"-m, --startup-manifest <MANIFEST_PATH>", "-x, --server-config <CONFIG_PATH>",
        "-a, --address <ADDR>", "-k, --insecure", "--ca_pem <CA_PEM>", "--crt_pem <CRT_PEM>",
        "--key_pem <KEY_PEM>", "ANKSERVER_INSECURE", "ANKSERVER_CA_PEM", "ANKSERVER_CRT_PEM",
        "ANKSERVER_KEY_PEM"})
    EXPECT_NE(help.find(word), std::string::npos) << word << " is not in\n" << help;
  for (const char* hidden : {"-c,", "startup-config"})
    EXPECT_EQ(help.find(hidden), std::string::npos) << help;
}

class StartupManifestTest : public FolderTest {
 protected:
  std::string refusal(const std::string& text) {
    const auto manifest = read_startup_manifest(file("m.yaml", text));
    if (manifest) return "it is accepted";
    EXPECT_EQ(manifest.error().kind, Stop::Kind::kFatal);
    std::string message = manifest.error().text;
    // The folder has another name each time.
    for (std::size_t at = 0; (at = message.find(folder_)) != std::string::npos;)
      message.replace(at, folder_.size(), "DIR");
    return message;
  }
};

TEST_F(StartupManifestTest, IsReadWithItsWarnings) {
  const auto manifest = read_startup_manifest(
      file("m.yaml",
           "apiVersion: v1\nworkloads:\n  w:\n    runtime: podman\n    agent: a\n"
           "    runtimeConfig: 'image: x'\n    surplus: 1\n"));
  ASSERT_TRUE(manifest) << manifest.error().text;
  EXPECT_EQ(manifest->state.workloads.size(), 1U);
  ASSERT_EQ(manifest->warnings.size(), 1U);
  EXPECT_NE(manifest->warnings[0].find("surplus"), std::string::npos) << manifest->warnings[0];
}

TEST_F(StartupManifestTest, EachKindOfFaultHasTheWordsOfStockAnkaios) {
  const auto missing = read_startup_manifest(path("absent"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().text, concat("Could not read the startup config: '\"", path("absent"),
                                         "\": No such file or directory (os error 2)'"));
  const auto starts = [&](const std::string& text, std::string_view words) {
    const std::string message = refusal(text);
    EXPECT_TRUE(message.starts_with(words)) << message;
  };
  starts("a: [", "Invalid tags format in startup manifest: 'Failed to parse YAML: DIR/m.yaml:");
  starts("apiVersion: v1\nworkloads:\n  w:\n    tags: [a]\n",
         "Invalid tags format in startup manifest: 'DIR/m.yaml:4:");
  starts("apiVersion: v1\nworkloads:\n  w:\n    runtime: podman\n",
         "Parsing start config failed with error: 'DIR/m.yaml:4:");
  starts("apiVersion: v9\n", "server error: 'DIR/m.yaml:1:");
}

}  // namespace
}  // namespace tiphys::apps
