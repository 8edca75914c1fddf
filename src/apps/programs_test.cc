// The programs as users call them: by name, with good and bad arguments, ended by signals.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/test_environment.h"
#include "base/strings.h"
#include "base/version.h"
#include "io/host/test_certificates.h"

namespace tiphys::apps {
namespace {

using Words = std::vector<std::string>;

// Long enough for a busy machine; nothing is as slow as that unless it hangs.
constexpr int kPatienceMilliseconds = 60'000;

std::string program_path(const std::string& name) {
  const char* folder = std::getenv("TIPHYS_PROGRAMS");
  return concat(folder == nullptr ? "." : folder, "/", name);
}

// A process whose output and errors are read together; killed at the end if it still runs.
class Running {
 public:
  Running(const std::string& path, const Words& words, const std::string& folder) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::string name = path;
    Words texts = words;
    std::vector<char*> argv{name.data()};
    for (auto& text : texts) argv.push_back(text.data());
    argv.push_back(nullptr);
    std::string temporary = concat("TMPDIR=", folder);
    std::string search = concat("PATH=", folder);
    std::string home = concat("HOME=", folder);
    const std::array<char*, 4> environment{temporary.data(), search.data(), home.data(), nullptr};
    EXPECT_EQ(
        ::posix_spawn(&process_, path.c_str(), &actions, nullptr, argv.data(), environment.data()),
        0)
        << path;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }
  ~Running() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    ::close(out_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Reads on until the text was written, and answers with all that was until then.
  const std::string& until(std::string_view text) {
    while (said_.find(text) == std::string::npos && read_some()) {
    }
    EXPECT_NE(said_.find(text), std::string::npos) << "'" << text << "' is not in\n" << said_;
    return said_;
  }
  // Reads to the end.
  int exit_code() {
    while (read_some()) {
    }
    int status = 0;
    EXPECT_EQ(::waitpid(process_, &status, 0), process_);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void signal(int number) const { ::kill(process_, number); }
  [[nodiscard]] const std::string& said() const { return said_; }

 private:
  bool read_some() {
    pollfd one{.fd = out_, .events = POLLIN, .revents = 0};
    if (::poll(&one, 1, kPatienceMilliseconds) != 1) {
      ADD_FAILURE() << "nothing more was said after\n" << said_;
      return false;
    }
    std::array<char, 4096> chunk;
    const ssize_t count = ::read(out_, chunk.data(), chunk.size());
    if (count > 0) said_.append(chunk.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  pid_t process_ = -1;
  int out_ = -1;
  std::string said_;
};

class ProgramsTest : public FolderTest {
 protected:
  Running run(const std::string& name, const Words& words) const {
    return Running(program_path(name), words, folder_);
  }
  // "<exit code> <what was said>", for what ends by itself; without the time of log lines.
  std::string outcome(const std::string& name, const Words& words) const {
    Running program = run(name, words);
    const int code = program.exit_code();
    std::string said = program.said();
    if (said.starts_with('[')) said.erase(1, said.find(' '));
    return concat(std::to_string(code), " ", said);
  }
  std::string pem(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string where = file(name, text);
    EXPECT_EQ(::chmod(where.c_str(), mode), 0);
    return where;
  }
  // The three options, for files of that name.
  Words certificates(const std::string& name, const host::TlsMaterial& material,
                     mode_t key_mode = 0600) const {
    return {"--ca_pem",  pem(name + ".ca", material.ca),
            "--crt_pem", pem(name + ".crt", material.certificate),
            "--key_pem", pem(name + ".key", material.key, key_mode)};
  }
  static std::string port_of(Running& server) {
    const std::string& said = server.until(" version=");
    const std::size_t begin = said.find("address=127.0.0.1:") + 18;
    return said.substr(begin, said.find(' ', begin) - begin);
  }
};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(ProgramsTest, AreThreeNamesOfOneFile) {
  for (const char* name : {"ank", "ank-server", "ank-agent"})
    EXPECT_EQ(outcome(name, {"--version"}), concat("0 ", name, " ", kVersion, "\n"));
  const std::string other = path("something-else");
  std::filesystem::create_symlink(std::filesystem::absolute(program_path("ank-server")), other);
  Running program(other, {}, folder_);
  EXPECT_EQ(program.exit_code(), 2);
  EXPECT_EQ(program.said(),
            "error: there is no program 'something-else' in this file; call it by one of:\n"
            "  ank\n  ank-server\n  ank-agent\n");
}

TEST_F(ProgramsTest, ACommandLineThatCannotBeReadEndsWith2) {
  for (const std::string name : {"ank-server", "ank-agent"})
    EXPECT_EQ(outcome(name, {"--nonsense"}),
              concat("2 error: unexpected argument '--nonsense' found\n\nUsage: ", name,
                     " [OPTIONS]\n\nFor more information, try '--help'.\n"));
}

TEST_F(ProgramsTest, WithoutCertificatesTheyDoNotBegin) {
  constexpr std::string_view kMissing =
      "1 [ERROR] Missing certificate files: 'Either provide mTLS config via the '--ca_pem \"\"', "
      "'--crt_pem \"\"' and '--key_pem \"\"' options or deactivate mTLS with the '--insecure' "
      "option!'\n";
  EXPECT_EQ(outcome("ank-server", {}), kMissing);
  EXPECT_EQ(outcome("ank-agent", {"-n", "agent_A"}), kMissing);
}

TEST_F(ProgramsTest, APortInUseIsNamed) {
  Running first = run("ank-server", {"-k", "-a", "127.0.0.1:0"});
  const std::string port = port_of(first);
  Running second = run("ank-server", {"-k", "-a", "127.0.0.1:" + port});
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_NE(second.said().find(concat("ERROR] server error: 'StartError: 'cannot listen on "
                                      "127.0.0.1:",
                                      port, ": Address already in use''\n")),
            std::string::npos)
      << second.said();
}

TEST_F(ProgramsTest, ARunFolderThatCannotBeMadeIsNamed) {
  const std::string taken = file("ankaios", "not a folder");
  EXPECT_EQ(outcome("ank-agent", {"-k", "-n", "agent_A"}),
            concat("1 [ERROR] Run folder creation failed. Cannot continue without run folder.: "
                   "'Could not create directory \"",
                   taken, "\": File exists (os error 17)'\n"));
}

TEST_F(ProgramsTest, AStateThatIsRejectedEndsTheServer) {
  Running server = run("ank-server", {"-k", "-a", "127.0.0.1:0", "-m",
                                      file("m.yaml",
                                           "apiVersion: v1\nworkloads:\n  w:\n    "
                                           "runtime: podman\n    agent: a.b\n    "
                                           "runtimeConfig: ''\n")});
  EXPECT_EQ(server.exit_code(), 1);
  EXPECT_NE(server.said().find(concat("ERROR] server error: '", path("m.yaml"), ":5:")),
            std::string::npos)
      << server.said();
}

TEST_F(ProgramsTest, AManifestThatAHookVetoesEndsTheServer) {
  ASSERT_EQ(::chmod(file("no", "#!/bin/sh\necho not this >&2\nexit 1\n").c_str(), 0755), 0);
  const std::string config = file(
      "c", concat("version = 'v1'\n[[mutating_hooks]]\nname = 'no'\npath = '", folder_, "'\n"));
  const std::string manifest = file("m.yaml",
                                    "apiVersion: v1\nworkloads:\n  w:\n    runtime: podman\n"
                                    "    agent: a\n    runtimeConfig: ''\n");
  Running server = run("ank-server", {"-k", "-a", "127.0.0.1:0", "-x", config, "-m", manifest});
  EXPECT_EQ(server.exit_code(), 1);
  EXPECT_NE(server.said().find("ERROR] server error: 'Mutating hook 'no' vetoed the state change: "
                               "'Hook 'no' rejected the change: not this''"),
            std::string::npos)
      << server.said();
}

TEST_F(ProgramsTest, EndWith0WhenTheyAreToldTo) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    Running server = run("ank-server", {"-k", "-a", "127.0.0.1:0"});
    Running agent =
        run("ank-agent", {"-k", "-n", "agent_A", "-s", "http://127.0.0.1:" + port_of(server)});
    server.until("The agent has connected agent=agent_A");
    agent.until("Connected to the server");
    agent.signal(number);
    EXPECT_EQ(agent.exit_code(), 0) << agent.said();
    // The connection is lost, not said goodbye to: a stock server would keep the agent.
    server.until("Connection to agent agent_A interrupted");
    server.signal(number);
    EXPECT_EQ(server.exit_code(), 0) << server.said();
  }
}

TEST_F(ProgramsTest, AServerEndsWhileAgentsAreConnected) {
  Running server = run("ank-server", {"-k", "-a", "127.0.0.1:0"});
  Running agent =
      run("ank-agent", {"-k", "-n", "agent_A", "-s", "http://127.0.0.1:" + port_of(server)});
  server.until("The agent has connected agent=agent_A");
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit_code(), 0) << server.said();
}

TEST_F(ProgramsTest, SpeakTlsWithCertificates) {
  const auto authority = host::make_ca();
  const auto of_server = certificates("server", host::issue(authority, {.names = {"ank-server"}}));
  const auto of_agent = certificates("agent", host::issue(authority, {.names = {"agent_A"}}));
  const auto of_ank = certificates("ank", host::issue(authority, {.names = {"ank"}}));
  Running server = run("ank-server", with({"-a", "127.0.0.1:0"}, of_server));
  const std::string url = "https://127.0.0.1:" + port_of(server);
  const Running agent = run("ank-agent", with({"-n", "agent_A", "-s", url}, of_agent));
  server.until("The agent has connected agent=agent_A");
  Running impostor = run("ank-agent", with({"-n", "agent_B", "-s", url}, of_agent));
  impostor.until("Agent name 'agent_B' does not match SAN");
  const std::string agents = outcome("ank", with(with(of_ank, {"-s", url}), {"get", "agents"}));
  EXPECT_TRUE(agents.starts_with("0 NAME")) << agents;
  EXPECT_NE(agents.find("agent_A"), std::string::npos) << agents;
  EXPECT_EQ(agents.find("agent_B"), std::string::npos) << agents;
}

TEST_F(ProgramsTest, CertificatesThatCannotBeUsedAreNamedAndNeverShown) {
  const auto authority = host::make_ca();
  const auto good = host::issue(authority, {.names = {"ank-server"}});
  const auto expired =
      host::issue(authority, {.names = {"ank-server"}, .validity = host::Validity::kExpired});
  const auto begins = [&](const Words& words, std::string_view expected) {
    for (const std::string name : {"ank-server", "ank-agent"}) {
      Running program = run(
          name, with(name == "ank-agent" ? Words{"-n", "a"} : Words{"-a", "127.0.0.1:0"}, words));
      EXPECT_EQ(program.exit_code(), 1) << program.said();
      EXPECT_NE(program.said().find(expected), std::string::npos) << program.said();
      EXPECT_EQ(program.said().find("PRIVATE KEY"), std::string::npos) << program.said();
    }
  };
  begins(certificates("loose", good, 0644),
         concat("ERROR] Failed to load certificate files!: 'Certificate error: 'Private key file "
                "\"",
                path("loose.key"), "\" has insecure permissions 644. "));
  begins({"--ca_pem", path("absent"), "--crt_pem", path("absent"), "--key_pem", path("absent")},
         concat("ERROR] Failed to load certificate files!: 'Certificate error: 'Error during "
                "opening the given file \"",
                path("absent"), "\": No such file or directory (os error 2)''\n"));
  begins(certificates("expired", expired), "it expired on ");
  host::TlsMaterial nonsense = good;
  nonsense.key = "-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n";
  begins(certificates("nonsense", nonsense), "ERROR] ");
}

}  // namespace
}  // namespace tiphys::apps
